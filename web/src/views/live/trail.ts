// Where the chosen vehicle went in the last half hour, and goes on going.

import { type ReadonlySignal, computed, effect, signal, untracked } from "@preact/signals";

import { api } from "../../api/client";
import { reached } from "../../api/reach";
import type { Point } from "../../map/geodesic";
import { now } from "../../state/clock";
import { positions, scope, vehicles } from "../../state/fleet";
import { notice } from "../../state/notices";

const BACK_MS = 30 * 60_000;
/** One slice of the history; at one fix a second a little more than a quarter of an hour. */
const MOST_FIXES = 1000;

/** The trail as a signal, until `stop` is called. */
export function followTrail(chosen: ReadonlySignal<string | null>): { readonly points: ReadonlySignal<readonly Point[]>; readonly stop: () => void } {
  const points = signal<readonly Point[]>([]);
  const isKnown = computed(() => chosen.value !== null && vehicles.value.has(chosen.value));
  const ends = [
    effect(() => {
      const id = chosen.value;
      reached.value;
      let isChosen = true;
      points.value = [];
      if (id && isKnown.value) untracked(() => load(id)).then((before) => {
        if (isChosen) points.value = [...before, ...points.peek()];
      }, notice);
      return () => { isChosen = false; };
    }),
    effect(() => {
      positions.revision.value;
      const row = chosen.value === null ? undefined : positions.row(chosen.value);
      if (row === undefined) return;
      const place: Point = [positions.longitudes[row] ?? 0, positions.latitudes[row] ?? 0];
      const [x, y] = points.peek().at(-1) ?? [];
      if (x !== place[0] || y !== place[1]) points.value = [...points.peek(), place].slice(-2 * MOST_FIXES);
    }),
  ];
  return { points, stop: () => ends.forEach((end) => end()) };
}

async function load(id: string): Promise<Point[]> {
  const from = new Date(now.peek() - BACK_MS).toISOString();
  const query = { ...scope.peek(), from, sort: "-recordedAt" as const, limit: MOST_FIXES };
  const { data } = await api.get("/v1/vehicles/{id}/positions", { path: { id }, query });
  return data.map(({ longitude, latitude }): Point => [longitude, latitude]).reverse();
}
