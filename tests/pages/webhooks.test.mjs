// Webhooks as an administrator makes, tries and mends them.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { ADMIN, Fleet, PASSWORD, Receiver, Server, TO_THIS_COMPUTER, eventually, setUp, signIn, visit } from "./harness/index.mjs";

const stage = setUp({ start: () => Server.start(...TO_THIS_COMPUTER) });
const DEPOT = { latitude: 59.33, longitude: 18.06 };

let receiver;
before(async () => { receiver = await Receiver.start(); });
after(() => receiver.close());

/** A page on the webhooks of a new organization, which a receiver that takes everything waits for. */
async function opened(address = "#/webhooks") {
  receiver.got.length = 0;
  receiver.answer = { status: 204, body: "" };
  const fleet = await Fleet.make(stage.server);
  const page = await stage.page();
  await signIn(page, fleet);
  await visit(page, address);
  return { page, fleet };
}

/** A webhook that is there already, opened. */
async function withWebhook(more = {}) {
  const { page, fleet } = await opened();
  const hook = await fleet.admin.post("/v1/webhooks", { url: receiver.url, description: "Warehouse", eventTypes: ["geofence.*"], ...more });
  await visit(page, `#/webhooks/${hook.id}`);
  return { page, fleet, hook, open: detail(page, "Warehouse") };
}

const detail = (page, name) => page.getByRole("region", { name, exact: true });
const attempts = (page) => page.getByRole("region", { name: "Attempts" }).getByRole("listitem");

test("a webhook is made with picked types and vehicles; its secret is shown once, and what is sent is signed with it", async () => {
  const { page, fleet } = await opened();
  await page.getByText("There is no webhook yet").waitFor();
  const [bus, tram] = [await fleet.vehicle("Bus 7"), await fleet.vehicle("Tram 9")];
  const depot = await fleet.circle("Depot", DEPOT);
  await page.getByRole("link", { name: "New webhook" }).click();
  const form = page.getByRole("form", { name: "New webhook" });
  await form.getByLabel("Address").fill(receiver.url);
  await form.getByLabel("What it is for").fill("Warehouse");
  await form.getByLabel("a vehicle enters").check();
  await form.getByLabel("Fences: all").check();
  assert.ok(await form.getByLabel("a vehicle leaves").isDisabled(), "a beginning says its types too");
  await form.getByLabel("a refuel").check();
  await form.getByText("Changes of master data").click();
  await form.getByLabel("change.driver.*").check();
  await form.getByLabel("change.vehicle.deleted").check();
  await form.getByText("Only some vehicles or fences").click();
  await form.getByLabel("Vehicles", { exact: true }).fill("tram");
  await form.getByLabel("Vehicles", { exact: true }).press("Enter");
  await form.getByRole("button", { name: "Add Bus 7" }).click();
  await form.getByRole("button", { name: "Remove Tram 9" }).click();
  await form.getByRole("button", { name: "Add Depot" }).click();
  await form.getByRole("button", { name: "Save" }).click();

  const dialog = page.getByRole("dialog", { name: "Secret of Warehouse" });
  const secret = await dialog.getByRole("group", { name: "Secret", exact: true }).textContent();
  await dialog.getByRole("button", { name: "Copy: Secret" }).waitFor();
  await dialog.getByRole("button", { name: "Close" }).click();
  await dialog.waitFor({ state: "detached" });
  assert.ok(secret.startsWith("whsec_") && !(await page.content()).includes(secret), "the secret is shown once");
  const { data: [hook] } = await fleet.admin.get("/v1/webhooks");
  assert.deepEqual(hook.eventTypes, ["change.driver.*", "change.vehicle.deleted", "fuel.refuel", "geofence.*"]);
  assert.deepEqual([hook.vehicleIds, hook.geofenceIds], [[bus.id], [depot.id]]);

  await tram.at(DEPOT.latitude, DEPOT.longitude);
  await bus.at(DEPOT.latitude, DEPOT.longitude);
  const entry = await eventually(() => {
    const found = receiver.got.filter(({ type }) => type === "geofence.entry");
    assert.ok(found.length > 0);
    return found;
  });
  assert.deepEqual(entry.map(({ data }) => data.vehicleId), [bus.id]);
  assert.ok(entry[0].isSignedBy(secret));
  await detail(page, "Warehouse").getByRole("listitem").getByText("Delivered").first().waitFor();
  assert.deepEqual(page.faults, []);
});

