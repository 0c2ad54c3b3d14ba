// Which vehicles the list shows, and in which order. Kept while somebody looks at other views.

import { computed, signal } from "@preact/signals";

import { byName, fullName } from "../../format";
import { isListed, vehicleName, vehicles } from "../../state/fleet";
import { table } from "../../state/past";
import { inAddress } from "../../state/route";
import { STANDINGS, type Standing, speedNow, standings } from "../../state/standing";

export type Kind = "all" | "moving" | "stopped" | "unknown" | "silent";
export type Column = "name" | "state" | "speed" | "age";

export const search = signal("");
export const kind = signal<Kind>("all");
inAddress("live", "q", search, "");
inAddress("live", "show", kind, "all", (text) => ["all", "moving", "stopped", "unknown", "silent"].includes(text));
export const order = signal<{ readonly by: Column; readonly isDown: boolean }>({ by: "name", isDown: false });

const KINDS: Record<Standing, Kind> = { moving: "moving", stopped: "stopped", unknown: "unknown", stale: "silent", offline: "silent" };
/** By the number in `standings`. */
const KIND_OF = STANDINGS.map((standing) => KINDS[standing]);

/** How many there are of each kind. */
export const numbers = computed<Record<Kind, number>>(() => {
  const found: Record<Kind, number> = { all: standings.value.length, moving: 0, stopped: 0, unknown: 0, silent: 0 };
  for (const standing of standings.value) found[KIND_OF[standing] ?? "silent"] += 1;
  return found;
});

/** All by name, as soon as it is known: sorting thousands of names takes its time, so only when there are others. */
const named = computed<readonly string[]>(() => {
  const { membership, ids } = table.value;
  membership.value;
  const known = isListed.value ? ids : ids.filter((id) => vehicles.value.has(id));
  const names = new Map(known.map((id) => [id, vehicleName(id)]));
  return [...known].sort((a, b) => byName(names.get(a) ?? "", names.get(b) ?? ""));
});

const found = computed<readonly string[]>(() => {
  const wanted = search.value.trim().toLocaleLowerCase();
  if (wanted === "") return named.value;
  const has = (text: string | null | undefined) => text?.toLocaleLowerCase().includes(wanted) ?? false;
  const driver = (id: string) => {
    const one = vehicles.value.get(id)?.driver;
    return one ? fullName(one) : "";
  };
  return named.value.filter((id) => has(vehicleName(id)) || has(vehicles.value.get(id)?.plate?.number) || has(driver(id)));
});

/** What a column sorts by; rows without it come last. */
function key(column: Exclude<Column, "name">, row: number): number {
  if (column === "state") return STANDINGS.indexOf(STANDINGS[standings.value[row] ?? 0] ?? "unknown");
  if (column === "speed") return speedNow(row);
  return -(table.value.receivedAt[row] ?? NaN);
}

/** What the list shows. */
export const listed = computed<readonly string[]>(() => {
  const shown = kind.value === "all" ? found.value : found.value.filter((id) => KIND_OF[standings.value[table.value.row(id) ?? -1] ?? -1] === kind.value);
  const { by, isDown } = order.value;
  if (by === "name") return isDown ? [...shown].reverse() : shown;
  table.value.revision.value;
  const sign = isDown ? -1 : 1;
  const keyed = shown.map((id) => ({ id, key: key(by, table.value.row(id) ?? -1) }));
  keyed.sort((a, b) => (Number.isNaN(a.key) ? 1 : Number.isNaN(b.key) ? -1 : sign * (a.key - b.key)));
  return keyed.map(({ id }) => id);
});

/** Those that the map shows; null for all. */
export const onMap = computed<readonly string[] | null>(() => (search.value.trim() === "" && kind.value === "all" ? null : listed.value));

/** Sorts by a column; once more turns it round. */
export function sortBy(by: Column): void {
  order.value = { by, isDown: order.value.by === by ? !order.value.isDown : by === "speed" };
}
