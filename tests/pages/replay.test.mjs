// A vehicle's day once more.
//
// WAYPOST_TEST_FIXES=86400 loads a day at a fix a second; the time is printed.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

import { Fleet, eventually, hasMap, picture, setUp, signIn } from "./harness/index.mjs";

const FIXES = Number(process.env.WAYPOST_TEST_FIXES ?? 3600);
const PER_REQUEST = 500;

const stage = setUp();

/** Yesterday in the browser's zone, which is this process's: its date and its first instant. */
function yesterday() {
  const start = new Date();
  start.setHours(0, 0, 0, 0);
  start.setDate(start.getDate() - 1);
  const two = (number) => String(number).padStart(2, "0");
  return { day: `${start.getFullYear()}-${two(start.getMonth() + 1)}-${two(start.getDate())}`, start: start.getTime() };
}

/** There and back along a street, at rest for five minutes in the middle. */
function drive(start, count) {
  const half = count / 2;
  return Array.from({ length: count }, (_, second) => {
    const way = second < half - 150 ? second : second > half + 150 ? count - second : half - 150;
    const isResting = Math.abs(second - half) <= 150;
    return {
      recordedAt: new Date(start + second * 1000).toISOString(),
      latitude: 59.3, longitude: 18 + (way / half) * 0.2, speedKmh: isResting ? 0 : 30, headingDegrees: second < half ? 90 : 270,
    };
  });
}

test("a day is replayed, with its stops and fences, and saved as GPX", async () => {
  const fleet = await Fleet.make(stage.server);
  await fleet.circle("Depot", { latitude: 59.3, longitude: 18.1 }, 300);
  const bus = await fleet.vehicle("Bus 7");
  const { day, start } = yesterday();
  const fixes = drive(start + 60_000, FIXES - 120);
  for (let from = 0; from < fixes.length; from += PER_REQUEST) await bus.report(fixes.slice(from, from + PER_REQUEST));

  const page = await stage.page({ acceptDownloads: true });
  await signIn(page, fleet);
  const began = performance.now();
  await page.goto(`/#/replay/${bus.id}?day=${day}`);
  await page.locator("[data-replay=ready]").waitFor();
  console.log(`${fixes.length} fixes open in ${((performance.now() - began) / 1000).toFixed(1)} s`);
  assert.equal(await page.locator("[data-replay=ready]").getAttribute("data-fixes"), String(fixes.length));
  await page.locator("[data-map=ready]").waitFor();
  assert.equal(await page.getByText("Loading the map").count(), 0);

  const { data } = await fleet.admin.get(`/v1/geofence-events?vehicleId=${bus.id}&sort=occurredAt`);
  assert.deepEqual(data.map(({ type }) => type), ["entry", "exit", "entry", "exit"]);
  const happened = page.getByRole("region", { name: "What happened" });
  await eventually(async () => assert.deepEqual(await happened.locator("li span").allInnerTexts(), ["Entered Depot", "Left Depot", "Stopped for 5 min", "Entered Depot", "Left Depot"]));

  const clock = page.locator(".replay-moment time");
  const first = await clock.getAttribute("datetime");
  await happened.getByRole("button", { name: /Stopped/ }).click();
  const standing = await eventually(async () => {
    const moment = await clock.getAttribute("datetime");
    assert.notEqual(moment, first);
    return moment;
  });
  await page.getByLabel("Speed").selectOption("60");
  await page.getByRole("button", { name: "Play" }).click();
  await page.waitForFunction((before) => Date.parse(document.querySelector(".replay-moment time").dateTime) - Date.parse(before) > 60_000, standing);
  await page.getByRole("button", { name: "Pause" }).click();
  await hasMap(page);

  // a link to a moment opens there
  await page.goto(`/#/replay/${bus.id}?at=${data[0].occurredAt}`);
  await page.waitForFunction((at) => document.querySelector(".replay-moment time")?.dateTime === at, data[0].occurredAt);
  await picture(page, "replay-light");

  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download GPX" }).click()]);
  assert.equal(file.suggestedFilename(), `Bus 7 ${day}.gpx`);
  const text = await readFile(await file.path(), "utf8");
  assert.equal(text.match(/<trkpt /g).length, fixes.length);
  assert.ok(text.includes(`<time>${fixes[0].recordedAt}</time>`));
  assert.deepEqual(page.faults, []);
});

