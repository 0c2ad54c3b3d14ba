// A vehicle's day, trips and stops drawn and told, its ways on the map; and what its device reports.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Fleet, eventually, hasMap, noonZone, picture, setUp, signIn, visit } from "./harness/index.mjs";

const stage = setUp();

const MINUTE_MS = 60_000;
const DEPOT = { latitude: 59.3, longitude: 18 };
const PORT = { latitude: 59.3, longitude: 18.3 };
const ZONE = "Asia/Tokyo";
const OFFSET_MS = 9 * 3_600_000;

const region = (page, name) => page.getByRole("region", { name, exact: true });
const iso = (at) => new Date(at).toISOString();
/** Yesterday in Tokyo, and its first instant: this computer, wherever it is, has another day for half of it. */
const dayBefore = () => {
  const day = iso(Date.now() + OFFSET_MS - 24 * 3_600_000).slice(0, 10);
  return { day, start: Date.parse(`${day}T00:00Z`) - OFFSET_MS };
};

/** Fixes a minute apart, from one minute of the day to before another: at rest, or from place to place. */
const rest = (start, from, to, place) => Array.from({ length: to - from }, (_, minute) => ({ ...place, recordedAt: iso(start + (from + minute) * MINUTE_MS), speedKmh: 0 }));
const drive = (start, from, to, [a, b], speedKmh = 40) => Array.from({ length: to - from }, (_, minute) => ({
  latitude: a.latitude + ((b.latitude - a.latitude) * (minute + 1)) / (to - from + 1), longitude: a.longitude + ((b.longitude - a.longitude) * (minute + 1)) / (to - from + 1),
  recordedAt: iso(start + (from + minute) * MINUTE_MS), speedKmh,
}));

/** Parked from the evening before, to the port, back, silent, and at the depot over midnight. */
const story = (start) => [
  ...rest(start, -60, 390, DEPOT),
  ...drive(start, 390, 430, [DEPOT, PORT]),
  ...rest(start, 430, 480, PORT),
  ...drive(start, 480, 505, [PORT, DEPOT]).map((fix, minute) => ({ ...fix, speedKmh: minute > 9 && minute < 14 ? 95 : 40 })),
  // nobody knows what it did for three hours
  ...drive(start, 700, 720, [PORT, DEPOT]),
  ...rest(start, 720, 1500, DEPOT),
];

async function reportAll(vehicle, fixes) {
  for (let from = 0; from < fixes.length; from += 500) await vehicle.report(fixes.slice(from, from + 500));
}

/** A lorry between two fences, driven by Astrid for two days, of an organization in a zone that is not the browser's. */
async function lorryOf(fleet, timezone) {
  await fleet.set({ timezone, locale: "en-GB" });
  await fleet.circle("Depot", DEPOT, 400);
  await fleet.circle("Port", PORT, 400);
  const lorry = await fleet.vehicle("Lorry", { tracking: { maxSpeedKmh: null, overspeedKmh: 80 } });
  const driver = await fleet.admin.post("/v1/drivers", { firstName: "Astrid", lastName: "Lind" });
  await fleet.admin.post(`/v1/drivers/${driver.id}/assign-vehicle`, { vehicleId: lorry.id, startedAt: iso(Date.now() - 50 * 3_600_000) });
  return lorry;
}

/** The points of the way that the map has drawn. */
const trailOf = (page) => page.locator(".map").evaluate(async (element) => {
  const { geometry } = await element.fleetMap.map.getSource("trail").getData();
  return geometry.coordinates;
});

