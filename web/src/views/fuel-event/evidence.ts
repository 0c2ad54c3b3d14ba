// What is known around a refuel or drain: readings, the tank's line, who drove, who stood near.

import { all, api } from "../../api/client";
import type { Columns, FuelEntry, JudgedFuelEvent, Place } from "../../api/schema";
import { fullName } from "../../format";
import { bearing } from "../../map/mercator";
import { type Person, findDriver } from "../../parts/Driver";
import { fleetIds, scope } from "../../state/fleet";
import { loadFuel } from "../vehicle/Fuel";

const HOUR_MS = 3_600_000;
/** As many readings as fit on a page with the rest. */
const MOST_READINGS = 20;
const READINGS_AROUND_MS = HOUR_MS / 4;
const NEAR_METERS = 200;
/** Of a larger fleet nobody is looked for. */
const MOST_VEHICLES = 1000;

/** A vehicle that stood near. */
export interface Neighbour {
  readonly id: string;
  readonly name: string;
  readonly meters: number;
  readonly ageMs: number;
  readonly driver: string;
}

/** What is shown beside the event itself; null where it cannot be looked for. */
export interface Evidence {
  readonly columns: Columns;
  readonly readings: readonly FuelEntry[];
  readonly neighbours: readonly Neighbour[] | null;
  readonly driver: Person | null;
}

export async function loadEvidence(event: JudgedFuelEvent): Promise<Evidence> {
  const [from, to] = [Date.parse(event.startedAt), Date.parse(event.endedAt)];
  const [columns, readings, neighbours, driver] = await Promise.all([
    loadFuel(event.vehicleId, from - 2 * HOUR_MS, to + 2 * HOUR_MS),
    readingsAround(event.vehicleId, from - READINGS_AROUND_MS, to + READINGS_AROUND_MS),
    event.location ? neighboursAt(event.vehicleId, event.location, event.startedAt) : null,
    event.driverId ? findDriver(event.driverId) : null,
  ]);
  return { columns, readings, neighbours, driver };
}

/** At most as many as one may want to read, spread over the time. */
async function readingsAround(vehicleId: string, from: number, to: number): Promise<FuelEntry[]> {
  const query = { ...scope.peek(), vehicleId: [vehicleId], from: new Date(from).toISOString(), to: new Date(to).toISOString(), sort: "recordedAt" as const, limit: 1000 };
  const { data } = await api.get("/v1/fuel", { query });
  const step = Math.max(1, (data.length - 1) / (MOST_READINGS - 1));
  return data.filter((_, index) => Math.floor(index / step) !== Math.floor((index - 1) / step) || index === data.length - 1);
}

async function neighboursAt(vehicleId: string, place: Place, at: string): Promise<Neighbour[] | null> {
  if (fleetIds.peek().length > MOST_VEHICLES) return null;
  const fleet = await all((page) => api.get("/v1/vehicles", { query: { ...scope.peek(), ...page, asOf: at } }));
  const near = fleet.flatMap(({ id, name, live, driver }) => {
    const position = live?.position;
    if (!position || id === vehicleId) return [];
    const { meters } = bearing(place.longitude, place.latitude, position.longitude, position.latitude);
    const ageMs = Date.parse(at) - Date.parse(live.lastFixAt ?? at);
    return meters <= NEAR_METERS ? [{ id, name, meters, ageMs, driver: driver ? fullName(driver) : "" }] : [];
  });
  return near.sort((a, b) => a.meters - b.meters);
}
