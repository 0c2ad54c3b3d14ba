// What administrators do: drivers, vehicles, trackers with their tokens, people, settings.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Client, Fleet, PASSWORD, eventually, isSettled, setUp, signIn, visit } from "./harness/index.mjs";

const stage = setUp();

async function signedIn(address, fleet) {
  const page = await stage.page();
  fleet ??= await Fleet.make(stage.server);
  await signIn(page, fleet);
  await visit(page, address);
  return { page, fleet };
}

const detail = (page, name) => page.getByRole("region", { name, exact: true });

test("a driver is entered, assigned, taken over by force, unassigned, locked with a reason and unlocked", async () => {
  const fleet = await Fleet.make(stage.server);
  const bus = await fleet.vehicle("Bus 7");
  const other = await fleet.admin.post("/v1/drivers", { firstName: "Olle", lastName: "Other" });
  await fleet.admin.post(`/v1/drivers/${other.id}/assign-vehicle`, { vehicleId: bus.id });
  const { page } = await signedIn("#/drivers", fleet);

  await page.getByRole("link", { name: "New driver" }).click();
  await page.getByLabel("First name").fill("Astrid");
  await page.getByLabel("Last name").fill("Lind");
  await page.getByLabel("Licence number").fill("AB 12-34");
  await page.getByLabel("Country").fill("sweden");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByLabel("Country").and(page.locator("[aria-invalid=true]:focus")).waitFor();
  await page.getByLabel("Country").fill("se");
  await page.getByLabel("Categories").fill("B, D");
  await page.getByRole("button", { name: "Save" }).click();
  const astrid = detail(page, "Astrid Lind");
  await astrid.getByText("No expiry date · SE AB 12-34").waitFor();
  await astrid.getByText("Locked by your organization").waitFor();
  await page.getByRole("columnheader", { name: "Locked to" }).waitFor();
  await page.getByRole("row", { name: /Astrid Lind/ }).getByRole("cell", { name: "Your organization", exact: true }).waitFor();

  await astrid.getByRole("button", { name: "Assign vehicle" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Assign" }).click();
  await dialog.getByRole("alert").getByText("Not saved").waitFor();
  await dialog.getByLabel("take it from them").check();
  await dialog.getByRole("button", { name: "Assign" }).click();
  await astrid.getByRole("button", { name: "Unassign Bus 7" }).click();
  await astrid.getByText("Drives no vehicle now.").waitFor();
  await astrid.getByRole("region", { name: "Before" }).getByText("Bus 7").waitFor();

  await astrid.getByRole("button", { name: "Unlock" }).click();
  await dialog.getByRole("button", { name: "Unlock" }).click();
  await astrid.getByText("Not locked").waitFor();
  await astrid.getByRole("button", { name: "Lock" }).click();
  await dialog.getByLabel("Reason").fill("Summer timetable");
  await dialog.getByRole("button", { name: "Lock" }).click();
  await astrid.getByText("Locked by your organization").waitFor();
  await astrid.getByText("Summer timetable").waitFor();
  const { data } = await fleet.admin.get("/v1/drivers?q=lind");
  assert.deepEqual(data.map(({ lastName, license, lock }) => [lastName, license.categories, lock.reason]), [["Lind", ["B", "D"], "Summer timetable"]]);
  assert.deepEqual(page.faults, []);
});

test("a driver's cards are entered, and who drives by card is shown so and not unassigned", async () => {
  const fleet = await Fleet.make(stage.server);
  const bus = await fleet.vehicle("Bus 7");
  const { page } = await signedIn("#/drivers", fleet);
  await page.getByRole("link", { name: "New driver" }).click();
  await page.getByLabel("First name").fill("Astrid");
  await page.getByLabel("Last name").fill("Lind");
  await page.getByLabel("Cards").fill("01-ab, CD 4");
  await page.getByRole("button", { name: "Save" }).click();
  const astrid = detail(page, "Astrid Lind");
  await astrid.getByText("01-ab, CD 4").waitFor();
  await bus.at(30.27, -97.74, { attributes: { driverCard: "01AB" } });
  const held = astrid.getByRole("region", { name: "Vehicles now" }).getByRole("listitem").filter({ hasText: "Bus 7" });
  await held.getByText("by card").waitFor();
  assert.equal(await held.getByRole("button").count(), 0);
  assert.deepEqual(page.faults, []);
});

test("what is still under way of an attempt that broke off is asked for again, and done once", async () => {
  const { page, fleet } = await signedIn("#/drivers/new");
  const keys = [];
  await page.route(({ pathname }) => pathname === "/v1/drivers", async (route) => {
    if (route.request().method() !== "POST") return route.continue();
    keys.push(await route.request().headerValue("idempotency-key"));
    const [status, code] = [[503, "unavailable"], [409, "idempotencyKeyInUse"]][keys.length - 1] ?? [];
    return status ? route.fulfill({ status, json: { status, code, title: code } }) : route.continue();
  });
  await page.getByLabel("First name").fill("Astrid");
  await page.getByLabel("Last name").fill("Lind");
  await page.getByRole("button", { name: "Save" }).click();
  await detail(page, "Astrid Lind").waitFor();
  assert.equal(keys.length, 3);
  assert.equal(new Set(keys).size, 1);
  assert.equal((await fleet.admin.get("/v1/drivers?q=lind")).data.length, 1);
});

test("a driver of nobody is found by licence, masked, is taken over with an empty profile, and given back", async () => {
  const elsewhere = await Fleet.make(stage.server);
  await elsewhere.admin.post("/v1/drivers", { firstName: "Frida", lastName: "Free", phone: "+46 999", lock: false, license: { number: "FREE 1", country: "SE" } });
  const { page } = await signedIn("#/drivers");
  await page.getByRole("button", { name: "Find by licence" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Licence number").fill("FREE 2");
  await dialog.getByRole("button", { name: "Find" }).click();
  await dialog.getByText("No driver you may see has this licence.").waitFor();
  await dialog.getByLabel("Licence number").fill("FREE 1");
  await dialog.getByRole("button", { name: "Find" }).click();
  await dialog.getByText("F*** F***").waitFor();
  await dialog.getByRole("button", { name: "Lock and take over" }).click();
  const frida = detail(page, "Frida Free");
  await frida.getByText("Locked by your organization").waitFor();
  await frida.getByText("SE FREE 1").waitFor();
  assert.equal(await frida.getByText("+46 999").count(), 0);
  await frida.getByRole("button", { name: "Unlock" }).click();
  await dialog.getByRole("button", { name: "Unlock" }).click();
  await frida.getByText("Shown while your organization holds the driver").waitFor();
  assert.equal(await frida.getByRole("button", { name: "Assign vehicle" }).count(), 0);
  await frida.getByRole("button", { name: "Edit" }).click();
  assert.equal(await page.getByLabel("First name").count(), 0);
  await page.getByLabel("Notes").fill("Drove for us in May");
  await page.getByRole("button", { name: "Save" }).click();
  await frida.getByText("Drove for us in May").waitFor();
  assert.deepEqual(page.faults, []);
});

test("a vehicle made with its tracker shows a token once, and a device reports with it", async () => {
  const { page, fleet } = await signedIn("#/fleet/new");
  await page.getByLabel("Name", { exact: true }).fill("Bus 9");
  await page.getByLabel("Tracker's own id").fill("imei-9");
  await page.getByLabel("Plate", { exact: true }).fill("ABC 123");
  await page.getByRole("button", { name: "Save" }).click();
  const dialog = page.getByRole("dialog", { name: "Token of imei-9" });
  const token = await dialog.getByRole("group", { name: "Token", exact: true }).textContent();
  const line = await dialog.getByRole("group", { name: "Report a position" }).textContent();
  assert.ok(line.startsWith(`curl ${stage.server.url}/v1/positions`) && line.includes(token), line);
  await dialog.getByRole("button", { name: "Close" }).click();
  await dialog.waitFor({ state: "detached" });
  await detail(page, "Bus 9").getByText("ABC 123").waitFor();
  assert.ok(!(await page.content()).includes(token), "the token is shown once");

  const accepted = await new Client(stage.server.url, token).post("/v1/positions", { items: [{ recordedAt: new Date().toISOString(), latitude: 59.33, longitude: 18.06 }] });
  assert.equal(accepted.rejected?.length ?? 0, 0);
  await visit(page, "#/live");
  await page.getByRole("region", { name: "Vehicles" }).getByText("Bus 9").waitFor();

  await visit(page, "#/trackers");
  await page.getByRole("link", { name: "imei-9" }).click();
  await page.getByRole("button", { name: "New token" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "New token" }).click();
  const renewed = await dialog.getByRole("group", { name: "Token", exact: true }).textContent();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "New token" }).and(page.locator(":focus")).waitFor();
  const report = (bearer) => new Client(stage.server.url, bearer).post("/v1/positions", { items: [{ recordedAt: new Date().toISOString(), latitude: 59.34, longitude: 18.06 }] });
  await assert.rejects(report(token), /401/);
  await report(renewed);
  await page.getByRole("button", { name: "Disable" }).click();
  await page.getByRole("button", { name: "Enable" }).waitFor();
  await assert.rejects(report(renewed), /40[13]/);
  assert.deepEqual((await fleet.admin.get("/v1/trackers")).data.map(({ status }) => status), ["disabled"]);
  assert.deepEqual(page.faults, []);
});

test("a program is made with a key that is shown once, works and is revoked", async () => {
  const { page, fleet } = await signedIn("#/programs");
  await page.getByRole("link", { name: "New program" }).click();
  await page.getByLabel("Name", { exact: true }).fill("Gateway");
  await page.getByLabel("E-mail").fill("gateway@example.org");
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByLabel("vehicles:read").check();
  await page.getByLabel("positions:ingest").check();
  await page.getByRole("button", { name: "Save" }).click();
  const gateway = detail(page, "Gateway");
  await gateway.getByText("has not been opened yet").waitFor();
  await gateway.getByRole("button", { name: "New key" }).click();
  const making = page.getByRole("dialog", { name: "New key" });
  await making.getByLabel("What it is for").fill("Depot");
  assert.equal(await making.getByRole("checkbox").count(), 2, "the program's scopes, and no others");
  await making.getByRole("button", { name: "Save" }).click();
  await making.getByText("must be a list of at least one scope", { exact: true }).waitFor();
  await making.getByLabel("vehicles:read").check();
  await making.getByRole("button", { name: "Save" }).click();
  const dialog = page.getByRole("dialog", { name: "Key Depot" });
  const token = await dialog.getByRole("group", { name: "Key", exact: true }).textContent();
  await dialog.getByRole("button", { name: "Close" }).click();
  await dialog.waitFor({ state: "detached" });
  assert.ok(token.startsWith("wpk_") && !(await page.content()).includes(token), "the token is shown once");
  await gateway.getByText("never used, does not expire").waitFor();
  const ask = () => new Client(stage.server.url, token).get("/v1/vehicles");
  await assert.rejects(ask(), /403/, "its address is not verified");
  await gateway.getByRole("button", { name: "Revoke: Depot" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await gateway.getByText("It has no key").waitFor();
  await assert.rejects(ask(), /401/);
  await gateway.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("There is no program yet").waitFor();
  assert.deepEqual((await fleet.admin.get("/v1/system-users")).data, []);
  assert.deepEqual(page.faults, []);
});

/** What a form shows where something is chosen or a number stands, by its labels. */
const chosenIn = (form) => form.evaluate((element) => Object.fromEntries(
  [...element.querySelectorAll("select, input[type=checkbox], input[inputmode=decimal]")].map((field) => [field.labels[0].textContent.trim(), field.type === "checkbox" ? field.checked : field.value]),
));

for (const [what, address, fill, again] of [
  ["vehicle", "#/fleet/new", { Name: "Bus 12" }, "Edit"],
  ["driver", "#/drivers/new", { "First name": "Astrid", "Last name": "Lind" }, "Edit"],
  ["fence", "#/fences/new", { Name: "Yard", "Centre latitude": "59.3", "Centre longitude": "18" }, null],
  ["user", "#/users/new", { "E-mail": "shown@example.org", "First name": "Nora", "Last name": "Ny" }, null],
]) {
  test(`what the form of a new ${what} shows is what is saved`, async () => {
    const { page } = await signedIn(address);
    for (const [label, text] of Object.entries(fill)) await page.getByLabel(label, { exact: true }).fill(text);
    const form = page.locator("form");
    const shown = await chosenIn(form);
    await form.getByRole("button", { name: /^(Save|Send invitation)$/ }).click();
    await page.waitForFunction((now) => location.hash !== now, address);
    if (again) await page.getByRole("button", { name: again, exact: true }).click();
    await form.waitFor();
    const saved = await chosenIn(form);
    // from when on a fence's shape holds is not said of it, but of a change
    delete shown["In force from"];
    // whether a driver is kept is said, and changed, beside the form
    delete shown["Lock for your organization: no other one finds or takes this driver"];
    assert.deepEqual(Object.fromEntries(Object.keys(shown).map((label) => [label, saved[label]])), shown);
    assert.ok(Object.keys(shown).length > 0);
    assert.deepEqual(page.faults, []);
  });
}

test("a vehicle is changed, only in what was changed, and taken out of service", async () => {
  const fleet = await Fleet.make(stage.server);
  const bus = await fleet.vehicle("Bus 7", { make: "Volvo" });
  const { page } = await signedIn(`#/live/${bus.id}`, fleet);
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByText("Tracking", { exact: true }).click();
  await page.getByLabel("Too fast from, km/h").fill("62,5");
  await fleet.admin.put(`/v1/vehicles/${bus.id}`, { make: "Scania" });
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Deactivate" }).click();
  await page.getByRole("button", { name: "Activate", exact: true }).waitFor();
  const now = await fleet.admin.get(`/v1/vehicles/${bus.id}`);
  assert.deepEqual([now.make, now.tracking.overspeedKmh, now.status], ["Scania", 62.5, "inactive"]);
  await page.getByRole("button", { name: "Delete" }).click();
  // an answer has an Escape of its own, which leaves the vehicle open
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.waitForURL((url) => url.hash === "#/live");
  assert.deepEqual(page.faults, []);
});

test("where there is no driver yet, assigning one leads to a new driver and back, and it may be dated back", async () => {
  const fleet = await Fleet.make(stage.server);
  await fleet.set({ timezone: "Asia/Tokyo" });
  const bus = await fleet.admin.post("/v1/vehicles", { name: "Bus 7" });
  const { page } = await signedIn(`#/live/${bus.id}`, fleet);
  const panel = detail(page, "Bus 7");
  const dialog = page.getByRole("dialog");
  await panel.getByRole("button", { name: "Assign driver" }).click();
  await dialog.getByText("There is no driver to assign yet.").waitFor();
  await dialog.getByRole("link", { name: "New driver" }).click();
  await page.getByText("the driver is assigned to Bus 7").waitFor();
  await page.getByLabel("First name").fill("Astrid");
  await page.getByLabel("Last name").fill("Lind");
  await page.getByRole("button", { name: "Save" }).click();

  await eventually(async () => assert.equal(await dialog.getByRole("combobox", { name: "Driver" }).inputValue(), "Astrid Lind"));
  const startedAt = new Date(Math.floor(Date.now() / 60_000) * 60_000 - 7_200_000);
  const inTokyo = new Date(startedAt.getTime() + 9 * 3_600_000).toISOString().slice(0, 16);
  await dialog.getByLabel("Since").fill(inTokyo);
  await dialog.getByRole("button", { name: "Assign" }).click();
  await panel.getByRole("link", { name: "Astrid Lind" }).waitFor();
  await dialog.waitFor({ state: "detached" });
  const { data } = await fleet.admin.get(`/v1/vehicles/${bus.id}/drivers`);
  assert.deepEqual(data.map((one) => Date.parse(one.startedAt)), [startedAt.getTime()]);
  await page.reload();
  await panel.getByRole("link", { name: "Astrid Lind" }).waitFor();
  assert.equal(await dialog.count(), 0, "it asks once");

  // what cannot be is said at the field
  await panel.getByRole("button", { name: "Unassign" }).click();
  await panel.getByText("Nobody is assigned").waitFor();
  await panel.getByRole("button", { name: "Assign driver" }).click();
  await dialog.getByRole("combobox", { name: "Driver" }).fill("lind");
  await dialog.getByRole("option", { name: "Astrid Lind" }).click();
  await dialog.getByLabel("Since").fill("2100-01-01T00:00");
  await dialog.getByRole("button", { name: "Assign" }).click();
  await dialog.getByLabel("Since").and(page.locator("[aria-invalid=true]")).waitFor();
  assert.deepEqual(page.faults, []);
});

test("nobody is assigned without a choice, and the only one who is found is taken as one goes on", async () => {
  const fleet = await Fleet.make(stage.server);
  const bus = await fleet.vehicle("Bus 7");
  await fleet.admin.post("/v1/drivers", { firstName: "Astrid", lastName: "Lind" });
  await fleet.admin.post("/v1/drivers", { firstName: "Nils", lastName: "Ek" });
  const { page } = await signedIn(`#/live/${bus.id}`, fleet);
  const asked = [];
  page.on("request", (request) => { if (request.method() === "POST" && request.url().includes("assign")) asked.push(new URL(request.url()).pathname); });
  const panel = detail(page, "Bus 7");
  await panel.getByRole("button", { name: "Assign driver" }).click();
  const dialog = page.getByRole("dialog");
  const driver = dialog.getByRole("combobox", { name: "Driver" });
  await dialog.getByRole("button", { name: "Assign" }).click();
  assert.equal(await driver.evaluate((element) => element.validationMessage), "Choose one of those that are found.");
  assert.deepEqual(asked, []);
  // two are found: nobody is guessed
  await driver.fill("i");
  await dialog.getByRole("option").nth(1).waitFor();
  await driver.press("Tab");
  assert.equal(await driver.inputValue(), "");
  await driver.fill("lin");
  await dialog.getByRole("option", { name: "Nils Ek" }).waitFor({ state: "detached" });
  await dialog.getByRole("option", { name: "Astrid Lind" }).waitFor();
  // a key that is the input method's chooses nobody
  await driver.dispatchEvent("keydown", { key: "Enter", isComposing: true, bubbles: true });
  assert.equal(await driver.inputValue(), "lin");
  await driver.press("Tab");
  assert.equal(await driver.inputValue(), "Astrid Lind");
  await dialog.getByRole("button", { name: "Assign" }).click();
  await panel.getByRole("link", { name: "Astrid Lind" }).waitFor();
  assert.equal(asked.length, 1);
  assert.deepEqual(page.faults, []);
});

test("a dispatcher without a driver to assign is told who enters one", async () => {
  const fleet = await Fleet.make(stage.server);
  const bus = await fleet.admin.post("/v1/vehicles", { name: "Bus 7" });
  const page = await stage.page();
  await signIn(page, await fleet.person("dispatcher"));
  await visit(page, `#/live/${bus.id}`);
  await detail(page, "Bus 7").getByRole("button", { name: "Assign driver" }).click();
  await page.getByRole("dialog").getByText("An administrator of your organization enters them here.").waitFor();
  assert.equal(await page.getByRole("dialog").getByRole("link").count(), 0);
});

test("a vehicle gets driver and tracker where it is looked at, and has no second page", async () => {
  const fleet = await Fleet.make(stage.server);
  const bus = await fleet.admin.post("/v1/vehicles", { name: "Bus 7" });
  const other = await fleet.admin.post("/v1/drivers", { firstName: "Olle", lastName: "Other" });
  await fleet.admin.post(`/v1/drivers/${other.id}/assign-vehicle`, { vehicleId: bus.id });
  await fleet.admin.post("/v1/drivers", { firstName: "Astrid", lastName: "Lind", phone: "+46 8 123" });
  const page = await stage.page();
  await signIn(page, fleet);
  await page.goto(`/#/fleet/${bus.id}`);
  await page.waitForURL((url) => url.hash === `#/live/${bus.id}`);
  const panel = detail(page, "Bus 7");
  const dialog = page.getByRole("dialog");

  await panel.getByRole("link", { name: "Olle Other" }).waitFor();
  await panel.getByRole("button", { name: "Assign driver" }).click();
  await dialog.getByRole("combobox", { name: "Driver" }).fill("lind");
  await dialog.getByRole("option", { name: "Astrid Lind" }).click();
  await dialog.getByRole("button", { name: "Assign" }).click();
  await dialog.getByRole("alert").getByText("Not saved").waitFor();
  await dialog.getByLabel("take it from them").check();
  await dialog.getByRole("button", { name: "Assign" }).click();
  await panel.getByRole("link", { name: "Astrid Lind" }).waitFor();
  assert.equal(await panel.getByRole("link", { name: "+46 8 123" }).getAttribute("href"), "tel:+468123");
  await panel.getByRole("button", { name: "Unassign" }).click();
  await panel.getByText("Nobody is assigned").waitFor();

  await panel.getByRole("button", { name: "Add a tracker" }).click();
  await panel.getByLabel("Its own id").fill("imei-70");
  await panel.getByRole("button", { name: "Save" }).click();
  const token = await dialog.getByRole("group", { name: "Token", exact: true }).textContent();
  await dialog.getByRole("button", { name: "Close" }).click();
  await panel.getByRole("link", { name: "imei-70" }).waitFor();
  await new Client(stage.server.url, token).post("/v1/positions", { items: [{ recordedAt: new Date().toISOString(), latitude: 59.33, longitude: 18.06 }] });
  await panel.getByText("59.33000, 18.06000").waitFor();
  assert.deepEqual(page.faults, []);
});

test("a user is invited, follows the link of the letter and signs in; then is disabled", async () => {
  const { page, fleet } = await signedIn("#/users/new");
  await page.getByLabel("E-mail").fill("nora@example.org");
  await page.getByLabel("First name").fill("Nora");
  await page.getByLabel("Last name").fill("Ny");
  await page.getByLabel("Role").selectOption("dispatcher");
  await page.getByRole("button", { name: "Send invitation" }).click();
  await page.getByText("An invitation is on its way to nora@example.org.").waitFor();
  await page.getByRole("link", { name: "Ada Admin" }).click();
  await detail(page, "Ada Admin").waitFor();
  assert.equal(await page.getByText("An invitation is on its way").count(), 0, "it is nobody else's");
  await page.getByLabel("Phone").fill("+46 70 123");
  await page.getByRole("button", { name: "Save" }).click();
  await detail(page, "Ada Admin").getByText("Saved.").waitFor();
  await page.getByRole("link", { name: "Nora Ny" }).click();
  await detail(page, "Nora Ny").waitFor();
  assert.equal(await page.getByText("Saved.").count(), 0);

  const token = (await stage.server.linkFor("nora@example.org", "invite")).split("/invite/")[1];
  await new Client(stage.server.url).post(`/v1/auth/accept-invite/${token}`, { password: PASSWORD });
  const nora = await stage.page();
  await signIn(nora, { email: "nora@example.org", password: PASSWORD });
  await visit(nora, "#/fences");
  await nora.getByRole("link", { name: "New fence" }).waitFor();

  await page.reload();
  await page.getByRole("button", { name: "Disable" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Disable" }).click();
  await page.getByRole("button", { name: "Enable" }).waitFor();
  await assert.rejects(Client.signIn(stage.server, "nora@example.org"), /40[13]/);
  const { data } = await fleet.admin.get("/v1/users?q=nora");
  assert.deepEqual(data.map(({ role, status }) => [role, status]), [["dispatcher", "disabled"]]);
  assert.deepEqual(page.faults, []);
});

test("settings are kept, refusals stand at their fields, and the change is in the audit", async () => {
  const { page, fleet } = await signedIn("#/organization");
  await page.getByLabel("Time zone").fill("Europe/Nowhere");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator("[aria-invalid=true]").waitFor();
  await page.getByLabel("Time zone").fill("Europe/Stockholm");
  await page.getByLabel("Silent after, seconds").fill("120");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  const { settings } = await fleet.admin.get(`/v1/organizations/organization/${fleet.organization.id}`);
  assert.deepEqual([settings.timezone, settings.staleAfterSeconds], ["Europe/Stockholm", 120]);
  await page.reload();
  await page.getByRole("region", { name: "Who changed what" }).getByText("changed the organization").first().waitFor();
  assert.deepEqual(page.faults, []);
});

test("what the server refuses of a box stands at the box, in a group that was folded away", async () => {
  const { page } = await signedIn("#/organization");
  await page.route(({ pathname }) => pathname.startsWith("/v1/organizations/organization/"), (route) => {
    if (route.request().method() !== "PUT") return route.continue();
    const errors = [{ pointer: "/settings/assignment/blockOnExpiredLicense", code: "invalid", detail: "must be off in this plan" }];
    return route.fulfill({ status: 422, contentType: "application/problem+json", body: JSON.stringify({ status: 422, code: "validationFailed", title: "Refused", errors }) });
  });
  const settings = page.getByRole("form", { name: "Settings" });
  const group = settings.getByText("Drivers", { exact: true });
  await group.click();
  await settings.getByLabel("Do not assign drivers").click();
  await group.click();
  await settings.getByRole("button", { name: "Save" }).click();
  const box = settings.getByLabel("Do not assign drivers");
  await box.and(page.locator("[aria-invalid=true]:focus")).waitFor();
  await settings.getByText("must be off in this plan", { exact: true }).waitFor();
  assert.equal(await box.evaluate((element) => document.getElementById(element.getAttribute("aria-describedby")).textContent), "must be off in this plan");
  await settings.getByText("see what is marked.").waitFor();
  assert.deepEqual(page.faults, []);
});

test("an operator chooses whose fleet to look after", async () => {
  const [first, second] = [await Fleet.make(stage.server, "Northern"), await Fleet.make(stage.server, "Southern")];
  await first.vehicle("North 1");
  await second.vehicle("South 1");
  const page = await stage.page();
  await signIn(page, { email: "root@example.org", password: PASSWORD });
  await visit(page, "#/fleet");
  await page.getByLabel("Organization").selectOption({ label: "Northern" });
  await page.getByRole("link", { name: "North 1" }).waitFor();
  await page.getByRole("link", { name: "New vehicle" }).click();
  await page.getByLabel("Name", { exact: true }).fill("North 2");
  await page.getByRole("button", { name: "Save" }).click();
  await detail(page, "North 2").waitFor();
  assert.equal((await first.admin.get("/v1/vehicles")).pagination.totalItems, 2);
  await visit(page, "#/fleet");
  await page.getByLabel("Organization").selectOption({ label: "Southern" });
  await page.getByRole("link", { name: "South 1" }).waitFor();
  await page.getByRole("link", { name: "North 1" }).waitFor({ state: "detached" });
  assert.deepEqual(page.faults, []);
});

test("what was asked of one fleet is not shown with another, however late it comes", async () => {
  const place = { latitude: 59.33, longitude: 18.06 };
  const fleets = [];
  for (const name of ["Eastern", "Western"]) {
    const fleet = await Fleet.make(stage.server, name);
    await fleet.circle(`${name} depot`, place);
    fleets.push(Object.assign(fleet, { bus: await fleet.vehicle(`${name} bus`) }));
  }
  const [eastern, western] = fleets;
  await eastern.bus.at(place.latitude, place.longitude);
  const page = await stage.page();
  await signIn(page, { email: "root@example.org", password: PASSWORD });
  const choose = (label) => page.getByLabel("Organization").selectOption({ label });
  await choose("Western");
  await isSettled(page);

  let answer;
  const isAnswered = new Promise((resolve) => { answer = resolve; });
  await page.route((url) => url.pathname === "/v1/events" && url.searchParams.get("organizationId") === eastern.organization.id, async (route) => {
    await isAnswered;
    await route.continue();
  });
  const isAsked = page.waitForRequest((request) => request.url().includes(`/v1/events?organizationId=${eastern.organization.id}`));
  await choose("Eastern");
  await isAsked;
  await choose("Western");
  answer();
  await isSettled(page);
  await western.bus.at(place.latitude, place.longitude);
  const events = page.getByRole("region", { name: "Events" });
  await events.getByText("Western depot").waitFor();
  assert.equal(await events.getByText("Eastern depot").count(), 0);
  assert.deepEqual(page.faults, []);
});

test("what an operator has begun for one organization is asked about before another is shown, and is not taken along", async () => {
  const [first, second] = [await Fleet.make(stage.server, "Sunrise lines"), await Fleet.make(stage.server, "Sunset lines")];
  const page = await stage.page();
  await signIn(page, { email: "root@example.org", password: PASSWORD });
  const choice = page.getByLabel("Organization", { exact: true });
  await choice.selectOption({ label: "Sunrise lines" });
  const asking = page.getByRole("dialog", { name: "Leave without saving?" });
  for (const [view, field] of [["#/drivers/new", "First name"], ["#/fences/new", "Name"], ["#/fleet/new", "Name"]]) {
    await visit(page, view);
    const written = page.getByLabel(field, { exact: true });
    await choice.selectOption({ label: "Sunset lines" });
    await choice.selectOption({ label: "Sunrise lines" });
    assert.equal(await asking.count(), 0, "nothing is lost yet");
    await written.fill("Eastern's");
    await choice.selectOption({ label: "Sunset lines" });
    await asking.getByRole("button", { name: "Cancel" }).click();
    await asking.waitFor({ state: "detached" });
    assert.equal(await choice.inputValue(), first.organization.id);
    assert.equal(await written.inputValue(), "Eastern's");
    await page.getByRole("banner").getByRole("button", { name: "Sign out" }).click();
    await asking.getByRole("button", { name: "Cancel" }).click();
    await choice.selectOption({ label: "Sunset lines" });
    await asking.getByRole("button", { name: "Leave" }).click();
    await asking.waitFor({ state: "detached" });
    assert.equal(await choice.inputValue(), second.organization.id);
    assert.equal(await written.inputValue(), "");
    await choice.selectOption({ label: "Sunrise lines" });
  }
  await page.getByRole("banner").getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("button", { name: "Sign in" }).waitFor();
  assert.deepEqual(page.faults, []);
});

test("what is made and whose answer is lost is made once, and a list that cannot be read again makes nothing unsaved", async () => {
  const { page, fleet } = await signedIn("#/drivers/new");
  const keys = [];
  const isDrivers = ({ pathname }) => pathname.startsWith("/v1/drivers");
  await page.route(isDrivers, async (route) => {
    if (route.request().method() !== "POST") return route.abort();
    keys.push(await route.request().headerValue("idempotency-key"));
    if (keys.length === 1) await route.fetch();
    return keys.length <= 3 ? route.abort() : route.continue();
  });
  await page.getByLabel("First name").fill("Astrid");
  await page.getByLabel("Last name").fill("Lind");
  const save = page.getByRole("button", { name: "Save" });
  await save.click();
  await page.getByText("Not saved: The server cannot be reached.").waitFor();
  await save.click();
  await page.waitForURL(({ hash }) => /^#\/drivers\/.{20}/.test(hash));
  assert.equal(new Set(keys).size, 1, "the same content has the same key");
  assert.equal(await page.getByText("Not saved").count(), 0);
  assert.equal((await fleet.admin.get("/v1/drivers?q=lind")).data.length, 1);

  await page.unroute(isDrivers);
  await visit(page, "#/drivers/new");
  await page.getByLabel("First name").fill("Astrid");
  await page.getByLabel("Last name").fill("Lind");
  await save.click();
  await page.waitForURL(({ hash }) => /^#\/drivers\/.{20}/.test(hash));
  assert.equal((await fleet.admin.get("/v1/drivers?q=lind")).data.length, 2, "once it is answered, the same again is another one");
});
