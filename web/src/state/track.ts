// Where a vehicle was in a time, as columns of numbers: a day at one fix a second is 86,400 rows.

import { api } from "../api/client";
import type { StoredPosition } from "../api/schema";
import type { Drawn } from "../map/vehicle_layer";
import { scope } from "./fleet";

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
