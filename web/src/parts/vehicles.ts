// Vehicles to choose from, found at the server by name or plate.

import { api } from "../api/client";
import type { VehicleOut } from "../api/schema";
import { scope } from "../state/fleet";
import type { Thing } from "./FindField";

type Asked = Pick<NonNullable<NonNullable<Parameters<typeof api.get<"/v1/vehicles">>[1]>["query"]>, "status">;

/** What a `FindField` finds: vehicles as `asked`, those of `not` left out; beside each what tells it from others. */
export const findVehicles = (
  note: (vehicle: VehicleOut) => string | undefined = ({ plate }) => plate?.number, asked: Asked = {}, not: ReadonlySet<string> = new Set(),
) => async (q: string, limit: number): Promise<readonly Thing[]> => {
  const query = { ...scope.peek(), ...asked, q, limit: limit + not.size, include: "none" as const, sort: "name" };
  const { data } = await api.get("/v1/vehicles", { query });
  return data.filter(({ id }) => !not.has(id)).slice(0, limit).map((vehicle) => ({ id: vehicle.id, name: vehicle.name, note: note(vehicle) }));
};
