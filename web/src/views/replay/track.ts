// What a track says: where the vehicle was at an instant, how far it went.

import { beside } from "../../map/antimeridian";
import { bearing } from "../../map/mercator";
import type { Track } from "../../state/track";

/** The last row at or before an instant; 0 before the first. */
export function rowAt({ times, count }: Track, at: number): number {
  let [low, high] = [0, count - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((times[middle] ?? 0) <= at) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** A longer silence is not bridged: nobody knows where the vehicle was. */
const GAP_MS = 120_000;

/** Where the vehicle was at an instant, between two fixes on the straight line. Longitude, which may be beyond 180°, and latitude. */
export function placeAt(track: Track, at: number): [longitude: number, latitude: number] {
  const row = rowAt(track, at);
  const [x, y, time] = [track.longitudes[row] ?? 0, track.latitudes[row] ?? 0, track.times[row] ?? 0];
  const next = track.times[row + 1];
  if (next === undefined || at <= time || next - time > GAP_MS) return [x, y];
  const share = (at - time) / (next - time);
  return [x + (beside(track.longitudes[row + 1] ?? x, x) - x) * share, y + ((track.latitudes[row + 1] ?? y) - y) * share];
}

const between = ({ longitudes, latitudes }: Track, from: number, to: number) =>
  bearing(longitudes[from] ?? 0, latitudes[from] ?? 0, longitudes[to] ?? 0, latitudes[to] ?? 0);

/** Which way it went at a row: what the tracker said, else from this fix to the next. Degrees clockwise from north. */
export function headingAt(track: Track, row: number): number {
  const reported = track.headingsDegrees[row] ?? NaN;
  if (!Number.isNaN(reported) || track.count < 2) return reported;
  const from = Math.min(row, track.count - 2);
  return between(track, from, from + 1).degrees;
}

/** Metres between two rows, near enough for a sum people read. */
export function metersBetween(track: Track, from: number, to: number): number {
  return between(track, from, to).meters;
}

/** The whole way, kilometres. */
export function kilometers(track: Track): number {
  let meters = 0;
  for (let row = 1; row < track.count; row += 1) meters += metersBetween(track, row - 1, row);
  return meters / 1000;
}
