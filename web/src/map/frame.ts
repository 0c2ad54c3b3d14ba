// What the map frames: the smallest part of the world that has all of some places in it, over the antimeridian too. Degrees.

import { beside, unwrapped } from "./antimeridian";
import type { Point } from "./geodesic";

/** From west to east, which is the larger number: 181 is a degree beyond the antimeridian. */
export interface Frame {
  readonly west: number;
  readonly south: number;
  readonly east: number;
  readonly north: number;
}

/** A fence wider than this is a country, not a place: the map does not open on it. */
const WIDE_DEGREES = 5;

/** The frame around places wherever they are; null around none. What is left out is the widest gap between two of them. */
export function around(places: Iterable<readonly number[]>): Frame | null {
  const longitudes: number[] = [];
  let [south, north] = [Infinity, -Infinity];
  for (const [longitude = 0, latitude = 0] of places) {
    longitudes.push(beside(longitude, 0));
    south = Math.min(south, latitude);
    north = Math.max(north, latitude);
  }
  const sorted = Float64Array.from(longitudes).sort();
  const [first, last] = [sorted[0], sorted.at(-1)];
  if (first === undefined || last === undefined) return null;
  let [west, east, gap] = [first, last, first + 360 - last];
  for (let place = 1; place < sorted.length; place += 1) {
    const [before, after] = [sorted[place - 1] ?? 0, sorted[place] ?? 0];
    if (after - before > gap) [west, east, gap] = [after, before + 360, after - before];
  }
  return { west, south, east, north };
}

/** Around a line, whose every part is the shorter way: it may lead further around the world than its ends are apart. */
export function aroundLine(points: readonly Point[]): Frame | null {
  let [west, south, east, north] = [Infinity, Infinity, -Infinity, -Infinity];
  for (const [longitude, latitude] of unwrapped(points)) {
    [west, east] = [Math.min(west, longitude), Math.max(east, longitude)];
    [south, north] = [Math.min(south, latitude), Math.max(north, latitude)];
  }
  return points.length > 0 ? { west, south, east, north } : null;
}

/** The corners of fences that are places. */
export function cornersOf(fences: readonly GeoJSON.Feature[]): Point[] {
  return fences.flatMap(({ geometry }) => {
    const rings = geometry.type === "Polygon" ? geometry.coordinates : geometry.type === "MultiPolygon" ? geometry.coordinates.flat() : [];
    const corners = rings.flat() as Point[];
    const frame = around(corners);
    return frame && frame.east - frame.west < WIDE_DEGREES ? corners : [];
  });
}

/** Whether all of one is within another, which may be a turn further. */
export function isWithin(one: Frame, other: Frame): boolean {
  const west = beside((one.west + one.east) / 2, (other.west + other.east) / 2) - (one.east - one.west) / 2;
  return west >= other.west && west + one.east - one.west <= other.east && one.south >= other.south && one.north <= other.north;
}
