// What lies under the vehicles: nothing of anybody else's unless the settings say so, and then only from there.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { ADMIN, Fleet, PASSWORD, Server, TileHost, archive, eventually, findings, hasMap, isSettled, picture, setUp, signIn } from "./harness/index.mjs";

const stage = setUp({ start: () => null });

/** A signed-in page with a map, on a server with these settings. */
async function withMap(flags, work) {
  const server = await Server.start(...flags);
  try {
    const fleet = await Fleet.make(server);
    const bus = await fleet.vehicle("Bus 7");
    await bus.at(59.3, 18, { speedKmh: 30, headingDegrees: 45 });
    const page = await stage.page({ server });
    await signIn(page, fleet);
    await hasMap(page);
    await work({ page, server, fleet, bus });
    assert.deepEqual(page.faults, []);
  } finally {
    await server.remove();
  }
}

/** Where the map shows a vehicle, in pixels of its element, once it shows it and holds still. */
const whereIs = async (page, id) => (await page.waitForFunction((vehicle) => {
  const { fleetMap } = document.querySelector(".map");
  const place = fleetMap.whereIs(vehicle);
  const { x, y } = place && !fleetMap.map.isMoving() ? fleetMap.map.project(place) : {};
  return fleetMap.vehicleAt(x ?? -1, y ?? -1) === vehicle && { x, y };
}, id)).jsonValue();
const layers = (page) => page.locator(".map").evaluate(({ fleetMap }) => fleetMap.map.getStyle().layers.map(({ id }) => id));
const hasLayer = (page, id) => page.waitForFunction((wanted) => document.querySelector(".map").fleetMap.map.getLayer(wanted), id);

test("by default there are coasts, and not a word to another host, under a policy that allows none", async () => {
  await withMap([], async ({ page, server, bus }) => {
    const policy = (await fetch(server.url)).headers.get("content-security-policy");
    assert.match(policy, /connect-src 'self';/);
    await hasLayer(page, "coast");
    await hasLayer(page, "vehicles");

    // a click on the vehicle opens it; a click beside it closes it
    const box = await page.locator(".map").boundingBox();
    const { x, y } = await whereIs(page, bus.id);
    await page.mouse.click(box.x + x, box.y + y);
    await page.getByRole("region", { name: "Bus 7", exact: true }).waitFor();
    await page.getByRole("button", { name: "Follow" }).click();
    await bus.at(59.31, 18.01, { speedKmh: 30, headingDegrees: 45 });
    await page.waitForFunction(() => {
      const { lng, lat } = document.querySelector(".map").fleetMap.map.getCenter();
      return Math.abs(lng - 18.01) < 0.001 && Math.abs(lat - 59.31) < 0.001;
    });
    await page.getByLabel("Colours").selectOption("dark");
    await hasLayer(page, "vehicles");
    await picture(page, "map-dark");
    await page.mouse.click(box.x + 60, box.y + box.height - 120);
    await page.getByRole("region", { name: "Events", exact: true }).waitFor();
    assert.deepEqual(page.foreign, []);
  });
});

const SEA = {
  "North Atlantic": [-35, 45], "Bay of Biscay": [-5, 45.5], "North Sea": [3, 56], Baltic: [19.5, 56.5], "Bering Sea": [-178, 58],
  "South Pacific": [-120, -40],
};
const LAND = { Spain: [-4, 40], "Chukotka before 180°": [175, 67], "Chukotka beyond 180°": [-177.5, 66.8], Antarctica: [20, -78], "Antarctica at 179°": [179, -84.6] };

/** Which of some places are land on the map at a zoom. */
async function landAt(page, zoom, places) {
  const found = [];
  for (const [name, center] of Object.entries(places)) {
    const isLand = await page.waitForFunction(([wanted, at]) => {
      const { map } = document.querySelector(".map").fleetMap;
      if (map.getZoom() !== wanted || Math.abs(map.getCenter().lng - at[0]) > 0.01) {
        map.jumpTo({ center: at, zoom: wanted });
        return null;
      }
      if (!map.isSourceLoaded("land") || !map.areTilesLoaded()) return null;
      return { is: map.queryRenderedFeatures(map.project(at), { layers: ["land"] }).length > 0 };
    }, [zoom, center]);
    if ((await isLand.jsonValue()).is) found.push(name);
  }
  return found;
}

