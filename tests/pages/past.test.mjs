// Live's clock dragged back: everybody as of then, who was inside what, in an address that shows a colleague the same; and back to now.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Fleet, eventually, hasMap, isLive, setUp, signIn, visit } from "./harness/index.mjs";

const DEPOT = { latitude: 59.33, longitude: 18.06 };
const OUTSIDE = { latitude: 59.34, longitude: 18.06 };

const stage = setUp();

const region = (page, name) => page.getByRole("region", { name, exact: true });
const row = (page, name) => region(page, "Vehicles").getByRole("row", { name });
const slider = (page) => page.getByRole("slider", { name: "Time of day" });
/** Noon of the day before yesterday, in every zone a day that is over. */
const noon = () => Math.floor(Date.now() / 86_400_000) * 86_400_000 - 36 * 3_600_000;

/** Where the map draws a vehicle: degrees. */
const drawnAt = (page, id) => page.evaluate((vehicle) => document.querySelector(".map").fleetMap.whereIs(vehicle), id);

test("the clock goes back to any second, a link shows a colleague the same, and now is one click away", async () => {
  const fleet = await Fleet.make(stage.server);
  await fleet.circle("Depot", DEPOT, 300);
  const [bus, late] = [await fleet.vehicle("Bus 7"), await fleet.vehicle("Bus 8")];
  const driver = await fleet.admin.post("/v1/drivers", { firstName: "Astrid", lastName: "Lind" });
  const start = noon();
  const at = (minutes) => new Date(start + minutes * 60_000).toISOString();
  await fleet.admin.post(`/v1/drivers/${driver.id}/assign-vehicle`, { vehicleId: bus.id, startedAt: at(-60) });
  await bus.report([
    { ...OUTSIDE, speedKmh: 0, recordedAt: at(0) }, { ...DEPOT, speedKmh: 40, recordedAt: at(10) }, { ...DEPOT, speedKmh: 40, recordedAt: at(11) },
    { ...OUTSIDE, speedKmh: 0, recordedAt: at(20) },
  ]);
  await late.report([{ ...OUTSIDE, longitude: 18.1, recordedAt: at(15) }]);
  await bus.at(59.4, 18.2, { speedKmh: 0 });
  const page = await stage.page({ timezoneId: "UTC" });
  await signIn(page, fleet);
  await isLive(page);
  await hasMap(page);
  await row(page, "Bus 7").getByText("Stopped").waitFor();

  await page.getByRole("button", { name: "Go back in time" }).click();
  await page.getByLabel("Day", { exact: true }).fill(at(0).slice(0, 10));
  await region(page, "Inside then").waitFor();
  // noon and eleven minutes
  await slider(page).fill(String(12 * 3600 + 11 * 60));
  await row(page, "Bus 7").getByText("Moving").waitFor();
  await region(page, "Inside then").getByRole("link", { name: "Bus 7" }).waitFor();
  assert.equal(await row(page, "Bus 8").count(), 0, "it had not reported yet");
  assert.equal(await region(page, "Events").count(), 0, "what happens now is not of then");
  await eventually(async () => assert.deepEqual((await drawnAt(page, bus.id)).map((degrees) => degrees.toFixed(4)), ["18.0600", "59.3300"]));
  assert.match(page.url(), new RegExp(`at=${at(11).replace(".000Z", "Z")}`));

  await row(page, "Bus 7").getByRole("link").click();
  const panel = region(page, "Bus 7");
  await panel.getByText("40 km/h").waitFor();
  await panel.getByText("Astrid Lind").waitFor();
  await panel.getByText("Depot").waitFor();
  const link = page.url();
  await slider(page).press("ArrowRight");
  await eventually(async () => assert.match(page.url(), /12:11:01Z/));

  const colleague = await stage.page({ timezoneId: "UTC" });
  await signIn(colleague, await fleet.person("viewer"));
  await colleague.goto(link);
  await region(colleague, "Bus 7").getByText("40 km/h").waitFor();
  await row(colleague, "Bus 7").getByText("Moving").waitFor();

  await page.getByRole("button", { name: "Back to now" }).click();
  await row(page, "Bus 8").waitFor();
  await eventually(async () => assert.deepEqual((await drawnAt(page, bus.id)).map((degrees) => degrees.toFixed(1)), ["18.2", "59.4"]));
  assert.doesNotMatch(page.url(), /at=/);
  for (const one of [page, colleague]) {
    assert.deepEqual(one.faults, []);
    assert.deepEqual(one.foreign, []);
  }
});

test("of moments that a hand passes by only the last is shown, however late the others are answered", async () => {
  const fleet = await Fleet.make(stage.server);
  const bus = await fleet.vehicle("Bus 7");
  const start = noon();
  await bus.report([0, 10, 20].map((minutes) => ({ ...DEPOT, longitude: 18 + minutes / 100, recordedAt: new Date(start + minutes * 60_000).toISOString() })));
  const page = await stage.page({ timezoneId: "UTC" });
  await signIn(page, fleet);
  await isLive(page);
  await hasMap(page);
  let answer;
  const isHeld = new Promise((resolve) => { answer = resolve; });
  await page.route(/asOf=[^&]*T12%3A01/, async (route) => {
    await isHeld;
    // whoever asked may be gone
    await route.continue().catch(() => {});
  });
  const isAsked = page.waitForRequest(/asOf=[^&]*T12%3A01/);
  await page.goto(`/#/live?at=${new Date(start + 60_000).toISOString()}`);
  await isAsked;
  await slider(page).fill(String(12 * 3600 + 12 * 60));
  await eventually(async () => assert.equal((await drawnAt(page, bus.id))?.[0].toFixed(2), "18.10"));
  answer();
  await eventually(async () => assert.equal(await page.getByRole("group", { name: "Moment shown" }).getByText("Loading").count(), 0));
  assert.equal((await drawnAt(page, bus.id))[0].toFixed(2), "18.10");
  assert.deepEqual(page.faults, []);
});

test("where the computer's clock is two days behind, moments, days and times are the server's all the same", async () => {
  const fleet = await Fleet.make(stage.server);
  const bus = await fleet.vehicle("Bus 7", { fuel: { kind: "diesel", tankCapacityLiters: 100 } });
  await bus.at(59.33, 18.06, { fuel: { liters: 50 } });
  const page = await stage.page();
  await page.addInitScript(() => {
    const real = Date.now;
    Date.now = () => real() - 2 * 86_400_000;
  });
  await signIn(page, fleet);
  await page.getByText("This computer's clock is").waitFor();
  const asked = [];
  page.on("request", (request) => { if (request.url().includes("/v1/fuel/chart")) asked.push(Date.parse(new URL(request.url()).searchParams.get("to"))); });
  await visit(page, `#/live/${bus.id}`);
  await eventually(async () => assert.ok(Math.abs(asked.at(-1) - Date.now()) < 60_000, "the chart goes up to now"));
  await visit(page, `#/replay/${bus.id}`);
  const { settings } = await fleet.admin.get(`/v1/organizations/organization/${fleet.organization.id}`);
  const today = new Intl.DateTimeFormat("en-CA", { timeZone: settings.timezone, dateStyle: "short" }).format(new Date());
  await eventually(async () => assert.equal(await page.locator("input[type=date]").inputValue(), today));
  const at = new Date(Math.floor(Date.now() / 1000) * 1000 - 3_600_000).toISOString();
  await page.goto("about:blank");
  await page.goto(`/#/live?at=${at}`);
  await page.locator(".map-moment").waitFor();
  assert.deepEqual(page.faults, []);
});
