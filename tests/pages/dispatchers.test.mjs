// Two people in two browsers: whatever master data one changes, the other is shown without a reload. How long that took is printed,
// and never asserted.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { launch, open } from "./harness/browser.mjs";
import { Fleet, PASSWORD, eventually, setUp, signIn, visit } from "./harness/index.mjs";

const stage = setUp();
const CENTER = { latitude: 59.33, longitude: 18.06 };

let elsewhere;
/** When the last change was sent: before that a test waits for its own page to stand still. */
let sentAt = 0;
before(async () => { elsewhere = await launch(); });
after(() => elsewhere?.close());

/** Whoever administers a fleet, and somebody of another role in a browser of their own; `watch` opens a view in a tab of theirs. */
async function two(role = "dispatcher") {
  const fleet = await Fleet.make(stage.server);
  const one = await stage.page();
  await signIn(one, fleet);
  one.on("request", (request) => { if (request.method() !== "GET") sentAt = performance.now(); });
  const person = await fleet.person(role);
  const tabs = [];
  const watch = async (address) => {
    const tab = await open(elsewhere, stage.server);
    tabs.push(tab);
    await signIn(tab, person);
    await visit(tab, address);
    tab.loads = 0;
    tab.on("load", () => { tab.loads += 1; });
    return tab;
  };
  const end = async () => {
    for (const tab of [one, ...tabs]) assert.deepEqual(tab.faults, []);
    assert.deepEqual(tabs.map(({ loads }) => loads), tabs.map(() => 0), "nothing was loaded again");
    await Promise.all(tabs.map((tab) => tab.context().close()));
  };
  return { fleet, one, person, watch, end };
}

/** Does something, and waits until all of it is seen. */
async function isSeen(what, act, ...seen) {
  const began = performance.now();
  await act();
  await Promise.all(seen.map((sight) => sight()));
  console.log(`${what}: seen after ${(performance.now() - Math.max(began, sentAt)).toFixed(0)} ms`);
}

const press = (page, name) => () => page.getByRole("button", { name, exact: true }).click();
const confirm = (page, name) => async () => {
  await press(page, name)();
  await page.getByRole("dialog").getByRole("button", { name, exact: true }).click();
};
const shows = (page, ...texts) => async () => {
  for (const text of texts) await page.locator("main").getByText(text, { exact: true }).first().waitFor();
};
const row = (page, name) => () => page.getByRole("row", { name }).waitFor();
const noRow = (page, name) => () => page.getByRole("row", { name }).waitFor({ state: "detached" });
const isGone = (page) => () => page.getByText("This does not exist any more").waitFor();
const has = (page, label, value) => () => page.waitForFunction(([wanted, of]) => {
  const fields = [...document.querySelectorAll("form input")];
  return fields.some((field) => field.labels?.[0]?.textContent === of && field.value === wanted);
}, [value, label]);
/** The id of what is open, at the end of the address. */
const openId = async (page) => {
  await page.waitForFunction(() => /\/[0-9a-f-]{36}$/.test(location.hash));
  return new URL(page.url()).hash.split("/").at(-1);
};

test("fences", async () => {
  const { one, watch, end } = await two();
  const list = await watch("#/fences");
  await visit(one, "#/fences/new");
  await one.getByLabel("Name", { exact: true }).fill("Yard");
  await one.getByLabel("Centre latitude").fill(String(CENTER.latitude));
  await one.getByLabel("Centre longitude").fill(String(CENTER.longitude));
  await isSeen("a fence is made", press(one, "Save"), row(list, /Yard/));
  const opened = await watch(`#/fences/${await openId(one)}`);
  await one.getByLabel("Name", { exact: true }).fill("Court");
  await one.getByLabel("Radius, metres").fill("333");
  await isSeen(
    "a fence is changed", press(one, "Save"), row(list, /Court/), has(opened, "Radius, metres", "333"), has(opened, "Name", "Court"),
  );
  await one.getByLabel("In force", { exact: true }).uncheck();
  await isSeen("a fence is switched off", press(one, "Save"), row(list, /Court.*off/));
  await isSeen("a fence is deleted", confirm(one, "Delete"), noRow(list, /Court/), isGone(opened));
  await end();
});