test("what the server refuses stands at the field it names", async () => {
  const { page } = await opened("#/webhooks/new");
  const wrong = (label) => page.getByLabel(label, { exact: true }).and(page.locator("[aria-invalid=true]"));
  await page.getByLabel("Address").fill("https://169.254.169.254/latest");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("group", { name: "What is sent" }).getByText("a list of 1 to 50 event types").waitFor();
  await page.getByLabel("Other types").fill("geofence.entri");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("group", { name: "What is sent" }).getByText("did you mean geofence.entry?").waitFor();
  await page.getByLabel("Other types").fill("");
  await page.getByLabel("Everything").check();
  await page.getByRole("button", { name: "Save" }).click();
  await wrong("Address").and(page.locator(":focus")).waitFor();
  await page.getByText("setting webhookNetworks").first().waitFor();
  await page.getByLabel("Address").fill("https://a b");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator(".field .wrong").getByText("such as https://example.org/events").waitFor();
  assert.deepEqual(page.faults, []);
});

test("a test event tells at once what became of it, and an attempt is sent again", async () => {
  const { page, open } = await withWebhook();
  await open.getByText("Nothing was sent in the last seven days").waitFor();
  await open.getByRole("button", { name: "Send a test event" }).click();
  await open.getByRole("status").getByText("Delivered").waitFor();
  await open.getByRole("status").getByText("204").waitFor();
  await attempts(page).getByText("webhook.test").first().waitFor();
  assert.equal(await attempts(page).count(), 1);

  receiver.answer = { status: 500, body: "the queue is full <b>" };
  await open.getByRole("button", { name: "Send again: webhook.test" }).click();
  await open.getByRole("status").getByText("answered 500 Internal Server Error").waitFor();
  await open.getByRole("status").getByText("Answer", { exact: true }).click();
  await open.getByRole("status").getByText("the queue is full <b>").waitFor();
  await eventually(async () => assert.equal(await attempts(page).count(), 2));
  assert.deepEqual(receiver.got.map(({ type }) => type), ["webhook.test", "webhook.test"]);

  for (const [filter, shown] of [["Delivered", "204"], ["Failed", "answered 500"]]) {
    await open.getByLabel("Which attempts").selectOption(filter);
    await attempts(page).getByText(shown).waitFor();
    await eventually(async () => assert.equal(await attempts(page).count(), 1));
  }
  assert.deepEqual(page.faults, []);
});

test("a receiver that fails is told as failing, and what it missed is sent again", async () => {
  const { page, fleet, open } = await withWebhook();
  receiver.answer = { status: 503, body: "closed for lunch" };
  await fleet.circle("Depot", DEPOT);
  const bus = await fleet.vehicle("Bus 7");
  await bus.at(DEPOT.latitude, DEPOT.longitude);
  // nobody asks for it again
  await open.getByText("Fails since").waitFor();
  await open.getByText("Sent again", { exact: true }).waitFor();
  await attempts(page).filter({ hasText: "geofence.entry" }).getByText("503").first().waitFor();
  await page.getByRole("row", { name: /Warehouse.*Fails since/ }).waitFor();

  receiver.answer = { status: 204, body: "" };
  await open.getByRole("button", { name: "Send all again" }).click();
  const dialog = page.getByRole("dialog");
  const since = dialog.getByLabel("Since");
  const hourAgo = await since.inputValue();
  await since.fill("2020-01-01T00:00");
  await dialog.getByRole("button", { name: "Send again" }).click();
  await dialog.getByText("must be within the last seven days", { exact: true }).waitFor();
  await since.fill(hourAgo);
  await dialog.getByRole("button", { name: "Send again" }).click();
  await open.getByText("is being sent again").waitFor();
  await attempts(page).filter({ hasText: "geofence.entry" }).getByText("Delivered").first().waitFor();
  await open.getByText("Sends", { exact: true }).waitFor();
  const ids = receiver.got.map(({ id }) => id);
  assert.ok(ids.length > 1 && new Set(ids).size === 1, "each time with the id that it had");
  assert.deepEqual(page.faults, []);
});

