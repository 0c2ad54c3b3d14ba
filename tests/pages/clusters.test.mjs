// Many vehicles on the map: clusters from 300 in view on, in which nobody is hidden who is chosen or asks for attention; and what the map
// opens on.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Fleet, eventually, hasMap, isLive, setUp, signIn, visit } from "./harness/index.mjs";

const VEHICLES = 320;
const MOVING = 120;
const CITY = { latitude: 52.5, longitude: 13.4 };

const stage = setUp();

const region = (page, name) => page.getByRole("region", { name, exact: true });
const onMap = (page, what) => page.locator(".map").evaluate(what);
/** The clusters as they are drawn, and how many vehicles are drawn by themselves. */
const drawn = (page) => onMap(page, ({ fleetMap }) => ({
  clusters: fleetMap.clusters().map(({ longitude, latitude, count, moving, silent }) => ({ longitude, latitude, count, moving, silent })),
  alone: fleetMap.drawn(), zoom: fleetMap.map.getZoom(), isMoving: fleetMap.map.isMoving(),
}));
const sum = (list, of) => list.reduce((total, one) => total + of(one), 0);

/** Beside each other in rows of twenty, thirty metres apart. */
const placeOf = (number) => ({ latitude: CITY.latitude + Math.floor(number / 20) * 0.003, longitude: CITY.longitude + (number % 20) * 0.0045 });

test("three hundred in view become clusters, but for who is chosen or asks for attention", async () => {
  const fleet = await Fleet.make(stage.server);
  const vehicles = await fleet.vehicles(VEHICLES);
  const gateway = await fleet.gateway();
  const report = async (recordedAt, wanted) => {
    const items = vehicles.map(({ tracker }, number) => ({ ...placeOf(number), speedKmh: number < MOVING ? 40 : 0, headingDegrees: 90, recordedAt, uniqueId: tracker.uniqueId }));
    await gateway.post("/v1/positions", { items: items.filter((_, number) => wanted(number)) });
  };
  const depot = await fleet.circle("Depot", placeOf(7), 60);
  await fleet.admin.put(`/v1/geofences/${depot.id}`, { rules: { dwellAfterSeconds: 60 }, effectiveFrom: null });
  await report(new Date(Date.now() - 300_000).toISOString(), (number) => number === 7);
  await report(new Date(Date.now() - 1000).toISOString(), () => true);
  const urgent = vehicles[7].id;

  const page = await stage.page();
  await signIn(page, fleet);
  await isLive(page);
  await hasMap(page);
  await region(page, "Attention").getByText("In a fence for too long").waitFor();
  const whole = await eventually(async () => {
    const found = await drawn(page);
    assert.ok(found.clusters.length > 1 && !found.isMoving, JSON.stringify(found));
    assert.equal(sum(found.clusters, ({ count }) => count) + found.alone.length, VEHICLES);
    assert.ok(found.alone.includes(urgent), "who asks for attention is seen");
    return found;
  });
  const aloneMoving = whole.alone.filter((id) => vehicles.findIndex((one) => one.id === id) < MOVING).length;
  assert.equal(sum(whole.clusters, ({ moving }) => moving) + aloneMoving, MOVING);
  assert.equal(sum(whole.clusters, ({ silent }) => silent), 0);
  const written = () => onMap(page, ({ fleetMap }) => fleetMap.map.queryRenderedFeatures({ layers: ["counts"] }).map(({ properties }) => properties.count));
  await eventually(async () => assert.ok((await written()).includes(String(whole.clusters[0].count)), "how many they are is written"));
  const order = await onMap(page, ({ fleetMap }) => fleetMap.map.getLayersOrder());
  assert.ok(order.indexOf("vehicles") > order.indexOf("clusters"), "who is by itself is above the clusters");

  await visit(page, `#/live/${vehicles[99].id}`);
  await eventually(async () => assert.ok((await drawn(page)).alone.includes(vehicles[99].id), "who is chosen is seen"));
  await page.getByRole("link", { name: "Close" }).click();

  // a click comes closer, until few are in view
  const { longitude, latitude } = whole.clusters.reduce((largest, one) => (one.count > largest.count ? one : largest));
  const box = await page.locator(".map").boundingBox();
  const { x, y } = await page.locator(".map").evaluate(({ fleetMap }, at) => fleetMap.map.project(at), [longitude, latitude]);
  await page.mouse.click(box.x + x, box.y + y);
  await eventually(async () => {
    const closer = await drawn(page);
    assert.ok(closer.zoom > whole.zoom + 1 && closer.clusters.length === 0, `${closer.zoom}, ${closer.clusters.length}`);
    assert.ok(closer.alone.length > 0 && closer.alone.length < VEHICLES, "only those near are drawn");
  });
  await page.getByRole("button", { name: "Show all" }).click();
  await eventually(async () => assert.ok((await drawn(page)).clusters.length > 1));
  // where a border of the grid lies in the midst of the fleet, one cluster takes the other in
  await page.locator(".map").evaluate(({ fleetMap }) => fleetMap.lookAt({ latitude: 52.52, longitude: 13.44, zoom: 9 }));
  const gaps = await page.locator(".map").evaluate(async ({ fleetMap }) => {
    const { features } = await fleetMap.map.getSource("counts").getData();
    const discs = features.map(({ geometry, properties }) => ({ ...fleetMap.map.project(geometry.coordinates), size: properties.size }));
    return discs.flatMap((a, place) => discs.slice(0, place).map((b) => Math.hypot(a.x - b.x, a.y - b.y) - (a.size + b.size) / 2));
  });
  assert.ok((await drawn(page)).clusters.length > 0 && gaps.every((gap) => gap > -4), `no disc covers another: ${gaps}`);
  await page.getByRole("searchbox", { name: "Search vehicles" }).fill("Bus 31");
  await eventually(async () => assert.equal((await drawn(page)).clusters.length, 0, "few are shown each"));
  assert.deepEqual(page.faults, []);
});

