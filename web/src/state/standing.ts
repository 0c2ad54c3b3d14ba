// How a vehicle stands: moving or not while it is heard of, else that it is silent, as the server tells.

import { computed } from "@preact/signals";

import { CONNECTIONS } from "../live/protocol";
import { organization } from "./fleet";
import { clock, table } from "./past";
import { LEAST_MOVING_KMH } from "./vehicles";

/** In the order of the numbers in `standings`. The first three are MOTIONS. */
export const STANDINGS = ["unknown", "stopped", "moving", "stale", "offline"] as const;
export type Standing = (typeof STANDINGS)[number];

const [UNKNOWN, STOPPED, MOVING] = [0, 1, 2];
/** The standing of each of CONNECTIONS but the first, `online`. */
const SILENT = CONNECTIONS.map((connection) => STANDINGS.indexOf(connection as Standing));

/** What was recorded before this does not say how a vehicle stands at the moment that is shown. Milliseconds since 1970. */
const oldBefore = () => clock.value - (organization.value?.settings?.staleAfterSeconds ?? Infinity) * 1000;

/**
 * The standing of each row of the table, places in STANDINGS. Who is silent is what the server tells; of a tracker that is heard of and
 * sends what it recorded long ago nobody knows how it stands now.
 */
export const standings = computed<Uint8Array<ArrayBuffer>>(() => {
  const positions = table.value;
  positions.revision.value;
  const before = oldBefore();
  const found = positions.motions.slice(0, positions.count);
  for (let row = 0; row < found.length; row += 1) {
    const connection = positions.connections[row] ?? 0;
    if (connection > 0) found[row] = SILENT[connection] ?? UNKNOWN;
    else if ((positions.recordedAt[row] ?? 0) < before) found[row] = UNKNOWN;
    else if (found[row] === MOVING && (positions.speedsKmh[row] ?? NaN) < LEAST_MOVING_KMH) found[row] = STOPPED;
  }
  return found;
});

/** The standing of one row. */
export const standing = (row: number): Standing => STANDINGS[standings.value[row] ?? 0] ?? "unknown";

/** How fast a vehicle is at the moment that is shown, km/h; NaN where that is not known, or only what it was when it was heard of last. */
export function speedNow(row: number): number {
  const positions = table.value;
  const isOld = positions.connections[row] !== 0 || (positions.recordedAt[row] ?? 0) < oldBefore();
  return isOld ? NaN : positions.speedsKmh[row] ?? NaN;
}