test("vehicles", async () => {
  const { one, watch, end } = await two();
  const list = await watch("#/fleet");
  await visit(one, "#/fleet/new");
  await one.getByLabel("Name", { exact: true }).fill("Bus 7");
  await isSeen("a vehicle is made", press(one, "Save"), row(list, /Bus 7.*Active/));
  const id = await openId(one);
  const opened = await watch(`#/live/${id}`);
  await press(one, "Edit")();
  await one.getByLabel("Name", { exact: true }).fill("Bus 8");
  await one.getByLabel("Plate", { exact: true }).fill("ABC 123");
  await isSeen(
    "a vehicle is changed", press(one, "Save"),
    row(list, /Bus 8.*ABC 123/), shows(opened, "ABC 123", "Bus 8"),
  );
  await isSeen("a vehicle is taken out of service", press(one, "Deactivate"), row(list, /Bus 8.*Inactive/), shows(opened, "Inactive"));
  await isSeen(
    "a vehicle is deleted", confirm(one, "Delete"), noRow(list, /Bus 8/),
    () => opened.getByText("There is no such vehicle, or it was deleted.").waitFor(),
  );
  await end();
});

test("drivers", async () => {
  const { one, watch, end } = await two();
  const list = await watch("#/drivers");
  await visit(one, "#/drivers/new");
  await one.getByLabel("First name").fill("Astrid");
  await one.getByLabel("Last name").fill("Lind");
  await isSeen("a driver is made", press(one, "Save"), row(list, /Astrid Lind/));
  const opened = await watch(`#/drivers/${await openId(one)}`);
  await press(one, "Edit")();
  await one.getByLabel("Last name").fill("Berg");
  await one.getByLabel("Phone").fill("+46 8 123");
  await isSeen("a driver is changed", press(one, "Save"), row(list, /Astrid Berg/), shows(opened, "Astrid Berg", "+46 8 123"));
  await isSeen("a driver is unlocked", confirm(one, "Unlock"), shows(opened, "Not locked"));
  await press(one, "Lock")();
  await one.getByRole("dialog").getByLabel("Reason").fill("Summer timetable");
  await isSeen(
    "a driver is locked", () => one.getByRole("dialog").getByRole("button", { name: "Lock" }).click(),
    shows(opened, "Summer timetable"), row(list, /Astrid Berg.*Your organization/),
  );
  await isSeen("a driver is deleted", confirm(one, "Delete"), noRow(list, /Astrid/), isGone(opened));
  await end();
});

test("assignments, and what driver and vehicle tell of each other", async () => {
  const { fleet, one, watch, end } = await two();
  const bus = await fleet.vehicle("Bus 7");
  const driver = await fleet.admin.post("/v1/drivers", { firstName: "Astrid", lastName: "Lind" });
  await visit(one, `#/drivers/${driver.id}`);
  const [drivers, vehicles] = [await watch(`#/drivers/${driver.id}`), await watch("#/fleet")];
  const live = await watch(`#/live/${bus.id}`);
  await press(one, "Assign vehicle")();
  await isSeen(
    "a vehicle is assigned", () => one.getByRole("dialog").getByRole("button", { name: "Assign" }).click(),
    () => drivers.getByRole("button", { name: "Unassign Bus 7" }).waitFor(), row(vehicles, /Bus 7.*Astrid Lind/),
    () => live.getByText("Astrid Lind since").waitFor(),
  );
  await press(one, "Edit")();
  await one.getByLabel("Last name").fill("Berg");
  await isSeen(
    "an assigned driver is renamed", press(one, "Save"),
    row(vehicles, /Bus 7.*Astrid Berg/), () => live.getByText("Astrid Berg since").waitFor(),
  );
  await isSeen(
    "an assigned vehicle is renamed", () => fleet.admin.put(`/v1/vehicles/${bus.id}`, { name: "Bus 8" }),
    () => drivers.getByRole("button", { name: "Unassign Bus 8" }).waitFor(), row(drivers, /Bus 8/), row(vehicles, /Bus 8/),
  );
  const past = drivers.getByRole("region", { name: "Before" });
  await isSeen(
    "a vehicle is unassigned", () => one.getByRole("button", { name: /^Unassign/ }).click(),
    () => past.getByText("Bus 8").waitFor(), shows(drivers, "Drives no vehicle now."),
    shows(live, "Nobody is assigned"), noRow(vehicles, /Astrid/),
  );
  const { data: [assignment] } = await fleet.admin.get(`/v1/drivers/${driver.id}/vehicles?state=past`);
  await isSeen(
    "a past assignment is taken out of the history",
    () => fleet.admin.delete(`/v1/drivers/${driver.id}/vehicles/${bus.id}/assignments/${assignment.id}`),
    () => past.waitFor({ state: "detached" }),
  );
  await end();
});

