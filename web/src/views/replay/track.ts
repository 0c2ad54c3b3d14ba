// Where a vehicle was in a time, as columns of numbers: a day at one fix a second is 86,400 rows.

import { api } from "../../api/client";
import type { StoredPosition } from "../../api/schema";
import { bearing } from "../../map/mercator";
import type { Drawn } from "../../map/vehicle_layer";
import { scope } from "../../state/fleet";

/** Rows by time. Unknown numbers are NaN. */
export interface Track extends Drawn {
  /** Milliseconds since 1970. */
  readonly times: Float64Array;
  readonly speedsKmh: Float32Array;
}

/** So much is asked for by one request, several of them at the same time. */
const PART_MS = 2 * 3_600_000;
const SLICE = 1000;

/** Loads a vehicle's track from an instant to another (milliseconds since 1970); `tell` hears how much is there. */
export async function loadTrack(id: string, from: number, to: number, tell: (fixes: number) => void): Promise<Track> {
  let count = 0;
  const parts = Math.max(1, Math.ceil((to - from) / PART_MS));
  const part = async (index: number): Promise<StoredPosition[]> => {
    const at = (share: number) => new Date(from + ((to - from) * share) / parts).toISOString();
    const found: StoredPosition[] = [];
    let after: string | undefined;
    for (;;) {
      const query = { ...scope.peek(), from: at(index), to: at(index + 1), limit: SLICE, after };
      const { data, pagination } = await api.get("/v1/vehicles/{id}/positions", { path: { id }, query });
      found.push(...data);
      tell(count += data.length);
      if (!pagination.hasNextPage) return found;
      after = pagination.endCursor ?? undefined;
    }
  };
  return columnsOf((await Promise.all(Array.from({ length: parts }, (_, index) => part(index)))).flat());
}

function columnsOf(fixes: readonly StoredPosition[]): Track {
  return {
    count: fixes.length,
    times: Float64Array.from(fixes, ({ recordedAt }) => Date.parse(recordedAt)),
    longitudes: Float64Array.from(fixes, ({ longitude }) => longitude),
    latitudes: Float64Array.from(fixes, ({ latitude }) => latitude),
    speedsKmh: Float32Array.from(fixes, ({ speedKmh }) => speedKmh ?? NaN),
    headingsDegrees: Float32Array.from(fixes, ({ headingDegrees }) => headingDegrees ?? NaN),
  };
}

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

/** Where the vehicle was at an instant, between two fixes on the straight line. Longitude, latitude. */
export function placeAt(track: Track, at: number): [longitude: number, latitude: number] {
  const row = rowAt(track, at);
  const [x, y, time] = [track.longitudes[row] ?? 0, track.latitudes[row] ?? 0, track.times[row] ?? 0];
  const next = track.times[row + 1];
  if (next === undefined || at <= time || next - time > GAP_MS) return [x, y];
  const share = (at - time) / (next - time);
  return [x + ((track.longitudes[row + 1] ?? x) - x) * share, y + ((track.latitudes[row + 1] ?? y) - y) * share];
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

/** A time at rest. */
export interface Stop {
  readonly from: number;
  readonly to: number;
  readonly longitude: number;
  readonly latitude: number;
}

const STOP_METERS = 40;
const STOP_MS = 120_000;

/** Times of two minutes and longer in which the vehicle stayed within 40 m of where it came to rest. */
export function stopsOf(track: Track): Stop[] {
  const stops: Stop[] = [];
  let first = 0;
  for (let row = 1; row <= track.count; row += 1) {
    while (first < row && (row === track.count || metersBetween(track, first, row) >= STOP_METERS)) {
      const [from, to] = [track.times[first] ?? 0, track.times[row - 1] ?? 0];
      const isStop = to - from >= STOP_MS;
      if (isStop) stops.push({ from, to, longitude: track.longitudes[first] ?? 0, latitude: track.latitudes[first] ?? 0 });
      first = isStop ? row : first + 1;
    }
  }
  return stops;
}
