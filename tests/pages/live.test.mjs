// The pipe from a tracker to a dispatcher's eyes: everything the page says agrees with the interface, also after a cut.
//
// Times are printed. WAYPOST_TEST_STRICT=1 asserts them too (on a machine with nothing else to do), and
// WAYPOST_TEST_CUT_SECONDS=30 makes the cut as long as that.

import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { Fleet, Wire, eventually, hasMap, isLive, isSettled, picture, setUp, signIn, visit } from "./harness/index.mjs";

const DEPOT = { latitude: 59.33, longitude: 18.06 };
const OUTSIDE = { latitude: 59.34, longitude: 18.06, speedKmh: 40, headingDegrees: 180 };
const IS_STRICT = process.env.WAYPOST_TEST_STRICT === "1";
const CUT_SECONDS = Number(process.env.WAYPOST_TEST_CUT_SECONDS ?? 3);

const stage = setUp();

const pause = (milliseconds) => new Promise((after) => setTimeout(after, milliseconds));

/** How long something took; prints it, and holds it to a second where that was asked for. */
async function withinASecond(what, work) {
  const began = performance.now();
  const result = await work();
  const took = performance.now() - began;
  console.log(`${what}: ${took.toFixed(0)} ms`);
  if (IS_STRICT) assert.ok(took <= 1000, `${what} took ${took} ms`);
  return result;
}

const region = (page, name) => page.getByRole("region", { name, exact: true });

/** The vehicle that the map has drawn at a place, found as a click there would. */
const drawnAt = (page, { latitude, longitude }) => page.locator(".map").evaluate((element, place) => {
  const { x, y } = element.fleetMap.map.project(place);
  return element.fleetMap.vehicleAt(x, y);
}, [longitude, latitude]);

test("a bus enters a fence: map, list, feed and who is inside agree with the interface", async () => {
  const fleet = await Fleet.make(stage.server, "Ferries");
  const depot = await fleet.circle("Depot", DEPOT, 300);
  const bus = await fleet.vehicle("Bus 7");
  const page = await stage.page();
  await signIn(page, fleet);
  await region(page, "Vehicles").getByText("Waiting for the first position of Bus 7").waitFor();
  assert.equal(await region(page, "Vehicles").getByText("0 vehicles").count(), 0);
  await region(page, "Vehicles").getByText("1 has not reported yet").waitFor();
  await hasMap(page);

  const began = Date.now() - 120_000;
  await bus.report([{ ...OUTSIDE, recordedAt: new Date(began).toISOString() }]);
  await region(page, "Vehicles").getByRole("link", { name: "Bus 7" }).waitFor();
  await region(page, "Vehicles").getByText("1 vehicle", { exact: true }).waitFor();
  assert.equal(await region(page, "Vehicles").getByText("not reported yet").count(), 0);

  await withinASecond("from the acknowledgement of an entry to everything shown", async () => {
    await bus.report([{ ...OUTSIDE, ...DEPOT, recordedAt: new Date(began + 60_000).toISOString() }]);
    await Promise.all([
      region(page, "Inside now").getByText("Bus 7").waitFor(),
      region(page, "Events").getByText("Depot").waitFor(),
      page.waitForFunction(([id, { latitude, longitude }]) => {
        const [x, y] = document.querySelector(".map").fleetMap.whereIs(id) ?? [];
        return x === longitude && y === latitude;
      }, [bus.id, DEPOT]),
    ]);
  });
  await eventually(async () => assert.equal(await drawnAt(page, DEPOT), bus.id, "the map has drawn it there"));

  const { data: [stay] } = await fleet.admin.get(`/v1/geofence-events/geofence/${depot.id}/vehicles`);
  assert.equal(stay.vehicle.name, "Bus 7");
  await region(page, "Inside now").locator(`time[datetime="${stay.enteredAt}"]`).waitFor();
  const { data: [event] } = await fleet.admin.get("/v1/geofence-events");
  await region(page, "Events").locator(`li time[datetime="${event.occurredAt}"]`).waitFor();
  await picture(page, "live-light");
  assert.deepEqual(page.foreign, []);
  assert.deepEqual(page.faults, []);
});

