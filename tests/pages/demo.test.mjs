// What a newcomer sees: `waypost demo`, its link, a map on which buses move.
//
// The time is printed; WAYPOST_TEST_STRICT=1 asserts it too.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Server, isLive, launch, open, picture } from "./harness/index.mjs";

const MOST_MS = 10_000;

let server, browser;

before(async () => {
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await server?.remove();
});

test("the demo opens on a moving map", async () => {
  const began = performance.now();
  server = await Server.demo();
  const page = await open(browser, server);
  await page.goto(server.signInLink);
  await isLive(page);
  await page.locator("[data-map=ready]").waitFor();
  // somebody is drawn elsewhere than before
  await page.waitForFunction(() => {
    const { fleetMap } = document.querySelector(".map");
    const ids = [...document.querySelectorAll("tbody a")].map((link) => link.hash.split("/").at(-1));
    const places = ids.map((id) => fleetMap.whereIs(id)).filter(Boolean).map(([x, y]) => `${x} ${y}`);
    const before = new Set(globalThis.placesBefore ?? places);
    globalThis.placesBefore = places;
    return places.some((place) => !before.has(place));
  });
  const took = performance.now() - began;
  console.log(`from the start of waypost demo to a moving map: ${(took / 1000).toFixed(1)} s`);
  if (process.env.WAYPOST_TEST_STRICT === "1") assert.ok(took <= MOST_MS, `${took} ms`);
  await picture(page, "demo");
  assert.deepEqual(page.foreign, []);
  assert.deepEqual(page.faults, []);
});