test("a day is a strip and a list that agree with the interface; a part of it shows its way", async () => {
  const fleet = await Fleet.make(stage.server);
  const lorry = await lorryOf(fleet, ZONE);
  const { day, start } = dayBefore();
  await reportAll(lorry, story(start));
  const query = `vehicleId=${lorry.id}&sort=occurredAt`;
  const trips = await eventually(async () => {
    const { data } = await fleet.admin.get(`/v1/trips?${query}`);
    assert.equal(data.length, 3);
    return data;
  });

  const page = await stage.page({ timezoneId: "America/Chicago", locale: "en-GB" });
  await signIn(page, fleet);
  await visit(page, `#/live/${lorry.id}?day=${day}`);
  const panel = region(page, "Lorry");
  const rows = panel.locator(".day-list > li");
  await eventually(async () => assert.deepEqual(await rows.locator(".day-kind").allInnerTexts(), ["Stop", "Trip", "Stop", "Trip", "Silent", "Trip", "Stop"]));
  const times = await rows.locator("time").allInnerTexts();
  assert.ok(times[0].endsWith(" – 06:29") && times[0].includes("23:00"), `the stop began the evening before: ${times[0]}`);
  assert.deepEqual(times.slice(1, 4), ["06:29 – 07:10", "07:10 – 07:59", "07:59 – 08:24"]);
  assert.equal(times[5], "11:40 – 12:00");
  for (const text of ["Depot → Port", "from Port", "to Depot", "in Port"]) await rows.filter({ hasText: text }).first().waitFor();
  const kilometers = (trips[0].summary.distanceMeters / 1000).toFixed(1);
  await rows.nth(1).getByText(`${kilometers} km · up to 40 km/h · Astrid Lind`).waitFor();
  await rows.nth(2).getByText("49 min").waitFor();
  await panel.getByText("Too fast that day").waitFor();
  await panel.getByText("Visits that day").waitFor();

  // the strip has the same parts, by the arrow keys one after the other
  const strip = panel.getByRole("group", { name: /^Trips and stops of Lorry/ });
  assert.deepEqual(await strip.locator("[data-part]").evaluateAll((all) => all.map((one) => one.dataset.part)), ["stop", "trip", "stop", "trip", "silence", "trip", "stop"]);
  const widths = await strip.locator("[data-part]").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().width / one.parentElement.getBoundingClientRect().width));
  assert.ok(Math.abs(widths[0] - 389 / 1440) < 0.01, `the part of the stop that lies in the day: ${widths[0]}`);
  await hasMap(page);
  await strip.getByRole("button").first().focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await eventually(async () => {
    const way = await trailOf(page);
    assert.equal(way.length, trips[0].summary.fixCount, "the way of the trip and no more");
    assert.deepEqual(way[0], [trips[0].location.longitude, trips[0].location.latitude]);
    assert.deepEqual(way.at(-1), [trips[0].endLocation.longitude, trips[0].endLocation.latitude]);
  });
  assert.ok(page.url().includes(trips[0].id), "the way is in the address");
  assert.equal(await panel.getByRole("link", { name: "Replay it" }).getAttribute("href"), `#/replay/${lorry.id}?at=${trips[0].startedAt}`);
  assert.equal(await rows.nth(1).getByRole("button").getAttribute("aria-pressed"), "true");
  await picture(page, "vehicle-way");

  // on a phone too, where the map stays in sight above the list
  await page.setViewportSize({ width: 390, height: 844 });
  await rows.nth(5).getByRole("button").click();
  await eventually(async () => assert.equal((await trailOf(page)).length, trips[2].summary.fixCount));
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth && document.querySelector("main").scrollWidth <= innerWidth), "nothing is wider than the screen");
  const [map, row] = [await page.locator(".map-panel").boundingBox(), await rows.nth(5).boundingBox()];
  assert.ok(map.y >= 0 && map.height > 300 && row.y >= map.y + map.height - 1 && row.y < 844, "map and row are both seen");
  await picture(page, "vehicle-way-phone");
  await page.setViewportSize({ width: 1280, height: 800 });
  await rows.nth(1).getByRole("button").click();
  await eventually(async () => assert.equal((await trailOf(page)).length, trips[0].summary.fixCount));

  // where a link to it is opened, it is there; Escape goes back, once to the vehicle and once more to the fleet
  await page.reload();
  await eventually(async () => assert.equal((await trailOf(page)).length, trips[0].summary.fixCount));
  await rows.nth(1).getByRole("button").focus();
  await page.keyboard.press("Escape");
  await eventually(async () => assert.notEqual((await trailOf(page)).length, trips[0].summary.fixCount));
  await rows.nth(3).getByRole("button").click();
  await page.getByRole("button", { name: "Where it is now" }).waitFor();
  await rows.nth(3).getByRole("button").click();
  await page.getByRole("button", { name: "Where it is now" }).waitFor({ state: "detached" });
  assert.equal(await rows.count(), 7, "of the same day still");
  await page.keyboard.press("Escape");
  await region(page, "Events").waitFor();
  assert.deepEqual(page.faults, []);
});

