// Some rows of a table of vehicles as a table of its own.

import type { Shown } from "./fleet_map";

type Some = Shown & { readonly standings: Uint8Array };

/** The rows of these vehicles, with their standings; one that is not there is left out. */
export function rowsOf(table: Shown, standings: Uint8Array, ids: readonly string[]): Some {
  return pick(table, standings, ids.flatMap((id) => table.row(id) ?? []));
}

/** These rows, with their standings. */
export function pick(table: Shown, standings: Uint8Array, rows: readonly number[]): Some {
  const known = rows.map((row) => table.ids[row] ?? "");
  const places = new Map(known.map((id, place) => [id, place]));
  return {
    count: known.length,
    ids: known,
    row: (id) => places.get(id),
    longitudes: Float64Array.from(rows, (row) => table.longitudes[row] ?? NaN),
    latitudes: Float64Array.from(rows, (row) => table.latitudes[row] ?? NaN),
    headingsDegrees: Float32Array.from(rows, (row) => table.headingsDegrees[row] ?? NaN),
    standings: Uint8Array.from(rows, (row) => standings[row] ?? 0),
  };
}