test("trackers", async () => {
  const { fleet, one, watch, end } = await two();
  const { id: bus } = await fleet.admin.post("/v1/vehicles", { name: "Bus 7" });
  const [list, vehicle] = [await watch("#/trackers"), await watch(`#/live/${bus}`)];
  await visit(one, "#/trackers/new");
  await one.getByLabel("Its own id").fill("imei-1");
  await one.getByRole("combobox", { name: "Vehicle" }).fill("bus");
  await one.getByRole("option", { name: "Bus 7" }).click();
  await isSeen(
    "a tracker is made", press(one, "Save"),
    row(list, /imei-1.*Bus 7.*Active/), () => vehicle.getByRole("link", { name: "imei-1" }).waitFor(),
  );
  await one.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  const opened = await watch(`#/trackers/${await openId(one)}`);
  await one.getByLabel("Model").fill("FMB920");
  await one.getByLabel("Its speeds are in").selectOption("m/s");
  await isSeen(
    "a tracker is changed", press(one, "Save"),
    row(list, /imei-1.*FMB920/), shows(opened, "FMB920", "m/s"), shows(vehicle, "FMB920"),
  );
  await one.getByRole("combobox", { name: "Vehicle" }).click();
  await one.getByRole("option", { name: "in no vehicle" }).click();
  await isSeen(
    "a tracker is taken out", press(one, "Save"), row(list, /imei-1.*in no vehicle/), shows(vehicle, "No tracker is installed."),
  );
  await isSeen("a tracker is disabled", press(one, "Disable"), row(list, /imei-1.*Disabled/), shows(opened, "Disabled"));
  await isSeen("a tracker is deleted", confirm(one, "Delete"), noRow(list, /imei-1/), isGone(opened));
  await end();
});

test("users, the one who watches too", async () => {
  const { fleet, one, person, watch, end } = await two();
  const list = await watch("#/users");
  await visit(one, "#/users/new");
  await one.getByLabel("E-mail").fill(`nora.${fleet.organization.id}@example.org`);
  await one.getByLabel("First name").fill("Nora");
  await one.getByLabel("Last name").fill("Ny");
  await isSeen("a user is invited", press(one, "Send invitation"), row(list, /Nora Ny.*Viewer.*Invited/));
  const opened = await watch(`#/users/${await openId(one)}`);
  await one.getByLabel("Last name").fill("Nilsson");
  await one.getByLabel("Role").selectOption("Dispatcher");
  await isSeen("a user is changed", press(one, "Save"), row(list, /Nora Nilsson.*Dispatcher/), shows(opened, "Nora Nilsson"));
  await isSeen("a user is disabled", confirm(one, "Disable"), row(list, /Nora Nilsson.*Disabled/), shows(opened, "Disabled"));

  const fleetTab = await watch("#/fleet");
  assert.equal(await fleetTab.getByRole("link", { name: "New vehicle" }).count(), 0);
  const { data: [self] } = await fleet.admin.get(`/v1/users?q=${person.email}`);
  await visit(one, `#/users/${self.id}`);
  await one.getByLabel("First name").fill("Siri");
  await one.getByLabel("Role").selectOption("Administrator");
  await isSeen(
    "who watches gets another name and role", press(one, "Save"),
    () => fleetTab.getByRole("link", { name: "New vehicle" }).waitFor(), () => fleetTab.getByRole("link", { name: "Siri" }).waitFor(),
  );
  await end();
});

test("the organization, programs, and who changed what", async () => {
  const { fleet, one, watch, end } = await two("orgAdmin");
  await (await fleet.vehicle("Bus 7")).at(CENTER.latitude, CENTER.longitude);
  const [live, settings, programs] = [await watch("#/live"), await watch("#/organization"), await watch("#/programs")];
  await visit(one, "#/organization");
  await one.getByLabel("Name", { exact: true }).fill("Renamed");
  await one.getByLabel("Units").selectOption("Imperial (US)");
  const audit = settings.getByRole("region", { name: "Who changed what" });
  await isSeen(
    "the organization is changed", press(one, "Save"),
    has(settings, "Name", "Renamed"), () => live.locator("header").getByText("Renamed").waitFor(),
    () => live.getByRole("columnheader", { name: "mph" }).waitFor(), () => audit.getByText("changed the organization").first().waitFor(),
  );
  await visit(one, "#/programs/new");
  await one.getByLabel("Name", { exact: true }).fill("Gateway");
  await one.getByLabel("E-mail").fill(`gateway.${fleet.organization.id}@example.org`);
  await one.getByLabel("Password").fill(PASSWORD);
  await one.getByLabel("vehicles:read").check();
  await isSeen("a program is made", press(one, "Save"), row(programs, /Gateway/), () => audit.getByText("Gateway").first().waitFor());
  const { data: [program] } = await fleet.admin.get("/v1/system-users");
  const keys = `/v1/system-users/${program.id}/keys`;
  const opened = await watch(`#/programs/${program.id}`);
  await shows(opened, "Gateway")();
  let key;
  const make = async () => { key = await fleet.admin.post(keys, { name: "Depot key", scopes: ["vehicles:read"] }); };
  await isSeen("a key is made", make, shows(opened, "Depot key"));
  const revoke = () => fleet.admin.delete(`${keys}/${key.id}`);
  await isSeen("a key is revoked", revoke, () => opened.getByText("Depot key").waitFor({ state: "detached" }));
  await isSeen("a program is disabled", press(one, "Disable"), row(programs, /Gateway.*Disabled/));
  await isSeen("a program is deleted", confirm(one, "Delete"), noRow(programs, /Gateway/));
  await isSeen(
    "a vehicle more", () => fleet.admin.post("/v1/vehicles", { name: "Bus 8" }),
    () => settings.getByRole("definition").getByText(/^2( of|$)/).first().waitFor(),
  );
  await end();
});

