// Devices that report and are no trackers yet, and what a tracker's form says of it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Fleet, Server, eventually, isSettled, setUp, signIn, visit } from "./harness/index.mjs";

const stage = setUp();
const START = Date.parse("2026-05-01T10:00:00Z") / 1000;

async function opened() {
  const fleet = await Fleet.make(stage.server);
  const page = await stage.page();
  await signIn(page, fleet);
  return { fleet, page };
}

/** Reports so many fixes of a device, a minute apart, as flespi does. */
const report = (gateway, ident, fixes) => gateway.post("/in/flespi", Array.from({ length: fixes }, (_, minute) => (
  { ident, timestamp: START + 60 * minute, "position.latitude": 59.33, "position.longitude": 18.06 + minute / 1000 }
)));

const news = (page) => page.getByRole("region", { name: "New devices" });

test("a device that reports shows by itself, and becomes a tracker of a vehicle with what it had sent", async () => {
  const { fleet, page } = await opened();
  const bus = await fleet.admin.post("/v1/vehicles", { name: "Bus 7" });
  await fleet.vehicle("Bus 1");
  const gateway = await fleet.gateway();
  await visit(page, "#/trackers");
  await news(page).getByText("How does one?").click();
  await news(page).getByText(`sends to ${stage.server.url}/in`).waitFor();
  assert.equal(await news(page).getByRole("link", { name: "How the interface is used" }).getAttribute("href"), "/docs");
  assert.equal((await fetch(`${stage.server.url}/docs`)).status, 200);

  await report(gateway, "356307042441013", 3);
  const row = news(page).getByRole("listitem").filter({ hasText: "356307042441013" });
  await row.getByText("by flespi").waitFor();
  await row.getByText("3 positions kept, from").waitFor();
  await row.getByRole("button", { name: "Add 356307042441013" }).click();
  const dialog = page.getByRole("dialog", { name: "Make 356307042441013 a tracker" });
  assert.equal(await dialog.getByLabel("In vehicle").inputValue(), bus.name, "one that has no tracker is proposed");
  await dialog.getByRole("button", { name: "Make it a tracker" }).click();
  await news(page).getByText("356307042441013 is a tracker of Bus 7 now.").waitFor();
  await page.getByRole("row", { name: /356307042441013.*Bus 7.*Active/ }).waitFor();
  await row.waitFor({ state: "detached" });
  await eventually(async () => assert.equal((await fleet.admin.get(`/v1/vehicles/${bus.id}/positions`)).data.length, 3));
  assert.deepEqual(page.faults, []);
});

test("the list is asked for once as it is opened, also after trackers were changed", async () => {
  const { fleet, page } = await opened();
  await visit(page, "#/fleet");
  const { name, tracker } = await fleet.vehicle();
  await page.getByRole("row", { name }).waitFor();
  const asked = [];
  page.on("request", (request) => { if (new URL(request.url()).pathname === "/v1/trackers") asked.push(request.url()); });
  await visit(page, "#/trackers");
  await page.getByRole("row", { name: tracker.uniqueId }).waitFor();
  await isSettled(page);
  assert.equal(asked.length, 1, `${asked}`);
});

test("a device gets a new vehicle, and what is refused of that stands at its field", async () => {
  const { fleet, page } = await opened();
  const gateway = await fleet.gateway();
  await report(gateway, "jane/phone", 1);
  await visit(page, "#/trackers");
  await news(page).getByRole("button", { name: "Add jane/phone" }).click();
  const dialog = page.getByRole("dialog");
  const name = dialog.getByLabel("The new vehicle's name");
  assert.deepEqual([await dialog.getByLabel("In vehicle").inputValue(), await name.inputValue()], ["A new vehicle", "jane/phone"]);
  await name.fill("x".repeat(500));
  await dialog.getByRole("button", { name: "Make it a tracker" }).click();
  await name.and(page.locator("[aria-invalid=true]:focus")).waitFor();
  await name.fill("Jane");
  await dialog.getByRole("button", { name: "Make it a tracker" }).click();
  await news(page).getByText("jane/phone is a tracker of Jane now.").waitFor();
  const { data } = await fleet.admin.get("/v1/trackers");
  const [vehicle] = (await fleet.admin.get("/v1/vehicles")).data;
  assert.deepEqual(data.map(({ uniqueId, vehicleId }) => [uniqueId, vehicleId]), [["jane/phone", vehicle.id]]);
  assert.equal(vehicle.name, "Jane");
  assert.deepEqual(page.faults, []);
});

