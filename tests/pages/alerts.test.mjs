// Attention: what asks for it stands above the vehicles and in the title, for all who share it, until somebody has seen to it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { ADMIN, Fleet, PASSWORD, eventually, findings, isLive, isSettled, setUp, signIn } from "./harness/index.mjs";

const DEPOT = { latitude: 59.33, longitude: 18.06 };
const OUTSIDE = { latitude: 59.34, longitude: 18.06 };
const MINUTE_MS = 60_000;

const stage = setUp();

const region = (page, name) => page.getByRole("region", { name, exact: true });
const ago = (minutes) => new Date(Date.now() - minutes * MINUTE_MS).toISOString();

test("a stay that is too long asks two dispatchers, one of whom has seen it, until it ends", async () => {
  const fleet = await Fleet.make(stage.server);
  const depot = await fleet.circle("Depot", DEPOT, 300);
  await fleet.admin.put(`/v1/geofences/${depot.id}`, { rules: { dwellAfterSeconds: 600 }, effectiveFrom: null });
  const bus = await fleet.vehicle("Bus 7");
  const driver = await fleet.admin.post("/v1/drivers", { firstName: "Astrid", lastName: "Lind", phone: "+46 70 123" });
  await fleet.admin.post(`/v1/drivers/${driver.id}/assign-vehicle`, { vehicleId: bus.id, startedAt: ago(600) });
  const [one, other] = [await stage.page(), await stage.page()];
  await signIn(one, fleet);
  await signIn(other, fleet);
  await isLive(one);
  await isLive(other);
  await region(one, "Attention").getByText("Nothing", { exact: true }).waitFor();
  const earlier = (page) => region(page, "Attention").getByRole("button", { name: "Earlier alerts" });
  await earlier(one).click();
  await region(one, "Earlier alerts").getByText("There was none yet.").waitFor();
  const title = await one.title();

  const report = (minutes, place) => bus.report([{ ...place, speedKmh: 20, recordedAt: ago(minutes) }]);
  await report(60, OUTSIDE);
  for (const minutes of [50, 45, 40, 35]) await report(minutes, DEPOT);
  const { data: [alert] } = await fleet.admin.get("/v1/alerts?open=true");
  assert.equal(alert.rule, "dwell");
  for (const page of [one, other]) {
    const row = region(page, "Attention").getByRole("listitem");
    await row.getByText("In a fence for too long").waitFor();
    assert.match(await row.innerText(), /Bus 7 In a fence for too long Depot/);
    await row.locator(`time[datetime="${alert.startedAt}"]`).waitFor();
    assert.equal(await row.getByRole("link", { name: "Call Astrid Lind" }).getAttribute("href"), "tel:+4670123");
    await eventually(async () => assert.equal(await page.title(), `(1) ${title}`));
  }

  await region(one, "Attention").getByRole("button", { name: "Seen: In a fence for too long, Bus 7" }).click();
  for (const page of [one, other]) {
    await region(page, "Attention").getByText(/seen by/).waitFor();
    await eventually(async () => assert.equal(await page.title(), title, "nobody need look"));
  }
  assert.equal(await region(other, "Attention").getByRole("button", { name: /^Seen/ }).count(), 0);

  await region(other, "Attention").getByRole("button", { name: /^Ask again in an hour/ }).click();
  for (const page of [one, other]) await region(page, "Attention").getByText("Nothing", { exact: true }).waitFor();
  const past = (page) => region(page, "Earlier alerts").getByRole("listitem");
  await past(one).getByText("put off until").waitFor();
  const { data: [snoozed] } = await fleet.admin.get("/v1/alerts");
  assert.ok(Math.abs(Date.parse(snoozed.snoozedUntil) - Date.now() - 60 * MINUTE_MS) < 2 * MINUTE_MS, snoozed.snoozedUntil);
  await fleet.admin.post(`/v1/alerts/${alert.id}/snooze`, { until: ago(0) });
  for (const page of [one, other]) await region(page, "Attention").getByText(/seen by/).waitFor();

  await eventually(async () => assert.equal(await past(one).count(), 0, "it asks again"));

  await report(5, OUTSIDE);
  await earlier(other).click();
  const { data: [ended] } = await fleet.admin.get("/v1/alerts");
  for (const page of [one, other]) {
    await region(page, "Attention").getByText("Nothing", { exact: true }).waitFor();
    await past(page).locator(`time[datetime="${ended.endedAt}"]`).waitFor();
    assert.match(await past(page).innerText(), /Bus 7 In a fence for too long Depot.*seen by/s);
    assert.equal(await past(page).getByRole("button").count(), 0, "nothing is left to be done");
    assert.deepEqual(await findings(page), [], "axe");
    assert.deepEqual(page.faults, []);
    assert.deepEqual(page.foreign, []);
  }
});

