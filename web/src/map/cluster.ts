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
 * Groups the vehicles in view and one view around; null while there are few. Those of `kept` rows stay by themselves. Ten thousand take
 * some two milliseconds.
 */
export function group(shown: Shown, standings: Uint8Array, view: View, kept: ReadonlySet<number>): Grouped | null {
  const { count } = shown;
  const [xs, ys] = [new Float64Array(count), new Float64Array(count)];
  let inView = 0;
  for (let row = 0; row < count; row += 1) {
    xs[row] = mercatorX(shown.longitudes[row] ?? 0);
    ys[row] = mercatorY(shown.latitudes[row] ?? 0);
    if (isWithin(view, xs[row] ?? 0, ys[row] ?? 0, 1)) inView += 1;
  }
  if (inView < CLUSTERS_FROM) return null;
  const cells = (WORLD_PIXELS / CELL_PIXELS) * 2 ** Math.floor(view.zoom);
  const byCell = new Map<number, number[]>();
  const alone: number[] = [];
  for (let row = 0; row < count; row += 1) {
    const [x, y] = [xs[row] ?? 0, ys[row] ?? 0];
    if (kept.has(row)) alone.push(row);
    else if (isWithin(view, x, y, 3)) {
      const key = Math.floor(x * cells) * ROW + Math.floor(y * cells);
      const rows = byCell.get(key);
      if (rows) rows.push(row);
      else byCell.set(key, [row]);
    }
  }
  const clusters: Cluster[] = [];
  for (const [key, rows] of byCell) {
    if (rows.length === 1) alone.push(...rows);
    else clusters.push(clusterOf(key, rows, shown, standings, xs, ys));
  }
  return { clusters, alone };
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