test("who says no speed does not stand for that: it is seen, then moves as fast as its way says", async () => {
  const fleet = await Fleet.make(stage.server);
  const bus = await fleet.vehicle("Bus 7");
  const began = Date.now() - 150_000;
  const fix = (seconds) => bus.report([{ latitude: 59.3 + seconds * 0.0001, longitude: 18, recordedAt: new Date(began + seconds * 1000).toISOString() }]);
  await fix(0);
  const page = await stage.page();
  await signIn(page, fleet);
  const row = region(page, "Vehicles").getByRole("row", { name: /^Bus 7/ });
  await row.getByText("Seen", { exact: true }).waitFor();
  const filter = page.getByRole("group", { name: "Which vehicles" });
  await filter.getByRole("button", { name: "1 seen" }).click();
  await row.waitFor();
  await filter.getByRole("button", { name: "0 stopped" }).click();
  await row.waitFor({ state: "detached" });
  await filter.getByRole("button", { name: /^All/ }).click();
  for (const seconds of [40, 80, 120]) await fix(seconds);
  await row.getByText("Moving", { exact: true }).waitFor();
  // a ten-thousandth of a degree of latitude a second
  await row.getByText("40", { exact: true }).waitFor();
  assert.equal(await filter.getByRole("button", { name: /seen$/ }).count(), 0);
  assert.deepEqual(page.faults, []);
});

test("a vehicle's panel says what the interface says, and goes away again", async () => {
  const fleet = await Fleet.make(stage.server);
  await fleet.circle("Depot", DEPOT, 300);
  const bus = await fleet.vehicle("Bus 8");
  await bus.at(DEPOT.latitude, DEPOT.longitude, { speedKmh: 33, headingDegrees: 90 });
  const page = await stage.page();
  await signIn(page, fleet);
  await region(page, "Vehicles").getByRole("link", { name: "Bus 8" }).click();
  const panel = region(page, "Bus 8");
  for (const text of ["33 km/h", "E, 90°", "59.33000, 18.06000", "Nobody is assigned", "No fuel readings in this time"]) await panel.getByText(text).waitFor();
  await panel.getByRole("listitem").filter({ hasText: "Depot" }).first().waitFor();
  await panel.getByText("As curl").click();
  await panel.locator("pre").filter({ hasText: `/v1/vehicles/${bus.id}` }).waitFor();
  await page.keyboard.press("Escape");
  await region(page, "Events").waitFor();
  assert.deepEqual(page.faults, []);
});

test("a vehicle's fuel is a chart with what came in, also in words", async () => {
  const fleet = await Fleet.make(stage.server);
  const lorry = await fleet.vehicle("Lorry", { fuel: { kind: "diesel", tankCapacityLiters: 100 } });
  const began = Date.now() - 2 * 3_600_000;
  const level = (minute) => (minute < 40 ? 50 - minute * 0.05 : 88 - minute * 0.05);
  await lorry.report(Array.from({ length: 100 }, (_, minute) => ({
    recordedAt: new Date(began + minute * 60_000).toISOString(), latitude: 48 + Math.min(minute, 35) * 0.005, longitude: 11,
    speedKmh: minute < 35 ? 33 : 0, fuel: { liters: level(minute) },
  })));
  const page = await stage.page();
  await signIn(page, fleet);
  await visit(page, `#/live/${lorry.id}`);
  const panel = region(page, "Lorry");
  await panel.getByRole("img", { name: "Fuel in the tank of Lorry" }).locator("canvas").waitFor();
  await panel.getByText(/^Refuelled \d/).waitFor();
  await panel.getByText(/L now$/).waitFor();
  await picture(page, "fuel");
  assert.deepEqual(page.faults, []);
});

/** A tank's readings of so many minutes, the last of them now: it stands, and from minute 30 on so many litres are gone. */
const drained = (lostLiters, minutes) => Array.from({ length: minutes }, (_, minute) => ({
  recordedAt: new Date(Date.now() - (minutes - minute) * 60_000).toISOString(), latitude: 48, longitude: 11, speedKmh: 0,
  fuel: { liters: 90 - (minute < 30 ? 0 : lostLiters) },
}));