/** Counts what a page rings and notifies, in place of the system's own; `page.calls` has what it did. */
async function listenIn(page) {
  await page.addInitScript(() => {
    window.calls = { notes: 0, notified: [] };
    class Tone {
      frequency = {};
      gain = { setValueAtTime() {}, exponentialRampToValueAtTime() {} };
      connect(next) { return next; }
      start() { window.calls.notes += 1; }
      stop() {}
    }
    window.AudioContext = class {
      currentTime = 0;
      destination = {};
      resume() { return Promise.resolve(); }
      createOscillator() { return new Tone(); }
      createGain() { return new Tone(); }
    };
    window.Notification = class {
      static permission = "granted";
      static requestPermission = async () => "granted";
      constructor(title, { body }) { window.calls.notified.push(`${title}: ${body}`); }
      // as in Chrome, where one that is closed before it was shown is shown all the same
      close() {}
    };
  });
  return () => page.evaluate(() => window.calls);
}

/** A fleet whose only vehicle has been in a fence for too long, so many times. */
async function stayed(times) {
  const fleet = await Fleet.make(stage.server);
  const depot = await fleet.circle("Depot", DEPOT, 300);
  await fleet.admin.put(`/v1/geofences/${depot.id}`, { rules: { dwellAfterSeconds: 600 }, effectiveFrom: null });
  const bus = await fleet.vehicle("Bus 9");
  const stays = Array.from({ length: times }, (_, stay) => [0, 5, 10, 15].map((minute) => ({
    ...(minute === 15 ? OUTSIDE : DEPOT), speedKmh: 20, recordedAt: ago(times * 20 - stay * 20 - minute),
  })));
  await bus.report(stays.flat());
  return fleet;
}

/** The page of somebody who has opened the earlier alerts, and their region. */
async function earlierAlerts(fleet) {
  const page = await stage.page();
  await signIn(page, fleet);
  await region(page, "Attention").getByRole("button", { name: "Earlier alerts" }).click();
  return [page, region(page, "Earlier alerts")];
}

test("of many past alerts the older ones are a click away", async () => {
  const [page, past] = await earlierAlerts(await stayed(22));
  await eventually(async () => assert.equal(await past.getByRole("listitem").count(), 20));
  await past.getByRole("button", { name: "Older" }).click();
  await eventually(async () => assert.equal(await past.getByRole("listitem").count(), 22));
  assert.equal(await past.getByRole("button", { name: "Older" }).count(), 0);
  assert.deepEqual(page.faults, []);
});

test("behind as many past alerts as are shown at once there is none to click for", async () => {
  const [page, past] = await earlierAlerts(await stayed(20));
  await eventually(async () => assert.equal(await past.getByRole("listitem").count(), 20));
  assert.equal(await past.getByRole("button", { name: "Older" }).count(), 0);
  assert.deepEqual(page.faults, []);
});

/** A vehicle is too fast for two minutes. */
async function speed(vehicle) {
  const began = Date.now() - 5 * MINUTE_MS;
  for (let seconds = 0; seconds <= 120; seconds += 10) {
    await vehicle.report([{ latitude: 59.33 + seconds * 0.0003, longitude: 18.06, speedKmh: 110, recordedAt: new Date(began + seconds * 1000).toISOString() }]);
  }
}

test("a new alert rings and notifies where somebody chose so, and nowhere else", async () => {
  const fleet = await Fleet.make(stage.server);
  const bus = await fleet.vehicle("Bus 8", { tracking: { maxSpeedKmh: null, overspeedKmh: 50 } });
  const [one, other] = [await stage.page(), await stage.page()];
  const [calls, others] = [await listenIn(one), await listenIn(other)];
  await signIn(one, fleet);
  await signIn(other, fleet);
  await one.getByRole("link", { name: "Ada" }).click();
  await one.getByRole("checkbox", { name: "Rings" }).check();
  await one.getByRole("checkbox", { name: "Is a notification of the system" }).check();
  assert.deepEqual(await calls(), { notes: 2, notified: [] }, "what it sounds like");
  await one.reload();
  await isLive(one);
  assert.ok(await one.getByRole("checkbox", { name: "Rings" }).isChecked(), "it is kept");

  await speed(bus);
  await eventually(async () => assert.match(await other.title(), /^\(1\)/));
  await eventually(async () => assert.deepEqual(await calls(), { notes: 2, notified: ["Speeding: Bus 8"] }));
  assert.deepEqual(await others(), { notes: 0, notified: [] });
  await one.reload();
  await isLive(one);
  await eventually(async () => assert.match(await one.title(), /^\(1\)/));
  assert.deepEqual(await calls(), { notes: 0, notified: [] }, "what is known already calls nobody");
  assert.deepEqual(one.faults, []);
});