test("sea is sea and land is land at every zoom, before and after the finer coasts came", async () => {
  await withMap([], async ({ page }) => {
    await hasLayer(page, "coast");
    const isFine = () => page.locator(".map").evaluate(({ fleetMap }) => fleetMap.map.getSource("land").serialize().data.features[0].geometry.coordinates.length > 1000);
    await page.locator(".map").evaluate(({ fleetMap }) => fleetMap.map.jumpTo({ center: [0, 30], zoom: 1 }));
    for (const zoom of [1, 2, 3, 4, 1]) {
      assert.deepEqual(await landAt(page, zoom, { ...SEA, ...LAND }), Object.keys(LAND), `at zoom ${zoom}`);
      if (zoom === 4) await eventually(async () => assert.ok(await isFine(), "the finer coasts are there"));
    }
  });
});

test("tiles by address: loaded from there and nowhere else, with their makers' name", async () => {
  const host = await TileHost.start();
  await withMap(["--map-tiles", `${host.url}/{z}/{x}/{y}.png`, "--map-attribution", "Tiles by Test"], async ({ page, server }) => {
    const policy = (await fetch(server.url)).headers.get("content-security-policy");
    assert.ok(policy.includes(`connect-src 'self' ${host.url};`), policy);
    await page.getByText("Tiles by Test").waitFor();
    await page.waitForFunction(() => document.querySelector(".map").fleetMap.map.isSourceLoaded("background"));
    await eventually(() => assert.ok(host.asked.some((path) => /^\/\d+\/\d+\/\d+\.png$/.test(path)), `${host.asked}`));
    assert.ok(page.foreign.length > 0 && page.foreign.every((url) => url.startsWith(host.url)));
    await eventually(async () => assert.deepEqual((await layers(page)).slice(0, 2), ["background", "fences-fill"]));
    await picture(page, "map-tiles");
    // they are made for a bright page
    const brightest = () => page.evaluate(() => document.querySelector(".map").fleetMap.map.getPaintProperty("background", "raster-brightness-max") ?? 1);
    assert.equal(await brightest(), 1);
    await page.getByLabel("Colours").selectOption("dark");
    await eventually(async () => assert.ok((await brightest()) < 0.7));
    await hasLayer(page, "vehicles");
    await picture(page, "map-tiles-dark");
  });
  await host.close();
});

test("a style by address lies under fences and vehicles", async () => {
  const host = await TileHost.start();
  await withMap(["--map-style", `${host.url}/style.json`], async ({ page }) => {
    await hasLayer(page, "theirs");
    await hasLayer(page, "vehicles");
    await eventually(async () => assert.deepEqual((await layers(page)).slice(0, 2), ["theirs", "fences-fill"]));
  });
  await host.close();
});

test("a PMTiles file is served by parts", async () => {
  const directory = await mkdtemp(join(tmpdir(), "waypost-pages-"));
  const file = join(directory, "town.pmtiles");
  const bytes = archive();
  await writeFile(file, bytes);
  await withMap(["--map-pmtiles", file], async ({ page, server }) => {
    const part = await fetch(`${server.url}/map.pmtiles`, { headers: { Range: "bytes=0-6" } });
    assert.equal(part.status, 206);
    assert.equal(part.headers.get("content-range"), `bytes 0-6/${bytes.length}`);
    assert.equal(await part.text(), "PMTiles");
    assert.equal((await fetch(`${server.url}/map.pmtiles`)).status, 400, "not the whole file at once");
    const beyond = await fetch(`${server.url}/map.pmtiles`, { headers: { Range: `bytes=${bytes.length}-` } });
    assert.equal(beyond.status, 400);
    await hasLayer(page, "background");
    await page.waitForFunction(() => document.querySelector(".map").fleetMap.map.isSourceLoaded("background"));
    assert.deepEqual(page.foreign, []);
    await picture(page, "map-pmtiles");
  });
  await rm(directory, { recursive: true });
});

