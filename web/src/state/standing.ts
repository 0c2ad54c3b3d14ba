// How a vehicle stands: moving or not while it is heard of, else for how long it has been silent.

import { now } from "./clock";
import { organization, positions } from "./fleet";
import { MOTIONS } from "./vehicles";

export type Standing = "moving" | "stopped" | "unknown" | "stale" | "offline";

/** The standing of a row of the table, by the organization's settings; follows the clock. */
export function standing(row: number): Standing {
  const settings = organization.value?.settings;
  const silentSeconds = (now.value - (positions.receivedAt[row] ?? 0)) / 1000;
  if (settings && silentSeconds > settings.offlineAfterSeconds) return "offline";
  if (settings && silentSeconds > settings.staleAfterSeconds) return "stale";
  return MOTIONS[positions.motions[row] ?? 0] ?? "unknown";
}