test("of more than fifty alerts the urgent one stands first though it is the oldest, and none of the old ones rings as new", async () => {
  const fleet = await Fleet.make(stage.server);
  const depot = await fleet.circle("Depot", DEPOT, 300);
  await fleet.admin.put(`/v1/geofences/${depot.id}`, { rules: { dwellAfterSeconds: 600 }, effectiveFrom: null });
  const fast = await fleet.vehicle("Fast", { tracking: { maxSpeedKmh: null, overspeedKmh: 50 } });
  await fast.report(Array.from({ length: 13 }, (_, index) => ({
    latitude: 59.4 + index * 0.003, longitude: 18.06, speedKmh: 110, recordedAt: new Date(Date.now() - 100 * MINUTE_MS + index * 10_000).toISOString(),
  })));
  const stay = (bus) => bus.report([50, 45, 40, 35].map((minutes) => ({ ...DEPOT, speedKmh: 0, recordedAt: ago(minutes) })));
  const buses = await fleet.vehicles(55);
  await Promise.all(buses.map(stay));
  const page = await stage.page();
  const calls = await listenIn(page);
  await page.addInitScript(() => localStorage.setItem("waypost.alerts.sound", "on"));
  await signIn(page, fleet);
  await eventually(async () => assert.match(await page.title(), /^\(56\)/));
  assert.match(await region(page, "Attention").getByRole("listitem").first().innerText(), /Fast Speeding/);
  const { data: [newest] } = await fleet.admin.get("/v1/alerts?open=true&limit=1");
  await fleet.admin.post(`/v1/alerts/${newest.id}/snooze`, { until: ago(-60) });
  await eventually(async () => assert.match(await page.title(), /^\(55\)/));
  assert.equal((await calls()).notes, 0);
  await stay(await fleet.vehicle("Bus 99"));
  await eventually(async () => assert.match(await page.title(), /^\(56\)/));
  assert.equal((await calls()).notes, 2);
  assert.deepEqual(page.faults, []);
});

test("where pages can make no notification, as on Android, none is offered, and an alert is shown and rings as elsewhere", async () => {
  const fleet = await Fleet.make(stage.server);
  const bus = await fleet.vehicle("Bus 9", { tracking: { maxSpeedKmh: null, overspeedKmh: 50 } });
  const page = await stage.page();
  const calls = await listenIn(page);
  await page.addInitScript(() => {
    window.Notification = class {
      static permission = "granted";
      static requestPermission = async () => {
        window.calls.asked = true;
        return "granted";
      };
      constructor() { throw new TypeError("Failed to construct 'Notification': Illegal constructor."); }
    };
    // chosen before, when it seemed to work
    if (!localStorage.getItem("waypost.alerts.notification")) localStorage.setItem("waypost.alerts.notification", "on");
  });
  await signIn(page, fleet);
  await page.getByRole("link", { name: "Ada" }).click();
  await page.getByRole("checkbox", { name: "Rings" }).check();
  await speed(bus);
  await eventually(async () => assert.match(await page.title(), /^\(1\)/));
  await eventually(async () => assert.equal((await calls()).notes, 4));
  await isSettled(page);
  assert.equal(await page.locator(".notice").count(), 0, "it is no fault of the network");
  const box = page.getByRole("checkbox", { name: "Is a notification of the system" });
  assert.equal(await box.isChecked(), false, "what does not work is not kept");
  await page.evaluate(() => { Notification.permission = "default"; });
  await box.click();
  await page.getByText("This browser does not let the page notify").waitFor();
  assert.equal(await box.isChecked(), false);
  assert.equal((await calls()).asked, undefined, "nobody is asked to allow what cannot be");
  assert.deepEqual(page.faults, []);
});

/** Answers the page's questions for alerts as if there were so many, the oldest of them the only drain; `asked` has the places of its slices. */
async function pretend(page, total, vehicle) {
  const asked = [];
  await page.route(({ pathname, searchParams }) => pathname === "/v1/alerts" && searchParams.get("open") === "true", (route) => {
    const query = new URL(route.request().url()).searchParams;
    const [from, limit] = [Number(query.get("after") ?? 0), Number(query.get("limit"))];
    asked.push(from);
    const data = Array.from({ length: Math.min(limit, total - from) }, (_, index) => {
      const startedAt = ago(60 + (from + index) / 100);
      const rule = from + index === total - 1 ? "drain" : "dwell";
      return {
        id: `alert-${from + index}`, type: "alert", rule, status: "active", open: true, revision: 1, sequence: total - from - index, origin: "live", organizationId: "o", causeId: `cause-${from + index}`,
        vehicleId: vehicle.id, vehicleName: vehicle.name, vehicleIds: [vehicle.id], startedAt, detectedAt: startedAt, geofenceName: "Depot", volumeLiters: rule === "drain" ? 40 : null,
      };
    });
    return route.fulfill({ json: { data, pagination: { hasNextPage: from + limit < total, endCursor: String(from + data.length) } } });
  });
  return asked;
}

