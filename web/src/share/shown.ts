// What a link shows: asked for again and again as long as somebody looks, by the token in the page's address.

import { signal } from "@preact/signals";

import { prepare, send } from "../api/http";
import { Problem } from "../api/problem";
import type { ShownVehicle, ShownVehicles } from "../api/schema";
import { MOTIONS, type Fixes } from "../live/protocol";
import { Newest } from "../parts/newest";
import { serverSays } from "../state/clock";
import { VehicleTable } from "../state/vehicles";

const LOOK_EVERY_MS = 5000;

/** What the link shows now; null before the first answer. */
export const shown = signal<ShownVehicles | null>(null);
/** How it stands: over is told of a link that ended, unknown of one that was revoked or is not whole. */
export const standing = signal<"asking" | "shown" | "away" | "over" | "unknown">("asking");
/** Where the vehicles are, by their keys. */
export const places = new VehicleTable();

/** Names are not unique; a vehicle's key is, and stays the same while the link shows it. */
export const keyed = (vehicles: readonly ShownVehicle[]): readonly (readonly [key: string, vehicle: ShownVehicle])[] =>
  vehicles.map((vehicle, index) => {
    const alike = vehicles.slice(0, index).filter(({ name }) => name === vehicle.name).length;
    return [alike === 0 ? vehicle.name : `${vehicle.name} (${alike + 1})`, vehicle];
  });

const newest = new Newest();

async function look(token: string): Promise<void> {
  const counts = newest.ask();
  try {
    const found = await send<ShownVehicles>(prepare("get", "/s/{token}/vehicles", { path: { token } }), undefined);
    if (!counts()) return;
    serverSays(found.asOf);
    shown.value = found;
    standing.value = "shown";
    place(found.vehicles);
  } catch (problem) {
    if (!counts()) return;
    const status = problem instanceof Problem ? problem.status : 0;
    if (status === 404 || status === 410) {
      standing.value = status === 410 ? "over" : "unknown";
      shown.value = null;
    } else standing.value = "away";
  }
}

function place(vehicles: readonly ShownVehicle[]): void {
  const there = keyed(vehicles).flatMap(([key, { position, ...one }]) => (position ? [{ key, position, ...one }] : []));
  const ids = there.map(({ key }) => key);
  [...places.ids].filter((id) => !ids.includes(id)).forEach((id) => places.remove(id));
  const unknown = () => new Float32Array(there.length).fill(NaN);
  const heard = Float64Array.from(there, ({ lastHeardAt }) => Date.parse(lastHeardAt ?? ""));
  const fixes: Fixes = {
    ids, newIds: [],
    longitudes: Float64Array.from(there, ({ position }) => position.longitude),
    latitudes: Float64Array.from(there, ({ position }) => position.latitude),
    speedsKmh: unknown(), headingsDegrees: unknown(), recordedAt: heard, receivedAt: heard,
    motions: Uint8Array.from(there, ({ motion }) => MOTIONS.indexOf(motion)),
    connections: new Uint8Array(there.length),
  };
  places.put(fixes);
  places.changed();
}

/** Follows the link from now on, until it ends. */
export function followShown(): void {
  const token = decodeURIComponent(location.pathname.split("/")[2] ?? "");
  const again = () => {
    if (document.hidden || standing.peek() === "over" || standing.peek() === "unknown") return;
    void look(token);
  };
  void look(token);
  setInterval(again, LOOK_EVERY_MS);
  document.addEventListener("visibilitychange", again);
}