test("a drain is announced while it is not certain, then told, and stands in the replay", async () => {
  const fleet = await Fleet.make(stage.server);
  const lorry = await fleet.vehicle("Lorry 2", { fuel: { kind: "diesel", tankCapacityLiters: 100 } });
  const page = await stage.page();
  await signIn(page, fleet);
  const feed = region(page, "Events");
  const readings = drained(40, 60);
  for (const part of [readings.slice(0, 30), ...readings.slice(30).map((one) => [one])]) {
    await lorry.report(part);
    const { live } = await fleet.admin.get(`/v1/vehicles/${lorry.id}`);
    if (!live.fuel.provisional) continue;
    await feed.getByRole("list", { name: "Not certain yet" }).getByText("may have lost").waitFor();
    break;
  }
  await lorry.report(readings);
  await feed.locator("li[data-event=drain]:not([data-status=provisional])").getByText("lost", { exact: false }).waitFor();
  await feed.getByRole("list", { name: "Not certain yet" }).waitFor({ state: "detached" });
  const { data: [drain] } = await fleet.admin.get("/v1/fuel/events");
  const line = feed.getByRole("listitem").filter({ hasText: `Lorry 2 lost ${drain.volumeLiters.toFixed(1)} L`.replace(".0 L", " L") });
  await line.hover();
  await line.getByRole("link", { name: /^Replay/ }).click();
  await page.getByRole("region", { name: "What happened" }).getByText(/^Lost \d/).waitFor();
  assert.deepEqual(page.faults, []);
});

test("what is not of now is not shown as if it were", async () => {
  const fleet = await Fleet.make(stage.server);
  await fleet.circle("Depot", DEPOT, 300);
  await fleet.circle("Yard", { latitude: 59.4, longitude: 18.06 }, 300);
  const [old, parked] = [await fleet.vehicle("Old track"), await fleet.vehicle("At the lights")];
  const then = Date.parse("2024-01-05T00:09:50Z");
  await old.report([[59.34, 0], [59.33, 1], [59.4, 2]].map(([latitude, minute]) => ({ ...OUTSIDE, latitude, recordedAt: new Date(then + minute * 60_000).toISOString() })));
  const now = Date.now();
  await parked.report([[59.5, 30_000, 40], [59.501, 0, 0]].map(([latitude, before, speedKmh]) => ({ ...OUTSIDE, latitude, speedKmh, recordedAt: new Date(now - before).toISOString() })));
  assert.equal((await fleet.admin.get(`/v1/vehicles/${parked.id}`)).live.motion, "moving", "it ends a way");
  const page = await stage.page({ locale: "en-GB" });
  await signIn(page, fleet);
  const row = (name) => region(page, "Vehicles").getByRole("row", { name });
  await row("Old track").getByText("Seen").waitFor();
  assert.equal(await row("Old track").locator("td.number").first().innerText(), "", "no speed of years ago");
  await row("At the lights").getByText("Stopped").waitFor();
  await region(page, "Events").getByText("Jan 5, 2024").first().waitFor();
  await row("Old track").getByRole("link").click();
  const panel = region(page, "Old track");
  await panel.getByText(/^40 km\/h, \d+ d ago$/).waitFor();
  await panel.getByText("No visit to a fence today").waitFor();
  await panel.getByText("Jan 5, 2024").first().waitFor();
  assert.deepEqual(page.faults, []);
});

test("a view that was opened without a network loads once there is one, and says no more that there was none", async () => {
  const fleet = await Fleet.make(stage.server);
  const bus = await fleet.vehicle("Bus 12");
  await fleet.admin.post("/v1/drivers", { firstName: "Astrid", lastName: "Lind" });
  const page = await stage.page();
  await signIn(page, fleet);
  for (const [address, text] of [["#/drivers", "Astrid Lind"], [`#/live/${bus.id}`, "Nobody is assigned"], [`#/replay/${bus.id}`, "The vehicle did not report on this day"]]) {
    await page.context().setOffline(true);
    await page.evaluate((to) => { location.hash = to; }, address);
    await page.getByRole("alert").getByText("The server cannot be reached.").first().waitFor();
    await page.context().setOffline(false);
    await page.locator("main").getByText(text).first().waitFor();
    await page.getByText("The server cannot be reached.").waitFor({ state: "detached" });
  }
});