for (const [total, said, more] of [[700, "700", "500 more, less urgent"], [10_000, "10,000", "9,800 more, less urgent"], [10_001, "10,000+", "9,800+ more, less urgent"]]) {
  test(`of ${total} open alerts all are counted up to ten thousand, and the most urgent are shown`, async () => {
    const fleet = await Fleet.make(stage.server);
    await fleet.set({ locale: "en-US" });
    const bus = await fleet.vehicle("Bus 7");
    const page = await stage.page();
    const asked = await pretend(page, total, bus);
    await signIn(page, fleet);
    const attention = region(page, "Attention");
    await attention.getByText(said, { exact: true }).waitFor();
    await eventually(async () => assert.ok((await page.title()).startsWith(`(${said}) `), await page.title()));
    assert.equal(await attention.getByRole("listitem").count(), 200);
    await attention.getByText(more).waitFor();
    if (total <= 10_000) assert.match(await attention.getByRole("listitem").first().innerText(), /Bus 7 Drain/);
    assert.ok(asked.every((from) => from < 10_000), "no more than are counted are asked for");
    assert.deepEqual(page.faults, []);
  });
}

test("what is done with an alert takes nothing from the alerts of another organization that are asked for meanwhile", async () => {
  const [fleet, others] = [await Fleet.make(stage.server), await Fleet.make(stage.server)];
  const bus = await fleet.vehicle("Bus 8", { tracking: { maxSpeedKmh: null, overspeedKmh: 50 } });
  await speed(bus);
  const page = await stage.page();
  await page.addInitScript((id) => { if (!localStorage.getItem("waypost.organization")) localStorage.setItem("waypost.organization", id); }, fleet.organization.id);
  await signIn(page, { email: ADMIN, password: PASSWORD });
  const attention = region(page, "Attention");
  await attention.getByRole("button", { name: /^Seen/ }).waitFor();
  const gates = { done: gate(), found: gate() };
  await page.route(({ pathname }) => pathname.endsWith("/acknowledge"), async (route) => {
    await gates.done.isOpen;
    await route.continue();
  });
  await page.route(({ pathname, searchParams }) => pathname === "/v1/alerts" && searchParams.get("organizationId") === others.organization.id, async (route) => {
    await gates.found.isOpen;
    await route.continue();
  });
  const isDone = page.waitForResponse((answer) => answer.url().includes("/acknowledge"));
  await attention.getByRole("button", { name: /^Seen/ }).click();
  const isAsked = page.waitForRequest((request) => request.url().includes("/v1/alerts?") && request.url().includes(others.organization.id));
  await page.getByLabel("Organization", { exact: true }).selectOption(others.organization.id);
  await isAsked;
  gates.done.open();
  await (await isDone).finished();
  // what the page does with that answer is done
  await page.evaluate(() => new Promise((tell) => { setTimeout(tell, 0); }));
  gates.found.open();
  // far sooner than they are asked for again of themselves
  await attention.getByText("Nothing", { exact: true }).waitFor({ timeout: 30_000 });
  assert.deepEqual(page.faults, []);
});

test("an answer from before something was done with an alert does not take that back", async () => {
  const fleet = await Fleet.make(stage.server);
  const tracking = { maxSpeedKmh: null, overspeedKmh: 50 };
  const [bus, tram] = [await fleet.vehicle("Bus 8", { tracking }), await fleet.vehicle("Tram 7", { tracking })];
  await speed(bus);
  const page = await stage.page();
  await signIn(page, fleet);
  const attention = region(page, "Attention");
  const seen = attention.getByRole("button", { name: /^Seen.*Bus 8/ });
  await seen.waitFor();
  await isSettled(page);
  const held = [];
  const isOpenAlerts = ({ pathname, searchParams }) => pathname === "/v1/alerts" && searchParams.get("open") === "true";
  await page.route(isOpenAlerts, async (route) => {
    const answer = await route.fetch();
    const holding = gate();
    held.push(holding);
    await holding.isOpen;
    // one that the page gave up, or that the end of the test let go
    await route.fulfill({ response: answer }).catch(() => {});
  });
  await speed(tram);
  await eventually(async () => assert.ok(held.length > 0));
  await seen.click();
  await attention.getByText(/seen by/).waitFor();
  held[0].open();
  // one question after the other: the answer to the first is taken in by the time of the second
  await eventually(async () => assert.ok(held.length > 1));
  assert.equal(await seen.count(), 0);
  await page.unroute(isOpenAlerts);
  held[1].open();
  await isSettled(page);
  assert.deepEqual(page.faults, []);
});

/** What waits for `isOpen` goes on once it is opened. */
function gate() {
  let open;
  const isOpen = new Promise((resolve) => { open = resolve; });
  return { isOpen, open };
}