test("the map opens on the vehicles, and on the fences where there is none", async () => {
  const fleet = await Fleet.make(stage.server);
  await fleet.circle("Far away", { latitude: 40, longitude: -3 }, 500);
  const view = (page) => onMap(page, ({ fleetMap }) => {
    const bounds = fleetMap.map.getBounds();
    return { hasBus: bounds.contains([13.4, 52.5]), hasFence: bounds.contains([-3, 40]), zoom: fleetMap.map.getZoom() };
  });
  const page = await stage.page();
  await signIn(page, fleet);
  await isLive(page);
  await hasMap(page);
  await eventually(async () => {
    const { hasFence, zoom } = await view(page);
    assert.ok(hasFence && zoom > 8, "there is nothing else to see");
  });
  const bus = await fleet.vehicle("Bus 7");
  await bus.at(CITY.latitude, CITY.longitude, { speedKmh: 0 });
  await eventually(async () => {
    const { hasBus, hasFence, zoom } = await view(page);
    assert.ok(hasBus && !hasFence && zoom > 8, "the first vehicle is what one looks for");
  });
  assert.deepEqual(page.faults, []);
});

test("a fleet on both sides of 180 degrees is shown as one, with its names", async () => {
  const fleet = await Fleet.make(stage.server);
  const [west, east] = [await fleet.vehicle("Suva"), await fleet.vehicle("Taveuni")];
  await west.at(-17, 179.98, { speedKmh: 0 });
  await east.at(-17.02, -179.98, { speedKmh: 0 });
  const page = await stage.page();
  await signIn(page, fleet);
  await hasMap(page);
  const wide = () => onMap(page, ({ fleetMap }) => fleetMap.map.getBounds().getEast() - fleetMap.map.getBounds().getWest());
  await eventually(async () => assert.ok(await wide() < 2, `it opens on ${await wide()} degrees`));
  await page.locator(".map").evaluate(({ fleetMap }) => fleetMap.lookAt({ latitude: 0, longitude: 0, zoom: 1 }));
  await page.getByRole("button", { name: "Show all" }).click();
  await eventually(async () => assert.ok(await wide() < 2, `it shows ${await wide()} degrees`));
  const named = () => onMap(page, ({ fleetMap }) => fleetMap.map.queryRenderedFeatures({ layers: ["names"] }).map(({ properties }) => properties.name).sort());
  await eventually(async () => assert.deepEqual([...new Set(await named())].filter(Boolean), ["Suva", "Taveuni"]));
  assert.deepEqual(page.faults, []);
});

test("names keep off the markers of others", async () => {
  const fleet = await Fleet.make(stage.server);
  const [one, other] = [await fleet.vehicle("Southern Express"), await fleet.vehicle("B")];
  // the other one stands just where the name would be
  await one.at(52.5, 13.4, { speedKmh: 0 });
  await other.at(52.49971, 13.4, { speedKmh: 0 });
  const page = await stage.page();
  await signIn(page, fleet);
  await isLive(page);
  await hasMap(page);
  await page.locator(".map").evaluate(({ fleetMap }) => fleetMap.lookAt({ latitude: 52.4997, longitude: 13.4, zoom: 15 }));
  const hit = () => page.locator(".map").evaluate(({ fleetMap }, id) => {
    const { x, y } = fleetMap.map.project(fleetMap.whereIs(id));
    const found = fleetMap.map.queryRenderedFeatures([[x - 8, y - 8], [x + 8, y + 8]], { layers: ["names"] });
    return { over: found.map(({ properties }) => properties.name), all: fleetMap.map.queryRenderedFeatures({ layers: ["names"] }).map(({ properties }) => properties.name) };
  }, other.id);
  await eventually(async () => {
    const { over, all } = await hit();
    assert.deepEqual(over, []);
    assert.ok(all.includes("Southern Express"), "it has found another place");
  });
  assert.deepEqual(page.faults, []);
});