test("a vehicle that is not there is asked for once, and said to be none", async () => {
  const fleet = await Fleet.make(stage.server);
  const page = await stage.page();
  const refused = [];
  page.on("response", (answer) => { if (answer.status() >= 400) refused.push(answer.url()); });
  await signIn(page, fleet);
  await visit(page, "#/live/notexist");
  await region(page, "Vehicle").getByText("There is no such vehicle, or it was deleted.").waitFor();
  assert.equal(refused.length, 1, `${refused}`);
});

test("the list is searched, narrowed and sorted", async () => {
  const fleet = await Fleet.make(stage.server);
  for (const [name, speedKmh] of [["Van 2", 20], ["Van 10", 60], ["Tram 1", 0]]) {
    const vehicle = await fleet.vehicle(name);
    await vehicle.at(59.3, 18, { speedKmh });
  }
  const page = await stage.page();
  await signIn(page, fleet);
  const list = region(page, "Vehicles");
  const lists = (...names) => eventually(async () => assert.deepEqual(await list.locator("tbody th").allInnerTexts(), names));
  await lists("Tram 1", "Van 2", "Van 10");
  await list.getByRole("button", { name: "km/h" }).click();
  await lists("Van 10", "Van 2", "Tram 1");
  await list.getByRole("searchbox").fill("van");
  await lists("Van 10", "Van 2");
  await list.getByRole("searchbox").fill("");
  await page.getByRole("button", { name: /silent/ }).click();
  await list.getByText("No vehicle is like that").waitFor();
});

test("who is silent is who the server says is silent", async () => {
  const fleet = await Fleet.make(stage.server);
  const tram = await fleet.vehicle("Tram 9");
  const silentAfter = (staleAfterSeconds, offlineAfterSeconds) => fleet.set({ staleAfterSeconds, offlineAfterSeconds });
  const told = async () => (await fleet.admin.get("/v1/events?type=offline")).data.length;
  await tram.at(59.3, 18, { speedKmh: 30 });
  const page = await stage.page();
  await signIn(page, fleet);
  const says = (state) => region(page, "Vehicles").getByRole("row", { name: /Tram 9/ }).getByText(state, { exact: true }).waitFor();
  await says("Moving");
  await silentAfter(1, 2);
  await eventually(async () => assert.equal(await told(), 1));
  await says("Offline");
  // By its own clock the page would say otherwise now: what has been told stays until the vehicle is heard.
  await silentAfter(300, 3600);
  const { live } = await fleet.admin.get(`/v1/vehicles/${tram.id}`);
  assert.equal(live.state, "offline");
  await visit(page, "#/organization");
  await page.getByLabel("Silent after, seconds").waitFor();
  assert.equal(await page.getByLabel("Silent after, seconds").inputValue(), "300");
  await visit(page, "#/live");
  await says("Offline");
  await tram.at(59.3, 18, { speedKmh: 30 });
  await says("Moving");
  assert.deepEqual(page.faults, []);
});

test("two organizations see nothing of each other", async () => {
  const [one, other] = await Promise.all([Fleet.make(stage.server, "One"), Fleet.make(stage.server, "Other")]);
  const pages = [];
  for (const [fleet, name] of [[one, "Bus A"], [other, "Bus B"]]) {
    await fleet.circle(`${name}'s depot`, DEPOT);
    const page = await stage.page();
    pages.push(page);
    page.heard = "";
    page.on("response", async (answer) => { page.heard += await answer.text().catch(() => ""); });
    await signIn(page, fleet);
    fleet.bus = await fleet.vehicle(name);
  }
  for (const fleet of [one, other]) await fleet.bus.at(DEPOT.latitude, DEPOT.longitude);
  for (const [page, own, foreign] of [[pages[0], "Bus A", "Bus B"], [pages[1], "Bus B", "Bus A"]]) {
    await region(page, "Inside now").getByText(own, { exact: true }).waitFor();
    await region(page, "Events").getByText(own, { exact: true }).waitFor();
    assert.equal(await page.getByText(foreign).count(), 0);
    assert.ok(!page.heard.includes(foreign), "nor is it in what the server answered");
  }
});

