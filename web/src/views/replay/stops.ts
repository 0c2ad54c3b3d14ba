// The stops of a day, as they are recorded: a silence is in them where the vehicle was found again in its place.

import { api, slices } from "../../api/client";
import type { TripEvent } from "../../api/schema";
import { scope } from "../../state/fleet";

const MOST = 200;

/** A time at rest, milliseconds since 1970; one that goes on has no end. */
export interface Stop {
  readonly from: number;
  readonly to: number | null;
  readonly longitude: number;
  readonly latitude: number;
}

const stopOf = ({ startedAt, endedAt, location }: TripEvent): Stop =>
  ({ from: Date.parse(startedAt), to: endedAt ? Date.parse(endedAt) : null, longitude: location.longitude, latitude: location.latitude });

/** Those that reach into a day, in order. */
export async function loadStops(id: string, from: number, to: number): Promise<readonly Stop[]> {
  const [since, until] = [new Date(from).toISOString(), new Date(to).toISOString()];
  const mine = { ...scope.peek(), vehicleId: [id] };
  const [before, stops] = await Promise.all([
    // the last one that began before may reach into it
    api.get("/v1/stops", { query: { ...mine, to: since, limit: 1 } }),
    slices((after) => api.get("/v1/stops", { query: { ...mine, from: since, to: until, sort: "occurredAt", limit: MOST, after } })),
  ]);
  return [...before.data, ...stops].map(stopOf).filter((stop) => stop.to === null || stop.to > from);
}
