// Many vehicles told as few: those of one cell of a grid are one cluster, with how many move, stand and are silent. Pure.

import { mercatorX, mercatorY } from "./mercator";
import type { Shown } from "./fleet_map";

/** With fewer vehicles in view each is drawn by itself. */
export const CLUSTERS_FROM = 300;
/** A cell where the map shows a whole zoom level; up to twice that between two. CSS pixels. */
const CELL_PIXELS = 64;
const WORLD_PIXELS = 512;
/** More cells than this there are not on one side of the world, at any zoom. */
const ROW = 2 ** 26;
/** The first of the standings (state/standing.ts) that is silent, and the one that moves. */
const [MOVING, SILENT] = [2, 3];

/** Vehicles of one cell. */
export interface Cluster {
  /** Their middle: mercator, 0 to 1, and degrees. */
  readonly x: number;
  readonly y: number;
  readonly longitude: number;
  readonly latitude: number;
  readonly count: number;
  readonly moving: number;
  readonly silent: number;
  /** The place of its cell: it stays the same while the map is moved, and while who is in it changes. */
  readonly key: number;
  readonly rows: readonly number[];
}

/** What the map shows: the middle and half of the width and height, mercator, and the zoom. */
export interface View {
  readonly x: number;
  readonly y: number;
  readonly halfWidth: number;
  readonly halfHeight: number;
  readonly zoom: number;
}

export interface Grouped {
  readonly clusters: readonly Cluster[];
  /** Rows that are drawn by themselves. */
  readonly alone: readonly number[];
}

/**
 * Groups the vehicles in view and one view around; while few are in view each of them is by itself. Null where there are few at all: then
 * nobody need be left out. Those of `kept` rows stay by themselves. Ten thousand take some two milliseconds.
 */
export function group(shown: Shown, standings: Uint8Array, view: View, kept: ReadonlySet<number>): Grouped | null {
  const { count } = shown;
  if (count < CLUSTERS_FROM) return null;
  const [xs, ys] = [new Float64Array(count), new Float64Array(count)];
  let inView = 0;
  for (let row = 0; row < count; row += 1) {
    xs[row] = mercatorX(shown.longitudes[row] ?? 0);
    ys[row] = mercatorY(shown.latitudes[row] ?? 0);
    if (isWithin(view, xs[row] ?? 0, ys[row] ?? 0, 1)) inView += 1;
  }
  const isFew = inView < CLUSTERS_FROM;
  const cells = (WORLD_PIXELS / CELL_PIXELS) * 2 ** Math.floor(view.zoom);
  const byCell = new Map<number, number[]>();
  const alone: number[] = [];
  for (let row = 0; row < count; row += 1) {
    const [x, y] = [xs[row] ?? 0, ys[row] ?? 0];
    const isNear = isWithin(view, x, y, 3);
    if (kept.has(row) || (isFew && isNear)) alone.push(row);
    else if (!isFew && isNear) {
      const key = Math.floor(x * cells) * ROW + Math.floor(y * cells);
      const rows = byCell.get(key);
      if (rows) rows.push(row);
      else byCell.set(key, [row]);
    }
  }
  const found = [...byCell].map(([key, rows]) => clusterOf(key, rows, shown, standings, xs, ys));
  const clusters: Cluster[] = [];
  for (const cluster of apart(found, cells)) {
    if (cluster.count === 1) alone.push(...cluster.rows);
    else clusters.push(cluster);
  }
  return { clusters, alone };
}

/** Where discs of neighbouring cells would cover each other, the larger one takes the smaller one in, and stays where it is. */
function apart(clusters: readonly Cluster[], cells: number): Cluster[] {
  const left = new Map(clusters.map((cluster) => [cluster.key, cluster]));
  const world = cells * CELL_PIXELS;
  for (const { key } of [...clusters].sort((a, b) => b.count - a.count)) {
    for (const across of [-ROW, 0, ROW]) {
      for (const down of [-1, 0, 1]) {
        const [one, other] = [left.get(key), left.get(key + across + down)];
        if (!one || !other || one === other) continue;
        const pixels = Math.hypot(one.x - other.x, one.y - other.y) * world;
        if (pixels >= radiusOf(one.count) + radiusOf(other.count)) continue;
        left.delete(other.key);
        left.set(key, {
          ...one, rows: [...one.rows, ...other.rows], count: one.count + other.count, moving: one.moving + other.moving,
          silent: one.silent + other.silent,
        });
      }
    }
  }
  return [...left.values()];
}

function isWithin({ x, y, halfWidth, halfHeight }: View, atX: number, atY: number, times: number): boolean {
  let across = atX - x;
  across -= Math.round(across);
  return Math.abs(across) <= halfWidth * times && Math.abs(atY - y) <= halfHeight * times;
}

function clusterOf(key: number, rows: readonly number[], shown: Shown, standings: Uint8Array, xs: Float64Array, ys: Float64Array): Cluster {
  const sum = { x: 0, y: 0, longitude: 0, latitude: 0, moving: 0, silent: 0 };
  for (const row of rows) {
    sum.x += xs[row] ?? 0;
    sum.y += ys[row] ?? 0;
    sum.longitude += shown.longitudes[row] ?? 0;
    sum.latitude += shown.latitudes[row] ?? 0;
    const standing = standings[row] ?? 0;
    if (standing === MOVING) sum.moving += 1;
    else if (standing >= SILENT) sum.silent += 1;
  }
  const many = rows.length;
  return {
    key, rows, count: many, moving: sum.moving, silent: sum.silent, x: sum.x / many, y: sum.y / many, longitude: sum.longitude / many,
    latitude: sum.latitude / many,
  };
}

/** How wide a cluster is drawn, from its middle. CSS pixels. */
export const radiusOf = (count: number): number => Math.min(30, 13 + 4 * Math.log10(count));