test("a cut is said within a second, and loses nothing", async () => {
  const fleet = await Fleet.make(stage.server);
  await fleet.circle("Depot", DEPOT, 300);
  const bus = await fleet.vehicle("Bus 9");
  const wire = await Wire.to(stage.server);
  const page = await stage.page({ server: wire });
  await signIn(page, fleet);
  const mark = (...states) => page.locator(states.map((state) => `[data-connection=${state}]`).join()).waitFor();
  const began = Date.now() - 3_600_000;
  let minute = 0;
  const pass = async () => {
    for (const latitude of [OUTSIDE.latitude, DEPOT.latitude, OUTSIDE.latitude]) {
      minute += 1;
      await bus.report([{ ...OUTSIDE, latitude, recordedAt: new Date(began + minute * 60_000).toISOString() }]);
    }
  };
  await pass();
  await region(page, "Events").getByText("left").waitFor();

  wire.cut();
  await withinASecond("from a silent cut to the mark", () => mark("stale", "reconnecting"));
  for (let passes = 0; passes < 3; passes += 1) await pass();
  await pause(CUT_SECONDS * 1000);
  wire.mend();
  await isLive(page);

  await page.context().setOffline(true);
  await withinASecond("from the network's end to the mark", () => mark("reconnecting"));
  await pass();
  await page.context().setOffline(false);
  await isLive(page);

  const { data } = await fleet.admin.get("/v1/geofence-events?limit=200");
  assert.equal(data.length, 10, "an entry and an exit of each of five passes");
  await eventually(async () => {
    const shown = await region(page, "Events").locator("li time").evaluateAll((times) => times.map(({ dateTime }) => dateTime));
    assert.deepEqual(shown.toSorted(), data.map(({ occurredAt }) => occurredAt).toSorted(), "each once");
  });
  await wire.close();
});

test("a server that stores nothing is told from one that does", async (context) => {
  const fleet = await Fleet.make(stage.server);
  await fleet.vehicle("Bus 11");
  const wire = await Wire.to(stage.server);
  context.after(() => wire.close());
  const page = await stage.page({ server: wire });
  await signIn(page, fleet);
  await isLive(page);
  const status = page.locator(".connection");
  await status.getByText("Live", { exact: true }).waitFor();
  wire.say({ type: "status", storing: false });
  await status.getByText("Live, not stored").waitFor();
  wire.say({ type: "status", storing: true });
  await status.getByText("Live", { exact: true }).waitFor();
});

test("the feed of events holds still under the pointer, and mutes a fence", async () => {
  const fleet = await Fleet.make(stage.server);
  await fleet.circle("Depot", DEPOT, 300);
  await fleet.circle("Yard", { latitude: 59.4, longitude: 18.06 }, 300);
  const bus = await fleet.vehicle("Bus 10");
  const page = await stage.page();
  await signIn(page, fleet);
  const feed = region(page, "Events");
  await bus.at(DEPOT.latitude, DEPOT.longitude);
  await feed.getByText("Depot").waitFor();
  await feed.getByRole("listitem").first().hover();
  await bus.at(59.4, 18.06);
  await feed.getByRole("button", { name: /new$/ }).waitFor();
  assert.equal(await feed.getByText("Yard").count(), 0, "what is pointed at stays where it is");
  await page.mouse.move(5, 5);
  await feed.getByText("Yard").first().waitFor();
  await feed.getByRole("listitem").filter({ hasText: "Yard" }).hover();
  await feed.getByRole("button", { name: "Mute Yard", exact: true }).click();
  await page.mouse.move(5, 5);
  await page.getByLabel("Search vehicles").focus();
  await feed.getByRole("listitem").filter({ hasText: "Yard" }).waitFor({ state: "detached" });
  await feed.getByRole("button", { name: "Unmute Yard" }).click();
  await feed.getByRole("listitem").filter({ hasText: "Yard" }).waitFor();
});

