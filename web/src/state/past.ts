// The moment that Live shows: now, or one of the past, which stands in the address. Of the past: where everybody was and who was inside
// what, by what is stored today.

import { computed, effect, signal, untracked } from "@preact/signals";

import { all, api } from "../api/client";
import { reached } from "../api/reach";
import type { VehicleOut } from "../api/schema";
import { fullName } from "../format";
import { Numbering } from "../live/columns";
import { isWrong, now } from "./clock";
import { fleetIds, inside, positions, scope } from "./fleet";
import { Inside } from "./inside";
import { notice } from "./notices";
import { href, route } from "./route";
import { VehicleTable } from "./vehicles";

/** The server is asked once a hand has held still for so long; a large fleet is many pages. */
const STILL_MS = 150;
const STILL_LARGE_MS = 600;
const LARGE = 1000;

/** What a hand on the clock points at, until the address says it. */
const dragged = signal<number | null>(null);

const addressed = computed(() => {
  const { parts, query } = route.value;
  isWrong.value;
  const at = parts[0] === undefined || parts[0] === "live" ? Date.parse(query.get("at") ?? "") : NaN;
  return Number.isNaN(at) || at >= now.peek() ? null : at;
});

/** The moment of the past that is shown, milliseconds since 1970; null for now. */
export const moment = computed(() => dragged.value ?? addressed.value);
/** What clocks show at the moment that is shown. */
export const clock = computed(() => moment.value ?? now.value);

const then = new VehicleTable();
const insideThen = new Inside();
/** Where everybody is at the moment that is shown. */
export const table = computed(() => (moment.value === null ? positions : then));
/** Who is inside which fence at the moment that is shown. */
export const stays = computed(() => (moment.value === null ? inside : insideThen));
/** Who drove at the moment of the past that is shown, by vehicle. */
export const driversThen = signal<ReadonlyMap<string, string>>(new Map());
/** Whether the moment that is shown is not all there yet. */
export const isLoading = signal(false);

/** The address of a vehicle in Live, or of none, at the moment that is shown. */
export const liveHref = (id?: string | null): string => addressOf(id ?? undefined, moment.value);

function addressOf(id: string | undefined, at: number | null): string {
  const view = id === undefined ? href("live") : href("live", id);
  return at === null ? view : `${view}?at=${new Date(at).toISOString().replace(".000Z", "Z")}`;
}

/** Shows a moment while a hand is still on the clock. */
export function point(at: number): void {
  dragged.value = at;
}

/** Shows a moment of the past, or now: the address says it, and Back leads to where one was before. */
export function go(at: number | null): void {
  dragged.value = at;
  location.replace(addressOf(route.peek().parts[1], at));
}

/** Follows the moment of the address, until the returned function is called. */
export function followPast(): () => void {
  let whose: string | undefined;
  const ends = [
    effect(() => {
      addressed.value;
      dragged.value = null;
    }),
    effect(() => {
      const at = moment.value;
      const { organizationId } = scope.value;
      reached.value;
      if (organizationId !== whose) take([]);
      whose = organizationId;
      isLoading.value = at !== null;
      if (at === null || !organizationId) return;
      const abort = new AbortController();
      const ask = () => load(at, abort.signal).then(() => { isLoading.value = false; }, (problem: unknown) => {
        if (abort.signal.aborted) return;
        isLoading.value = false;
        notice(problem);
      });
      const timer = setTimeout(() => void untracked(ask), fleetIds.peek().length > LARGE ? STILL_LARGE_MS : STILL_MS);
      return () => {
        clearTimeout(timer);
        abort.abort();
      };
    }),
  ];
  return () => ends.forEach((end) => end());
}

async function load(at: number, signal: AbortSignal): Promise<void> {
  const asOf = new Date(at).toISOString();
  const fleet = await all((page) => api.get("/v1/vehicles", { query: { ...scope.peek(), ...page, asOf }, signal }));
  // what was asked later counts
  if (!signal.aborted) take(fleet);
}

function take(fleet: readonly VehicleOut[]): void {
  const seen = fleet.flatMap(({ id, live }) => {
    if (!live?.position || !live.lastFixAt) return [];
    const { position, speedKmh, headingDegrees, lastFixAt, receivedAt, motion, state } = live;
    const fix = {
      ...position, recordedAt: lastFixAt, receivedAt: receivedAt ?? lastFixAt, ...(typeof speedKmh === "number" && { speedKmh }),
      ...(typeof headingDegrees === "number" && { headingDegrees }),
    };
    return [{ vehicleId: id, position: fix, motion, state }];
  });
  const columns = new Numbering().columns(seen);
  then.clear();
  insideThen.clear();
  then.put({ ...columns, ids: columns.newIds });
  for (const { id, live } of fleet) live?.geofences?.forEach((stay) => insideThen.enter({ ...stay, vehicleId: id }));
  driversThen.value = new Map(fleet.flatMap(({ id, driver }) => (driver ? [[id, fullName(driver)] as const] : [])));
  then.changed();
  insideThen.changed();
}