test("a day without anything says so, and a trip that goes on grows and ends while it is looked at", async () => {
  const fleet = await Fleet.make(stage.server);
  const lorry = await lorryOf(fleet, noonZone());
  const page = await stage.page({ timezoneId: "America/Chicago", locale: "en-GB" });
  await signIn(page, fleet);
  await visit(page, `#/live/${lorry.id}`);
  const panel = region(page, "Lorry");
  await panel.getByText("It has not reported today yet.").waitFor();

  const start = Date.now() - 50 * MINUTE_MS;
  const way = [...rest(start, 0, 1, PORT), ...drive(start, 1, 42, [PORT, DEPOT])];
  await reportAll(lorry, way.slice(0, 39));
  const row = panel.locator(".day-list li[data-part=trip]");
  await row.getByText(/ – goes on$/).waitFor();
  await row.getByText(/so far$/).waitFor();
  await row.getByText("from Port").waitFor();
  await row.getByText("Astrid Lind").waitFor();
  await hasMap(page);
  await row.getByRole("button").click();
  await eventually(async () => assert.equal((await trailOf(page)).length, 39));
  await lorry.report(way.slice(39, 40));
  await eventually(async () => assert.equal((await trailOf(page)).length, 40, "it grows with the trip"));

  await panel.getByRole("button", { name: "The day before" }).click();
  await panel.getByText("It did not report on this day.").waitFor();
  assert.equal(await panel.getByRole("button", { name: "The day after" }).isDisabled(), false);
  await panel.getByRole("button", { name: "The day after" }).click();
  await row.getByText("goes on").waitFor();

  await reportAll(lorry, [...way.slice(40), ...rest(start, 42, 50, DEPOT)]);
  await row.getByText("Port → Depot").waitFor();
  await row.getByText(/ km · up to 40 km\/h · Astrid Lind$/).waitFor();
  await panel.locator(".day-list li[data-part=stop]").getByText(/ – goes on$/).waitFor();

  // far from every fence nothing but the trip itself is told
  const south = ({ latitude, ...fix }) => ({ ...fix, latitude: latitude - 1 });
  const van = await fleet.vehicle("Van");
  await reportAll(van, way.slice(0, 40).map(south));
  await visit(page, `#/live/${van.id}`);
  const alone = region(page, "Van").locator(".day-list li[data-part=trip]");
  await alone.getByText(/ – goes on$/).waitFor();
  await reportAll(van, [...way.slice(40), ...rest(start, 42, 50, DEPOT)].map(south));
  await alone.getByText(/ km · up to 40 km\/h$/).waitFor();
  assert.deepEqual(page.faults, []);
});

test("what a device reports is told in words with units, newest values with their time, and garbage is harmless", async () => {
  const fleet = await Fleet.make(stage.server);
  const [van, silent] = [await fleet.vehicle("Van"), await fleet.vehicle("Plain")];
  const long = `io.${"x".repeat(60)}`;
  const began = Date.now() - 20 * MINUTE_MS;
  await silent.at(59.3, 18);
  await van.report([
    { ...DEPOT, recordedAt: iso(began), attributes: { batteryPercent: 20, driverCard: "0000A1B2", alarm: "powerCut" } },
    {
      ...DEPOT, recordedAt: iso(began + MINUTE_MS), ignition: true, odometerKm: 120_345.6, altitudeMeters: 31, accuracyMeters: 4,
      attributes: {
        batteryPercent: 87, batteryVolts: 4.1, charging: false, externalVolts: 13.84, satellites: 11, hdop: 0.9, inputs: [true, false],
        temperatureCelsius: [-18.5, 4], engineRpm: 1850, coolantCelsius: 88,
        door: "<img src=x onerror=\"document.title='broken in'\">", constructor: 7, __proto__x: "\u202egnirts", [long]: 1_700_000_000, io239: true,
      },
    },
  ]);
  const page = await stage.page({ locale: "en-GB", timezoneId: ZONE });
  await signIn(page, fleet);
  await visit(page, `#/live/${van.id}`);
  const part = page.locator(".reported");
  const said = async () => Object.fromEntries(await part.locator("[data-reported]").evaluateAll((all) => all.map((one) => [one.dataset.reported, one.querySelector("dd bdi").textContent])));
  await part.waitFor();
  assert.deepEqual(await said(), {
    alarm: "Power cut", ignition: "on", odometerKm: "120,345.6 km", externalVolts: "13.84 V", batteryPercent: "87 %", batteryVolts: "4.1 V", charging: "no",
    temperatureCelsius: "-18.5 °C, 4 °C", inputs: "1 on, 2 off", driverCard: "0000A1B2", engineRpm: "1,850 rpm", coolantCelsius: "88 °C", satellites: "11",
    hdop: "0.9", accuracyMeters: "± 4 m", altitudeMeters: "31 m",
    __proto__x: "\u202egnirts", constructor: "7", door: "<img src=x onerror=\"document.title='broken in'\">", io239: "yes", [long]: "1700000000",
  });
  assert.equal(await part.locator("[data-reported=batteryPercent] time").count(), 0, "of the newest fix, whose time stands above");
  assert.equal(await part.locator("[data-reported=driverCard] time").getAttribute("datetime"), iso(began), "older ones with their own");
  assert.equal(await part.locator("img").count(), 0);
  const panel = region(page, "Van").locator(".panel-body");
  assert.equal(await panel.evaluate((element) => element.scrollWidth > element.clientWidth), false, "a long name makes nothing wider");
  await picture(page, "vehicle-reported");

  // what comes later is shown without a reload
  await van.at(59.3, 18, { attributes: { batteryPercent: 86 } });
  await part.locator("[data-reported=batteryPercent]").getByText("86 %").waitFor();
  await fleet.set({ units: "imperial" });
  await part.locator("[data-reported=coolantCelsius]").getByText("190.4 °F").waitFor();

  await visit(page, `#/live/${silent.id}`);
  await region(page, "Plain").getByRole("heading", { name: "Fuel" }).waitFor();
  assert.equal(await part.count(), 0, "nothing where nothing is reported");
  assert.deepEqual(page.faults, []);
});