test("what two change of one thing at the same time stays, also within a part of it", async () => {
  const { fleet, one, end } = await two();
  const bus = await fleet.admin.post("/v1/vehicles", { name: "Bus 7", fuel: { kind: "diesel", tankCapacityLiters: 100, normLitersPer100Km: 30 } });
  const saved = (path) => one.waitForResponse((answer) => answer.request().method() === "PUT" && answer.url().includes(path) && answer.ok());
  await visit(one, `#/live/${bus.id}`);
  await press(one, "Edit")();
  for (const group of ["Fuel", "Tracking"]) await one.locator("summary").getByText(group, { exact: true }).click();
  await one.getByLabel("Should need, l/100 km").fill("28");
  await one.getByLabel("Too fast from, km/h").fill("80");
  await one.getByLabel("Plate", { exact: true }).fill("ABC 123");
  await fleet.admin.put(`/v1/vehicles/${bus.id}`, { plate: { number: "XYZ 9", country: "SE" }, fuel: { tankCapacityLiters: 120 }, tracking: { maxSpeedKmh: 130 } });
  await has(one, "Tank, litres", "120")();
  await Promise.all([saved(bus.id), press(one, "Save")()]);
  const { plate, fuel, tracking } = await fleet.admin.get(`/v1/vehicles/${bus.id}`);
  assert.deepEqual([fuel.tankCapacityLiters, fuel.normLitersPer100Km, tracking.maxSpeedKmh, tracking.overspeedKmh], [120, 28, 130, 80]);
  assert.deepEqual(plate, { number: "ABC 123", country: "SE" });

  const driver = await fleet.admin.post("/v1/drivers", { firstName: "Astrid", lastName: "Lind" });
  await visit(one, `#/drivers/${driver.id}`);
  await press(one, "Edit")();
  await one.getByLabel("Licence number").fill("AB 12");
  await press(one, "Save")();
  await one.getByText("is required", { exact: true }).waitFor();
  await one.getByLabel("Country (two letters)").fill("se");
  await Promise.all([saved(driver.id), press(one, "Save")()]);
  await press(one, "Edit")();
  await one.getByLabel("Categories").fill("B, D");
  await fleet.admin.put(`/v1/drivers/${driver.id}`, { license: { number: "AB 13" } });
  await has(one, "Licence number", "AB 13")();
  await Promise.all([saved(driver.id), press(one, "Save")()]);
  assert.deepEqual((await fleet.admin.get(`/v1/drivers/${driver.id}`)).license, { number: "AB 13", country: "SE", categories: ["B", "D"] });

  await visit(one, "#/organization");
  await one.getByLabel("Silent after, seconds").fill("77");
  await fleet.set({ locale: "de-DE", retention: { positionsDays: 90 } });
  await has(one, "Language tag", "de-DE")();
  await Promise.all([saved(fleet.organization.id), press(one, "Save")()]);
  const { settings } = await fleet.admin.get(`/v1/organizations/organization/${fleet.organization.id}`);
  assert.deepEqual([settings.staleAfterSeconds, settings.locale, settings.retention.positionsDays], [77, "de-DE", 90]);

  const email = `gateway.${fleet.organization.id}@example.org`;
  const { id: program } = await fleet.admin.post("/v1/system-users", { name: "Gateway", email, password: PASSWORD, scopes: ["vehicles:read"] });
  await visit(one, `#/programs/${program}`);
  await one.getByLabel("drivers:read").check();
  await fleet.admin.put(`/v1/system-users/${program}`, { scopes: ["vehicles:read", "geofences:read"] });
  await eventually(async () => assert.equal(await one.getByLabel("geofences:read").isChecked(), true));
  await Promise.all([saved(program), press(one, "Save")()]);
  assert.deepEqual((await fleet.admin.get(`/v1/system-users/${program}`)).scopes.sort(), ["drivers:read", "geofences:read", "vehicles:read"]);
  await end();
});
