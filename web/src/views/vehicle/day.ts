// A day of a vehicle as it is known: trips and stops, the silence between them, stays in fences, times too fast.

import { api, slices } from "../../api/client";
import type { OverspeedEvent, TripEvent, Visit } from "../../api/schema";
import { isOverspeed } from "../../api/types";
import { fullName, startOfDay } from "../../format";
import { scope } from "../../state/fleet";
import { SILENCE_MS } from "../../state/vehicles";

/** What is known of a day. Times are milliseconds since 1970. */
export interface Day {
  readonly day: string;
  readonly from: number;
  readonly to: number;
  /** Trips and stops that reach into it, by their beginning. */
  readonly records: readonly TripEvent[];
  readonly visits: readonly Visit[];
  readonly overspeeds: readonly OverspeedEvent[];
  /** Names of those who drove, by id. */
  readonly drivers: ReadonlyMap<string, string>;
  /** Whether it reported at all; looked up only where there is no trip and no stop. */
  readonly hasReported: boolean;
}

/** A piece of the strip: the part of a trip, a stop or a silence that lies in the day. */
export interface Part {
  readonly kind: "trip" | "stop" | "silence";
  readonly from: number;
  readonly to: number;
  /** The trip or stop; null for silence. */
  readonly record: TripEvent | null;
}

const MOST = 200;

/** Loads a day, `2026-11-20`, of the zone in force. */
export async function loadDay(id: string, day: string): Promise<Day> {
  const [from, to] = [startOfDay(day), startOfDay(day, 1)];
  const [since, until] = [new Date(from).toISOString(), new Date(to).toISOString()];
  const mine = { ...scope.peek(), vehicleId: [id] };
  const within = { ...mine, from: since, to: until, limit: MOST };
  const ofDay = { ...within, sort: "occurredAt" as const };
  // the last one that began before may reach into it
  const before = { ...mine, to: since, limit: 1 };
  const [trips, stops, ...rest] = await Promise.all([
    slices((after) => api.get("/v1/trips", { query: { ...ofDay, after } })),
    slices((after) => api.get("/v1/stops", { query: { ...ofDay, after } })),
    api.get("/v1/trips", { query: before }),
    api.get("/v1/stops", { query: before }),
    slices((after) => api.get("/v1/visits", { query: { ...within, sort: "enteredAt", after } })),
    slices((after) => api.get("/v1/events", { query: { ...ofDay, type: ["overspeed"], after } })),
    api.get("/v1/vehicles/{id}/drivers", { path: { id }, query: { ...scope.peek(), to: until, limit: MOST } }),
  ]);
  const [tripBefore, stopBefore, visits, overspeeds, drove] = rest;
  const records = [...tripBefore.data, ...stopBefore.data, ...trips, ...stops]
    .filter(({ endedAt }) => !endedAt || Date.parse(endedAt) > from)
    .sort((a, b) => Date.parse(a.startedAt) - Date.parse(b.startedAt));
  const drivers = new Map(drove.data.map(({ driverId, driver }) => [driverId, fullName(driver)]));
  return {
    day, from, to, records, visits, drivers,
    overspeeds: overspeeds.filter(isOverspeed),
    hasReported: records.length > 0 || (await hasFix(id, since, until)),
  };
}

async function hasFix(id: string, from: string, to: string): Promise<boolean> {
  const { data } = await api.get("/v1/vehicles/{id}/positions", { path: { id }, query: { ...scope.peek(), from, to, limit: 1 } });
  return data.length > 0;
}

/**
 * The day from its beginning to its end, or to now. What goes on is known up to the newest fix (`heardAt`): where that is
 * long ago, there is silence behind it.
 */
export function partsOf({ records, from, to }: Day, now: number, heardAt: number): Part[] {
  const end = Math.min(to, now);
  const knownTo = now - heardAt > SILENCE_MS ? heardAt : now;
  const parts: Part[] = [];
  let reached = from;
  const silentUntil = (at: number) => {
    if (at - reached > SILENCE_MS) parts.push({ kind: "silence", from: reached, to: at, record: null });
  };
  for (const record of records) {
    const begins = Math.max(from, Date.parse(record.startedAt));
    const ends = Math.max(begins, Math.min(end, record.endedAt ? Date.parse(record.endedAt) : knownTo));
    silentUntil(begins);
    parts.push({ kind: record.type, from: begins, to: ends, record });
    reached = Math.max(reached, ends);
  }
  silentUntil(end);
  return parts;
}

/** What the trips that ended sum up to, each as a whole; how many go on. */
export function sumOf(records: readonly TripEvent[]): { trips: number; open: number; meters: number; seconds: number } {
  const trips = records.filter(({ type }) => type === "trip");
  const sum = (of: (trip: TripEvent) => number) => trips.reduce((all, trip) => all + of(trip), 0);
  return {
    trips: trips.length,
    open: trips.filter(({ open }) => open).length,
    meters: sum(({ summary }) => summary?.distanceMeters ?? 0),
    seconds: sum(({ summary }) => summary?.durationSeconds ?? 0),
  };
}