test("stops are those of the vehicle's day, also with a silence in them, and who says no speed is not said to stand", async () => {
  const fleet = await Fleet.make(stage.server);
  const bus = await fleet.vehicle("Bus 8");
  const { day, start } = yesterday();
  const began = start + 8 * 3_600_000;
  const fix = (minutes, longitude) => ({ recordedAt: new Date(began + minutes * 60_000).toISOString(), latitude: 59.3, longitude });
  const way = (from, longitude, step) => Array.from({ length: 21 }, (_, half) => fix(from + half / 2, longitude + half * step));
  // ten minutes there, a halt with half an hour of silence in it, ten minutes on, and then nothing for three hours
  await bus.report([...way(0, 18, 0.005), ...[11, 12, 13, 14, 15, 45, 46, 47].map((minutes) => fix(minutes, 18.1)), ...way(48, 18.1, 0.005), fix(240, 18.4)]);
  const { data: stops } = await fleet.admin.get(`/v1/stops?vehicleId=${bus.id}&sort=occurredAt`);
  assert.ok(stops.length > 0);

  const page = await stage.page();
  await signIn(page, fleet);
  await page.goto(`/#/replay/${bus.id}?day=${day}`);
  await hasMap(page);
  const told = page.getByRole("region", { name: "What happened" }).locator("li[data-kind=stop]");
  const minutes = ({ startedAt, endedAt }) => (endedAt ? `Stopped for ${Math.floor((Date.parse(endedAt) - Date.parse(startedAt)) / 60_000)} min` : "Stopped, and did not go on yet");
  await eventually(async () => assert.deepEqual(await told.locator("button span").allInnerTexts(), stops.map(minutes)));

  const at = async (minutes) => {
    await page.goto(`/#/replay/${bus.id}?day=${day}&at=${new Date(began + minutes * 60_000).toISOString()}`);
    await page.waitForFunction((wanted) => document.querySelector(".replay-moment time")?.dateTime === wanted, new Date(began + minutes * 60_000).toISOString());
    return page.locator(".replay-moment span").innerText();
  };
  // 0.005 degrees of longitude in half a minute are 34 km/h here
  assert.match(await at(5), /^3[45] km\/h$/);
  assert.equal(await at(14), "0 km/h");
  assert.equal(await at(240), "", "behind a silence nobody knows");
  assert.deepEqual(page.faults, []);
});

test("of a day with more crossings than the server gives at once all are told", async () => {
  const fleet = await Fleet.make(stage.server);
  const depot = { latitude: 59.3, longitude: 18 };
  await fleet.circle("Depot", depot, 200);
  const bus = await fleet.vehicle("Bus 9");
  const { day, start } = yesterday();
  const fixes = Array.from({ length: 212 }, (_, minute) => ({
    ...depot, latitude: depot.latitude + (minute % 2) * 0.005, speedKmh: 33, recordedAt: new Date(start + (60 + minute) * 60_000).toISOString(),
  }));
  await bus.report(fixes);
  await eventually(async () => {
    const { data: [last] } = await fleet.admin.get(`/v1/geofence-events?vehicleId=${bus.id}&sort=-occurredAt&limit=1`);
    assert.ok(last?.occurredAt > fixes.at(-2).recordedAt, "all of them are found");
  });

  const page = await stage.page();
  await signIn(page, fleet);
  await page.goto(`/#/replay/${bus.id}?day=${day}`);
  await page.locator("[data-replay=ready]").waitFor();
  const told = page.getByRole("region", { name: "What happened" }).getByText(/^(Entered|Left) Depot$/);
  await eventually(async () => assert.ok((await told.count()) > 0));
  assert.ok(Math.abs((await told.count()) - fixes.length) <= 1, `${await told.count()}`);
  assert.deepEqual(page.faults, []);
});

test("a way over the antimeridian does not lead around the world, neither its line nor what is said of it", async () => {
  const fleet = await Fleet.make(stage.server);
  const ferry = await fleet.vehicle("Ferry");
  const { day, start } = yesterday();
  // 40 km in an hour, from 179.8° to -179.82°
  await ferry.report(Array.from({ length: 61 }, (_, minute) => {
    const longitude = 179.8 + minute * 0.0063;
    return { recordedAt: new Date(start + (600 + minute) * 60_000).toISOString(), latitude: -17, longitude: Number((longitude > 180 ? longitude - 360 : longitude).toFixed(4)), speedKmh: 40 };
  }));
  const page = await stage.page();
  await signIn(page, fleet);
  await page.goto(`/#/replay/${ferry.id}?day=${day}`);
  await hasMap(page);
  const map = page.locator(".map");
  const line = await map.evaluate(async ({ fleetMap }) => (await fleetMap.map.getSource("trail").getData()).geometry.coordinates.map(([longitude]) => longitude));
  assert.ok(Math.max(...line) - Math.min(...line) < 1, `${Math.min(...line)} to ${Math.max(...line)}`);
  const width = await map.evaluate(({ fleetMap }) => fleetMap.map.getBounds().getEast() - fleetMap.map.getBounds().getWest());
  assert.ok(width < 2, `${width} degrees are shown`);
  assert.match(await page.locator(".replay-day").innerText(), /\b40(\.\d)? km\b/);
  // in the middle of a minute in which it crosses
  await page.goto(`/#/replay/${ferry.id}?day=${day}&at=${new Date(start + (631 * 60 + 45) * 1000).toISOString()}`);
  await eventually(async () => {
    const [longitude] = await map.evaluate(({ fleetMap }, id) => fleetMap.whereIs(id), ferry.id);
    assert.ok(Math.abs(Math.abs(longitude) - 180) < 0.1, `${longitude}`);
  });
  assert.deepEqual(page.faults, []);
});
