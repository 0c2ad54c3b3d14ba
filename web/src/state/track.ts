// Where a vehicle was in a time, as columns of numbers: a day at one fix a second is 86,400 rows.

import { api } from "../api/client";
import type { StoredPosition } from "../api/schema";
import { bearing } from "../map/mercator";
import type { Drawn } from "../map/vehicle_layer";
import { scope } from "./fleet";
import { SILENCE_MS } from "./vehicles";

/** Rows by time. Unknown numbers are NaN. */
export interface Track extends Drawn {
  /** Milliseconds since 1970. */
  readonly times: Float64Array;
  /** What the tracker said. */
  readonly speedsKmh: Float32Array;
  /** The same, and what it did not say by the way it went; unknown behind a silence. */
  readonly wentKmh: Float32Array;
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

/** As the server judges who says no speed (docs/tracking.md, "Motion"): from the newest fix so much older, unless it is too old. */
const WAYMARK_MS = 30_000;
/** A parked receiver wanders so far. */
const NOISE_METERS = 20;

function columnsOf(fixes: readonly StoredPosition[]): Track {
  const track = written(fixes);
  const { times, longitudes, latitudes, wentKmh } = track;
  let mark = 0;
  for (let row = 1; row < track.count; row += 1) {
    const since = (from: number) => (times[row] ?? 0) - (times[from] ?? 0);
    while (mark + 1 < row && since(mark + 1) >= WAYMARK_MS) mark += 1;
    const from = since(mark) >= WAYMARK_MS && since(mark) <= SILENCE_MS ? mark : row - 1;
    if (!Number.isNaN(wentKmh[row]) || since(from) <= 0 || since(from) > SILENCE_MS) continue;
    const { meters } = bearing(longitudes[from] ?? 0, latitudes[from] ?? 0, longitudes[row] ?? 0, latitudes[row] ?? 0);
    wentKmh[row] = meters > NOISE_METERS ? (meters / since(from)) * 3600 : 0;
  }
  return track;
}

function written(fixes: readonly StoredPosition[]): Track {
  const speedsKmh = Float32Array.from(fixes, ({ speedKmh }) => speedKmh ?? NaN);
  return {
    count: fixes.length,
    times: Float64Array.from(fixes, ({ recordedAt }) => Date.parse(recordedAt)),
    longitudes: Float64Array.from(fixes, ({ longitude }) => longitude),
    latitudes: Float64Array.from(fixes, ({ latitude }) => latitude),
    speedsKmh,
    wentKmh: speedsKmh.slice(),
    headingsDegrees: Float32Array.from(fixes, ({ headingDegrees }) => headingDegrees ?? NaN),
  };
}
