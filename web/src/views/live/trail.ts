// Where the chosen vehicle went in the last half hour, and goes on going; or the way of one of its trips.

import { type ReadonlySignal, computed, effect, signal, untracked } from "@preact/signals";

import { api } from "../../api/client";
import { reached } from "../../api/reach";
import type { Point } from "../../map/geodesic";
import { now } from "../../state/clock";
import { positions, scope, vehicles } from "../../state/fleet";
import { notice } from "../../state/notices";
import { loadTrack } from "../../state/track";
import type { Way } from "../../state/way";

const BACK_MS = 30 * 60_000;
/** One slice of the history; at one fix a second a little more than a quarter of an hour. */
const MOST_FIXES = 1000;

/** A way with its places, once they are loaded. */
export interface LoadedWay extends Way {
  readonly points: readonly Point[];
}

export interface Trail {
  readonly points: ReadonlySignal<readonly Point[]>;
  readonly way: ReadonlySignal<LoadedWay | null>;
  readonly stop: () => void;
}

/** The trail as a signal, until `stop` is called. */
export function followTrail(chosen: ReadonlySignal<string | null>, way: ReadonlySignal<Way | null>): Trail {
  const points = signal<readonly Point[]>([]);
  const loaded = signal<LoadedWay | null>(null);
  const isKnown = computed(() => chosen.value !== null && vehicles.value.has(chosen.value));
  const ends = [
    effect(() => {
      const id = chosen.value;
      reached.value;
      const shown = way.value?.vehicleId === id ? way.value : null;
      let isChosen = true;
      points.value = [];
      loaded.value = null;
      if (id && isKnown.value) untracked(() => (shown ? loadWay(shown) : load(id))).then((before) => {
        if (!isChosen) return;
        // where it is may be told already
        const [x, y] = before.at(-1) ?? [];
        const since = points.peek();
        points.value = [...before, ...(since[0] && since[0][0] === x && since[0][1] === y ? since.slice(1) : since)];
        if (shown) loaded.value = { ...shown, points: points.peek() };
      }, notice);
      return () => { isChosen = false; };
    }),
    effect(() => {
      positions.revision.value;
      // what ended goes on no more
      if (way.value?.to) return;
      const row = chosen.value === null ? undefined : positions.row(chosen.value);
      if (row === undefined) return;
      const place: Point = [positions.longitudes[row] ?? 0, positions.latitudes[row] ?? 0];
      const [x, y] = points.peek().at(-1) ?? [];
      if (x !== place[0] || y !== place[1]) points.value = way.peek() ? [...points.peek(), place] : [...points.peek(), place].slice(-2 * MOST_FIXES);
    }),
  ];
  return { points, way: loaded, stop: () => ends.forEach((end) => end()) };
}

async function loadWay({ vehicleId, from, to }: Way): Promise<Point[]> {
  // up to the last fix itself
  const { count, longitudes, latitudes } = await loadTrack(vehicleId, from, (to ?? now.peek()) + 1, () => {});
  return Array.from({ length: count }, (_, row): Point => [longitudes[row] ?? 0, latitudes[row] ?? 0]);
}

async function load(id: string): Promise<Point[]> {
  const from = new Date(now.peek() - BACK_MS).toISOString();
  const query = { ...scope.peek(), from, sort: "-recordedAt" as const, limit: MOST_FIXES };
  const { data } = await api.get("/v1/vehicles/{id}/positions", { path: { id }, query });
  return data.map(({ longitude, latitude }): Point => [longitude, latitude]).reverse();
}
