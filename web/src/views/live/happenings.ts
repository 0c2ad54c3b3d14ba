// Events as people read them: the entry and the exit of a stay together, without the fences that are muted.

import { computed, signal } from "@preact/signals";

import type { ConnectionEvent, Event, FuelRecord, OverspeedEvent } from "../../api/schema";
import { isConnection, isOfFuel, isOverspeed } from "../../api/types";
import { events } from "../../state/fleet";

const KEY = "waypost.muted";

/** A stay as far as it is known, what happened last deciding its place; or a refuel or drain; or a time over a limit; or a vehicle heard of or not. */
export type Happening =
  | { readonly key: string; readonly last: Event; readonly entry?: Event; readonly exit?: Event }
  | { readonly key: string; readonly fuel: FuelRecord }
  | { readonly key: string; readonly over: OverspeedEvent }
  | { readonly key: string; readonly heard: ConnectionEvent };

function kept(): readonly string[] {
  try {
    const list: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(list) ? list.filter((id) => typeof id === "string") : [];
  } catch {
    return [];
  }
}

/** Fences whose events are not shown, in this browser. */
export const muted = signal(kept());

/** Mutes a fence or lets it be heard again. */
export function mute(fenceId: string, isMuted: boolean): void {
  muted.value = [...muted.value.filter((id) => id !== fenceId), ...(isMuted ? [fenceId] : [])];
  localStorage.setItem(KEY, JSON.stringify(muted.value));
}

/** What happened, newest first. */
export const happenings = computed<readonly Happening[]>(() => {
  const silent = new Set(muted.value);
  const byKey = new Map<string, Happening>();
  for (const event of events.list.value) {
    if (isOfFuel(event)) byKey.set(event.id, { key: event.id, fuel: event });
    else if (isConnection(event)) byKey.set(event.id, { key: event.id, heard: event });
    else if (isOverspeed(event)) {
      if (!event.geofenceId || !silent.has(event.geofenceId)) byKey.set(event.id, { key: event.id, over: event });
    } else if (!silent.has(event.geofenceId)) {
      const end = event.type === "dwell" ? {} : { [event.type]: event };
      // newest first: the first of a stay is the last that happened, and gives it its place
      byKey.set(event.visitId, { key: event.visitId, last: event, ...end, ...byKey.get(event.visitId) });
    }
  }
  return [...byKey.values()];
});