test("a webhook is changed, only in what was changed, disabled, given a new secret and deleted", async () => {
  const { page, fleet, hook, open } = await withWebhook({ eventTypes: ["geofence.*", "change.vehicle.updated"] });
  await open.getByRole("button", { name: "Edit" }).click();
  await page.getByLabel("What it is for").fill("Warehouse, north");
  await page.getByLabel("a loss of fuel").check();
  await fleet.admin.put(`/v1/webhooks/${hook.id}`, { url: `${receiver.url}/2` });
  await page.getByRole("button", { name: "Save" }).click();
  const now = detail(page, "Warehouse, north");
  await now.getByText(`${receiver.url}/2`).waitFor();
  const changed = await fleet.admin.get(`/v1/webhooks/${hook.id}`);
  assert.deepEqual([changed.url, changed.eventTypes], [`${receiver.url}/2`, ["change.vehicle.updated", "fuel.drain", "geofence.*"]]);

  await now.getByRole("button", { name: "Disable" }).click();
  await now.getByText("Disabled: nothing is sent").waitFor();
  await page.getByRole("row", { name: /Warehouse, north.*Disabled/ }).waitFor();
  await now.getByRole("button", { name: "Enable" }).click();
  await now.getByText("Sends", { exact: true }).waitFor();

  await now.getByRole("button", { name: "New secret" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "New secret" }).click();
  const dialog = page.getByRole("dialog", { name: "Secret of Warehouse, north" });
  const secret = await dialog.getByRole("group", { name: "Secret", exact: true }).textContent();
  assert.notEqual(secret, hook.secret);
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "New secret" }).and(page.locator(":focus")).waitFor();
  await now.getByRole("button", { name: "Send a test event" }).click();
  await now.getByRole("status").getByText("Delivered").waitFor();
  const [tried] = receiver.got.filter(({ type }) => type === "webhook.test");
  assert.ok(tried.isSignedBy(secret) && tried.isSignedBy(hook.secret), "for a day by both");

  await now.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("There is no webhook yet").waitFor();
  assert.deepEqual((await fleet.admin.get("/v1/webhooks")).data, []);
  assert.deepEqual(page.faults, []);
});

test("a receiver that is gone disables its webhook, and the page says why", async () => {
  const { page, fleet, open } = await withWebhook();
  receiver.answer = { status: 410, body: "" };
  await fleet.circle("Depot", DEPOT);
  await (await fleet.vehicle("Bus 7")).at(DEPOT.latitude, DEPOT.longitude);
  await open.getByText("the receiver answered 410 Gone").waitFor();
  await open.getByRole("button", { name: "Enable" }).click();
  await open.getByText("Sends", { exact: true }).waitFor();
  assert.deepEqual(page.faults, []);
});

test("an operator makes one for the organization that is chosen; a dispatcher is offered none", async () => {
  const { fleet } = await opened();
  const page = await stage.page();
  await signIn(page, { email: ADMIN, password: PASSWORD });
  await visit(page, "#/webhooks");
  await page.getByLabel("Organization").selectOption({ label: fleet.name });
  await page.getByRole("link", { name: "New webhook" }).click();
  await page.getByLabel("Address").fill(receiver.url);
  await page.getByLabel("Everything").check();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("dialog", { name: "Secret of 127.0.0.1" }).getByRole("button", { name: "Close" }).click();
  await page.getByRole("button", { name: "Send a test event" }).click();
  await page.getByRole("status").getByText("Delivered").waitFor();
  assert.deepEqual((await fleet.admin.get("/v1/webhooks")).data.map(({ url }) => url), [receiver.url]);

  const dispatcher = await stage.page();
  await signIn(dispatcher, await fleet.person("dispatcher"));
  await visit(dispatcher, "#/webhooks");
  await dispatcher.getByText("Your role does not see Webhooks").waitFor();
  await dispatcher.getByRole("button", { name: "Manage" }).click();
  await dispatcher.getByRole("link", { name: "Trackers" }).waitFor();
  assert.equal(await dispatcher.getByRole("link", { name: "Webhooks" }).count(), 0);
  assert.deepEqual([...page.faults, ...dispatcher.faults], []);
});
