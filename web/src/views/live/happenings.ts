// Events as people read them: the entry and the exit of a stay together, without the fences that are muted.

import { computed, signal } from "@preact/signals";

import type { Event } from "../../api/schema";
import { events } from "../../state/fleet";

const KEY = "waypost.muted";

/** A stay as far as it is known: what happened last decides its place. */
export interface Happening {
  readonly visitId: string;
  readonly last: Event;
  readonly entry?: Event;
  readonly exit?: Event;
}

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
  const byVisit = new Map<string, Happening>();
  for (const event of events.list.value) {
    if (silent.has(event.geofenceId)) continue;
    const known = byVisit.get(event.visitId);
    const end = event.type === "dwell" ? {} : { [event.type]: event };
    // newest first: the first of a stay is the last that happened, and gives it its place
    byVisit.set(event.visitId, { visitId: event.visitId, last: event, ...end, ...known });
  }
  return [...byVisit.values()];
});
