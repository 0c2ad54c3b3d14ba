// Units, time zone and language tag of the organization, and a person's own, say how numbers and dates are written.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Fleet, eventually, setUp, signIn, visit } from "./harness/index.mjs";

const stage = setUp();
const DEPOT = { latitude: 59.33, longitude: 18.06 };
const region = (page, name) => page.getByRole("region", { name, exact: true });

async function signedIn(fleet, who = fleet) {
  const page = await stage.page({ locale: "en-US", timezoneId: "Asia/Tokyo" });
  await signIn(page, who);
  return page;
}

test("imperial: miles, US gallons and feet, also where they are written", async () => {
  const fleet = await Fleet.make(stage.server);
  await fleet.set({ units: "imperial" });
  const depot = await fleet.circle("Depot", DEPOT, 300);
  const lorry = await fleet.vehicle("Lorry", { fuel: { kind: "diesel", tankCapacityLiters: 100, normLitersPer100Km: 30 } });
  await lorry.at(DEPOT.latitude, DEPOT.longitude, { speedKmh: 80, fuel: { liters: 50 } });
  const page = await signedIn(fleet);
  await region(page, "Vehicles").getByRole("button", { name: "mph" }).waitFor();
  await region(page, "Vehicles").getByRole("row", { name: "Lorry" }).getByText("50", { exact: true }).waitFor();
  await page.locator(".maplibregl-ctrl-scale").getByText(/(ft|mi)$/).waitFor();
  await visit(page, `#/live/${lorry.id}`);
  await region(page, "Lorry").getByText("50 mph").waitFor();
  await region(page, "Lorry").getByText("13.2 gal now").waitFor();

  await visit(page, `#/fences/${depot.id}`);
  const radius = page.getByLabel("Radius, feet");
  assert.equal(await radius.inputValue(), "984.25");
  await radius.fill("1000");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  assert.equal((await fleet.admin.get(`/v1/geofences/${depot.id}`)).shape.radiusMeters, 304.8);

  await visit(page, `#/live/${lorry.id}`);
  await page.getByText("26.4 gal").waitFor();
  await page.getByText("7.8 mpg").waitFor();
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByText("Tracking", { exact: true }).click();
  await page.getByLabel("Too fast from, mph").fill("50");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Edit" }).waitFor();
  const { tracking, fuel } = await fleet.admin.get(`/v1/vehicles/${lorry.id}`);
  assert.equal(Math.round(tracking.overspeedKmh * 100), 8047);
  assert.deepEqual([fuel.tankCapacityLiters, fuel.normLitersPer100Km], [100, 30], "what nobody changed stays to the digit");
  assert.deepEqual(page.faults, []);
});

test("the organization's time zone and language tag, a person's own before them, and this computer's nowhere", async () => {
  const fleet = await Fleet.make(stage.server);
  await fleet.set({ timezone: "America/Chicago", locale: "de-DE" });
  await fleet.circle("Depot", DEPOT, 300);
  const bus = await fleet.vehicle("Bus 7");
  // 23:30 of 14 January in Chicago, the 15th everywhere east of it
  await bus.report([[59.34, "2026-01-15T05:29:00Z"], [59.33, "2026-01-15T05:30:00Z"]].map(([latitude, recordedAt]) => ({ ...DEPOT, latitude, recordedAt })));
  await bus.report([{ ...DEPOT, latitude: 59.34, recordedAt: "2026-01-15T07:30:00Z" }]);
  const person = await fleet.person("dispatcher");
  const page = await signedIn(fleet, person);
  const events = region(page, "Events");
  await events.getByText(/^14\.01\.2026, 23:/).first().waitFor();
  await visit(page, `#/replay/${bus.id}?day=2026-01-14`);
  await region(page, "What happened").getByText("Entered Depot").waitFor();
  assert.equal(await region(page, "What happened").getByText("Left Depot").count(), 0, "that is of the next day in Chicago");

  await page.getByRole("link", { name: "Some", exact: true }).click();
  await page.getByLabel("Time zone").fill("Europe/London");
  await page.getByLabel("Language tag").fill("en-GB");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  await visit(page, "#/live");
  await events.getByText(/^15 Jan 2026, 05:/).first().waitFor();
  await page.reload();
  await events.getByText(/^15 Jan 2026, 05:/).first().waitFor();
  const entry = events.locator("time").first();
  await eventually(async () => assert.match(await entry.getAttribute("title"), /^Thursday,? 15 January 2026 at 05:.* GMT$/));
  assert.deepEqual(page.faults, []);
});

for (const [browser, shown, other] of [["en-US", /\b6:\d\d:\d\d\sAM$/, /^0/], ["de-DE", /^06:\d\d:\d\d$/, /AM/]]) {
  test(`where the settings name a language and no country, clocks are those of the browser: ${browser}`, async () => {
    const fleet = await Fleet.make(stage.server);
    await fleet.set({ timezone: "UTC", locale: "en" });
    await fleet.circle("Depot", DEPOT, 300);
    const bus = await fleet.vehicle("Bus 7");
    await bus.report([[59.34, "2026-01-15T06:29:00Z"], [59.33, "2026-01-15T06:30:05Z"]].map(([latitude, recordedAt]) => ({ ...DEPOT, latitude, recordedAt })));
    const page = await stage.page({ locale: browser });
    await signIn(page, fleet);
    await visit(page, `#/replay/${bus.id}?day=2026-01-15`);
    const times = region(page, "What happened").locator("time");
    await times.getByText(shown).first().waitFor();
    assert.equal(await times.getByText(other).count(), 0);
    await visit(page, "#/live");
    await region(page, "Events").getByText(browser === "en-US" ? /, 6:\d\d\sAM$/ : /, 06:\d\d$/).first().waitFor();
    assert.deepEqual(page.faults, []);
  });
}

test("a time is typed in a zone that is named, and where that is not the computer's the head says so", async () => {
  const fleet = await Fleet.make(stage.server);
  await fleet.set({ timezone: "America/Chicago" });
  await fleet.circle("Depot", DEPOT, 300);
  const bus = await fleet.vehicle("Bus 7");
  await fleet.admin.post("/v1/drivers", { firstName: "Astrid", lastName: "Lind" });
  const page = await signedIn(fleet);
  await page.getByRole("banner").getByText("Times: Central Time").waitFor();
  await visit(page, `#/live/${bus.id}`);
  await page.getByRole("button", { name: "Assign driver" }).click();
  await page.getByRole("dialog").getByText("In Central Time.").waitFor();
  await page.keyboard.press("Escape");
  await visit(page, "#/shares/new");
  await page.getByText("At most 90 days ahead. In Central Time.").waitFor();
  await visit(page, "#/fences/new");
  await page.getByText("In force from", { exact: true }).first().click();
  await page.getByLabel("In force from").first().selectOption("at");
  await page.getByText("In Central Time.").waitFor();
  await fleet.set({ timezone: "Asia/Tokyo" });
  await page.getByRole("banner").getByText("Times:").waitFor({ state: "detached" });
  assert.deepEqual(page.faults, []);
});