test("what was shown when the tokens were renewed is kept no longer than it is shown", async () => {
  const fleet = await Fleet.make(stage.server);
  const yards = await Promise.all([0, 1, 2, 3].map((number) => {
    const place = { latitude: 59.33 + number / 100, longitude: 18.06 };
    return fleet.circle(`Yard ${number}`, place).then(() => place);
  }));
  const buses = await fleet.vehicles(24);
  const page = await stage.page();
  await signIn(page, fleet);
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  const inside = region(page, "Inside now");
  let recorded = Date.now() - 3_000_000;
  const report = async (some, place) => {
    recorded += 20_000;
    await Promise.all(some.map((bus) => bus.at(place.latitude, place.longitude, { recordedAt: new Date(recorded).toISOString() })));
  };
  const groups = yards.map((yard, number) => [yard, buses.slice(6 * number, 6 * number + 6)]);
  const round = async (isRenewed) => {
    for (const [yard, some] of groups) await report(some, yard);
    await eventually(async () => assert.equal(await inside.getByRole("listitem").count(), buses.length));
    // as another tab says that it has new ones
    if (isRenewed) await page.evaluate(() => dispatchEvent(new StorageEvent("storage", { key: "waypost.session" })));
    for (const [number, [, some]] of groups.entries()) {
      await report(some, { latitude: 59.33, longitude: 18.5 });
      await inside.getByRole("heading", { name: `Yard ${number}` }).waitFor({ state: "detached" });
    }
  };
  /** How many nodes are held that are not in the document. */
  const held = async () => {
    await session.send("HeapProfiler.collectGarbage");
    const { metrics } = await session.send("Performance.getMetrics");
    const shown = await page.evaluate(() => document.evaluate("count(//node())", document, null, XPathResult.NUMBER_TYPE).numberValue);
    return metrics.find(({ name }) => name === "Nodes").value - shown;
  };
  /** How many more are held after three rounds, once what is on its way out has gone. */
  const growth = async (isRenewed) => {
    const before = await held();
    for (let number = 0; number < 3; number += 1) await round(isRenewed);
    let least = Infinity;
    for (let look = 0; look < 5; look += 1) {
      least = Math.min(least, await held() - before);
      await delay(200);
    }
    return least;
  };
  await round(false);
  const [kept, renewed] = [await growth(false), await growth(true)];
  console.log(`nodes held beside those shown: ${kept} more after three rounds, ${renewed} more after three with new tokens`);
  // all that was shown was held once for each time
  assert.ok(renewed < 2 * buses.length, `${renewed} nodes`);
});

test("of a busy fleet what happened in a fence is there after a reload too, though trips and stops came after it", async () => {
  const fleet = await Fleet.make(stage.server);
  await fleet.circle("Depot", DEPOT, 200);
  const bus = await fleet.vehicle("Bus 1");
  const began = Date.now() - 8 * 3_600_000;
  const at = (minute, latitude, more) => ({ latitude, longitude: DEPOT.longitude, recordedAt: new Date(began + minute * 60_000).toISOString(), ...more });
  const drives = Array.from({ length: 105 }, (_, round) => [
    at(10 + round * 4, DEPOT.latitude + 0.02 + round * 0.01, { speedKmh: 40, ignition: true }),
    ...[1, 2, 3].map((minute) => at(10 + round * 4 + minute, DEPOT.latitude + 0.025 + round * 0.01, { speedKmh: 0, ignition: false })),
  ]);
  await bus.report([at(0, DEPOT.latitude - 0.02, { speedKmh: 40 }), at(2, DEPOT.latitude, { speedKmh: 40 }), ...drives.flat()]);
  const { data } = await fleet.admin.get("/v1/events?limit=200");
  assert.ok(data.every(({ type }) => type === "trip" || type === "stop"), "the newest are all trips and stops");
  const page = await stage.page();
  await signIn(page, fleet);
  await region(page, "Events").getByText("left").waitFor();
  assert.deepEqual(page.faults, []);
});