test("a map is installed by one command while the server runs; what is none is refused, and nothing changes", async () => {
  const directory = await mkdtemp(join(tmpdir(), "waypost-pmtiles-"));
  const write = async (name, bytes) => {
    const file = join(directory, name);
    await writeFile(file, bytes);
    return file;
  };
  await withMap([], async ({ page, server }) => {
    // who runs the server is told how it gets streets, until they have read it, and nobody else
    const operators = await stage.page({ server });
    const streets = (shown) => shown.getByRole("complementary", { name: "Streets" });
    await signIn(operators, { email: ADMIN, password: PASSWORD });
    await streets(operators).getByText("waypost map town.pmtiles").waitFor();
    await page.waitForFunction(() => document.querySelector(".map").fleetMap.map.getZoom() > 11);
    await isSettled(page);
    assert.equal(await streets(page).count(), 0, "an organization's administrator has no such command");
    await operators.evaluate(() => document.querySelector(".map").fleetMap.map.jumpTo({ zoom: 5 }));
    await streets(operators).waitFor({ state: "detached" });
    await operators.evaluate(() => document.querySelector(".map").fleetMap.map.jumpTo({ zoom: 14 }));
    assert.deepEqual(await findings(operators), [], "axe");
    await streets(operators).getByRole("button", { name: "Do not show again" }).click();
    await streets(operators).waitFor({ state: "detached" });
    await operators.reload();
    await hasMap(operators);
    await operators.waitForFunction(() => document.querySelector(".map").fleetMap.map.getZoom() > 11);
    await isSettled(operators);
    assert.equal(await streets(operators).count(), 0);

    const whole = archive({ attribution: '<a href="https://example.org">© The makers</a>' });
    const refused = [[await write("a.txt", "streets"), "no PMTiles archive"], [await write("cut.pmtiles", whole.subarray(0, whole.length - 1)), "not downloaded whole"]];
    for (const [file, why] of refused) await assert.rejects(server.command("map", file), new RegExp(why));
    assert.equal((await fetch(`${server.url}/map.pmtiles`)).status, 404);
    assert.match(await server.command("map", await write("town.pmtiles", whole)), /pictures from -85.00, -180.00 to 85.00, 180.00, zoom 0 to 0/);
    await page.reload();
    await hasMap(page);
    await hasLayer(page, "background");
    await page.waitForFunction(() => document.querySelector(".map").fleetMap.map.isSourceLoaded("background"));
    await page.getByText("© The makers").waitFor({ state: "attached" });
    // who has not read it need not any more
    await operators.evaluate(() => localStorage.removeItem("waypost.map.streets"));
    await operators.reload();
    await hasMap(operators);
    await hasLayer(operators, "background");
    await operators.evaluate(() => document.querySelector(".map").fleetMap.map.jumpTo({ zoom: 14 }));
    await isSettled(operators);
    assert.equal(await streets(operators).count(), 0);
    assert.deepEqual(page.foreign, []);
  });
  await rm(directory, { recursive: true });
});

test("who runs the server is told how it gets streets even if the fleet arrives just as the map is drawn", async () => {
  await withMap([], async ({ server }) => {
    const operators = await stage.page({ server });
    // Loads the map's code after the fleet; holds the worker's messages until the map is drawn, and delivers them before effects run.
    await operators.addInitScript(() => {
      const held = (globalThis.held = []);
      let isDrawn = false;
      const { get, set } = Object.getOwnPropertyDescriptor(Worker.prototype, "onmessage");
      Object.defineProperty(Worker.prototype, "onmessage", {
        get,
        set(listener) {
          set.call(this, (event) => { if (isDrawn) listener(event); else held.push(() => listener(event)); });
        },
      });
      new MutationObserver(() => {
        if (isDrawn || !document.querySelector("[data-map=ready]")) return;
        isDrawn = true;
        for (const tell of held) tell();
      }).observe(document, { subtree: true, attributes: true, childList: true });
    });
    await operators.route("**/fleet_map-*.js", async (route) => {
      await operators.waitForFunction(() => globalThis.held.length > 1);
      await route.continue();
    });
    await signIn(operators, { email: ADMIN, password: PASSWORD });
    await operators.getByText("waypost map town.pmtiles").waitFor();
  });
});
