// How a vehicle stands: moving or not while it is heard of, else for how long it has been silent.

import { computed } from "@preact/signals";

import { now } from "./clock";
import { organization, positions } from "./fleet";

/** In the order of the numbers in `standings`. The first three are MOTIONS. */
export const STANDINGS = ["unknown", "stopped", "moving", "stale", "offline"] as const;
export type Standing = (typeof STANDINGS)[number];

const STALE = STANDINGS.indexOf("stale");
const OFFLINE = STANDINGS.indexOf("offline");

/** The standing of each row of the table, places in STANDINGS, by the organization's settings; follows the clock. */
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
  }
  return found;
});

/** The standing of one row. */
export const standing = (row: number): Standing => STANDINGS[standings.value[row] ?? 0] ?? "unknown";
