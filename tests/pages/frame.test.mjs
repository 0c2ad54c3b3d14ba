// What the map frames: the smallest part of the world with all of them in it, also where that lies on both sides of 180 degrees.

import assert from "node:assert/strict";
import { test } from "node:test";

import { sources } from "./harness/source.mjs";

const modules = sources("/src/map/frame.ts");
const frame = () => modules["/src/map/frame.ts"];
const span = ({ west, east }) => [west, east];

test("places on both sides of 180 degrees are framed over it, all others as they lie", () => {
  const { around } = frame();
  assert.equal(around([]), null);
  assert.deepEqual(around([[18, 59]]), { west: 18, south: 59, east: 18, north: 59 });
  assert.deepEqual(around([[13, 52], [-3, 40], [2, 48]]), { west: -3, south: 40, east: 13, north: 52 });
  assert.deepEqual(around([[178.4, -18.1], [-179.9, -16.5], [179.3, -17]]), { west: 178.4, south: -18.1, east: 180.1, north: -16.5 });
  assert.deepEqual(span(around([[180, 0], [-180, 0]])), [180, 180]);
  // what is left out is the widest gap, be it in the Atlantic or in the Pacific
  assert.deepEqual(span(around([[-122, 37], [-74, 40], [13, 52], [77, 28], [139, 35]])), [-122, 139]);
  assert.deepEqual(span(around([[-122, 37], [139, 35], [151, -33]])), [139, 238]);
  // of a fence that is drawn over it, some corners are beyond 180 already
  assert.deepEqual(span(around([[179, 0], [181, 0], [-178.5, 0]])), [179, 181.5]);
});

test("a line is framed as it leads, though its ends are close on the other side", () => {
  const { aroundLine } = frame();
  assert.equal(aroundLine([]), null);
  assert.deepEqual(span(aroundLine([[-170, 0], [-60, 0], [60, 0], [170, 0]])), [-170, 170]);
  assert.deepEqual(span(aroundLine([[170, 0], [-170, 0]])), [170, 190]);
});

test("a frame is in view also where the map is a turn further", () => {
  const { isWithin } = frame();
  const fiji = { west: 177, south: -19, east: 181, north: -16 };
  assert.equal(isWithin(fiji, { west: 170, south: -30, east: 190, north: 0 }), true);
  assert.equal(isWithin(fiji, { west: -190, south: -30, east: -170, north: 0 }), true);
  assert.equal(isWithin(fiji, { west: 160, south: -30, east: 180, north: 0 }), false);
  assert.equal(isWithin(fiji, { west: 170, south: -18, east: 190, north: 0 }), false);
});

test("a fence as wide as a country is no place to frame, one over 180 degrees is", () => {
  const { cornersOf } = frame();
  const fence = (west, east) => ({ type: "Feature", properties: {}, geometry: { type: "Polygon", coordinates: [[[west, 0], [east, 0], [east, 1], [west, 0]]] } });
  assert.equal(cornersOf([fence(0, 6)]).length, 0);
  assert.equal(cornersOf([fence(179, 181)]).length, 4);
});
