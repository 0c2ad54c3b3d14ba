// What a newcomer sees: `waypost demo`, its link, a map on which buses move.
//
// The time is printed; WAYPOST_TEST_STRICT=1 asserts it too.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Server, hasMap, isLive, picture, setUp } from "./harness/index.mjs";

const MOST_MS = 10_000;

const stage = setUp({ start: () => null });

test("the demo opens on a moving map", async () => {
  const began = performance.now();
  stage.server = await Server.demo();
  const page = await stage.page();
  await page.goto(stage.server.signInLink);
  await isLive(page);
  await hasMap(page);
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
