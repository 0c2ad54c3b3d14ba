// How a vehicle stands: moving or not while it is heard of, else for how long it has been silent.

import { computed } from "@preact/signals";

import { now } from "./clock";
import { organization, positions } from "./fleet";

/** In the order of the numbers in `standings`. The first three are MOTIONS. */
export const STANDINGS = ["unknown", "stopped", "moving", "stale", "offline"] as const;
export type Standing = (typeof STANDINGS)[number];

const [UNKNOWN, STOPPED, MOVING] = [0, 1, 2];
const STALE = STANDINGS.indexOf("stale");
const OFFLINE = STANDINGS.indexOf("offline");

/** Below this a vehicle stands, also where its newest fix ends a way (docs/tracking.md, "Motion"). */
const LEAST_MOVING_KMH = 3;

/**
 * The standing of each row of the table, places in STANDINGS, by the organization's settings; follows the clock. Of a tracker that
 * sends what it recorded long ago nobody knows how it stands now.
 */
export const standings = computed<Uint8Array<ArrayBuffer>>(() => {
  positions.revision.value;
  const settings = organization.value?.settings;
  const staleBefore = now.value - (settings?.staleAfterSeconds ?? Infinity) * 1000;
  const offlineBefore = now.value - (settings?.offlineAfterSeconds ?? Infinity) * 1000;
  const found = positions.motions.slice(0, positions.count);
  for (let row = 0; row < found.length; row += 1) {
    const heardAt = positions.receivedAt[row] ?? 0;
    if (heardAt < offlineBefore) found[row] = OFFLINE;
    else if (heardAt < staleBefore) found[row] = STALE;
    else if ((positions.recordedAt[row] ?? 0) < staleBefore) found[row] = UNKNOWN;
    else if (found[row] === MOVING && (positions.speedsKmh[row] ?? NaN) < LEAST_MOVING_KMH) found[row] = STOPPED;
  }
  return found;
});

/** The standing of one row. */
export const standing = (row: number): Standing => STANDINGS[standings.value[row] ?? 0] ?? "unknown";

/** How fast a vehicle is, km/h; NaN where that is not known, or no more than what it was when it was heard of last. */
export function speedNow(row: number): number {
  const staleBefore = now.value - (organization.value?.settings?.staleAfterSeconds ?? Infinity) * 1000;
  const isOld = Math.min(positions.recordedAt[row] ?? 0, positions.receivedAt[row] ?? 0) < staleBefore;
  return isOld ? NaN : positions.speedsKmh[row] ?? NaN;
}