test("a device that is not wanted is dismissed, and does not come back", async () => {
  const { fleet, page } = await opened();
  const gateway = await fleet.gateway();
  await report(gateway, "stranger", 1);
  await visit(page, "#/trackers");
  const row = news(page).getByRole("listitem").filter({ hasText: "stranger" });
  await row.getByRole("button", { name: "Dismiss stranger" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Dismiss" }).click();
  await news(page).getByText("stranger is dismissed.").waitFor();
  await row.waitFor({ state: "detached" });
  await report(gateway, "stranger", 2);
  await report(gateway, "wanted", 1);
  await news(page).getByText("wanted").waitFor();
  assert.equal(await row.count(), 0);
  assert.deepEqual(page.faults, []);
});

test("many devices are shown by and by; a viewer sees them and adds none", async () => {
  const { fleet } = await opened();
  const gateway = await fleet.gateway();
  await gateway.post("/in/flespi", Array.from({ length: 7 }, (_, at) => ({ ident: `device-${at + 1}` })));
  const page = await stage.page();
  await signIn(page, await fleet.person("viewer"));
  await visit(page, "#/trackers");
  await news(page).getByRole("button", { name: "Show 2 more" }).click();
  await eventually(async () => assert.equal(await news(page).getByRole("listitem").count(), 7));
  await news(page).getByText("no position yet").first().waitFor();
  assert.equal(await news(page).getByRole("button").count(), 0);
  assert.deepEqual(page.faults, []);
});

test("the unit of a tracker's speeds is set in its form, and taken back", async () => {
  const { fleet, page } = await opened();
  await visit(page, "#/trackers/new");
  await page.getByLabel("Its own id").fill("colota-1");
  await page.getByLabel("Its speeds are in").selectOption("m/s");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  const { data: [tracker] } = await fleet.admin.get("/v1/trackers");
  assert.equal(tracker.speedUnit, "ms");

  const viewer = await stage.page();
  await signIn(viewer, await fleet.person("viewer"));
  await visit(viewer, `#/trackers/${tracker.id}`);
  await viewer.getByText("m/s", { exact: true }).waitFor();

  assert.equal(await page.getByLabel("Its speeds are in").inputValue(), "ms");
  await page.getByLabel("Its speeds are in").selectOption("what its protocol says");
  await page.getByRole("button", { name: "Save" }).click();
  await eventually(async () => assert.equal((await fleet.admin.get(`/v1/trackers/${tracker.id}`)).speedUnit ?? null, null));
  await viewer.getByText("m/s", { exact: true }).waitFor({ state: "detached" });
  assert.deepEqual([...page.faults, ...viewer.faults], []);
});

test("a tracker shows when it was heard and what was refused of it, with the bytes; a viewer sees it too", async () => {
  const { fleet, page } = await opened();
  const bus = await fleet.vehicle("Bus 1");
  const { data: [tracker] } = await fleet.admin.get("/v1/trackers");
  await visit(page, `#/trackers/${tracker.id}`);
  const reports = page.getByRole("region", { name: "Reports" });
  await reports.getByText("never").first().waitFor();
  assert.equal(await reports.getByText("never").count(), 2);

  const say = async (query) => assert.equal((await fetch(`${stage.server.url}/in/${bus.tracker.token}?${query}`)).status, 200);
  await say("batt=80");
  await eventually(async () => assert.equal(await reports.getByText("never").count(), 1), "a heartbeat is heard, and no position");
  for (let minute = 0; minute < 7; minute += 1) await say(`lat=0&lon=0&timestamp=${START + 60 * minute}`);
  await reports.getByText("Refused for good").waitFor();
  await reports.getByRole("button", { name: "Show 2 more" }).click();
  assert.equal(await reports.getByRole("listitem").count(), 7);
  await reports.getByText("What was sent").first().click();
  await reports.getByText(`lat=0&lon=0&timestamp=${START + 360}`).waitFor();
  await say(`lat=59.33&lon=18.06&timestamp=${START}`);
  await eventually(async () => assert.equal(await reports.getByText("never").count(), 0));

  const viewer = await stage.page();
  await signIn(viewer, await fleet.person("viewer"));
  await visit(viewer, `#/trackers/${tracker.id}`);
  await viewer.getByRole("region", { name: "Reports" }).getByText("Refused for good").waitFor();
  assert.equal(await viewer.getByText("Set up its app").count(), 0);
  assert.deepEqual([...page.faults, ...viewer.faults], []);
});

test("the app of a tracker that there is gets a new token with its codes, for the address that the settings name", async (context) => {
  const server = await Server.start("--public-url", "http://192.0.2.7:8080");
  context.after(() => server.remove());
  const fleet = await Fleet.make(server);
  const page = await stage.page({ server });
  await signIn(page, fleet);
  const bus = await fleet.vehicle("Bus 1");
  const { data: [tracker] } = await fleet.admin.get("/v1/trackers");
  // what came before the codes are shown is not what the app sent
  assert.equal((await fetch(`${server.url}/in/${bus.tracker.token}?lat=59.33&lon=18.06&timestamp=${START}`)).status, 200);
  await visit(page, `#/trackers/${tracker.id}`);
  await page.getByText("Set up its app").click();
  await page.getByText("only as a hash").waitFor();
  await page.getByRole("button", { name: "New token with codes" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "New token" }).click();
  const dialog = page.getByRole("dialog", { name: `Token of ${tracker.uniqueId}` });
  await dialog.getByRole("img", { name: "QR code that sets up Traccar Client" }).waitFor();
  await dialog.getByText("Waiting for the first position").waitFor();
  assert.equal(await dialog.getByText("A phone does not reach").count(), 0);
  const address = await dialog.getByRole("group", { name: "Address", exact: true }).textContent();
  assert.match(address, /^http:\/\/192\.0\.2\.7:8080\/in\/wpt_/);
  const path = new URL(address).pathname;
  assert.equal((await fetch(`${server.url}/in/${bus.tracker.token}?lat=59.33&lon=18.06&timestamp=${START}`)).status, 401);
  assert.equal((await fetch(`${server.url}${path}?lat=59.33&lon=18.06&timestamp=${START + 60}`)).status, 200);
  await dialog.getByText("First position received").waitFor();
  assert.deepEqual(page.faults, []);
});

test("what was asked first and answered last does not take the place of what is newer", async () => {
  const { fleet, page } = await opened();
  const bus = await fleet.vehicle("Bus 2");
  const { data: [tracker] } = await fleet.admin.get("/v1/trackers");
  let read, release;
  const isRead = new Promise((resolve) => { read = resolve; });
  const isReleased = new Promise((resolve) => { release = resolve; });
  let asked = 0;
  let isOver = false;
  await page.route(({ pathname }) => pathname === `/v1/trackers/${tracker.id}/reports`, async (route) => {
    asked += 1;
    if (isOver) return route.abort();
    const isFirst = asked === 1;
    const response = await route.fetch();
    if (isFirst) {
      read();
      await isReleased;
      // nothing newer mends what it does
      isOver = true;
    }
    return route.fulfill({ response });
  });
  await page.goto(`/#/trackers/${tracker.id}`);
  await isRead;
  assert.equal((await fetch(`${stage.server.url}/in/${bus.tracker.token}?batt=80`)).status, 200);
  const reports = page.getByRole("region", { name: "Reports" });
  await eventually(async () => assert.equal(await reports.getByText("never").count(), 1));
  const late = page.waitForEvent("requestfinished", (request) => request.url().includes("/reports"));
  release();
  await late;
  await page.evaluate(() => new Promise((tell) => { requestAnimationFrame(() => requestAnimationFrame(tell)); }));
  assert.equal(await reports.getByText("never").count(), 1, "it was heard since then");
  assert.deepEqual(page.faults, []);
});
