// Vehicles on the map as they are drawn: each by itself, or where they are many in clusters.

import type { Map as MapLibre } from "maplibre-gl";

import { whole } from "../numbers";
import { beside } from "./antimeridian";
import { type Cluster, group, radiusOf } from "./cluster";
import { ClusterLayer } from "./cluster_layer";
import type { Shown } from "./fleet_map";
import { mercatorX, mercatorY } from "./mercator";
import { pick } from "./rows";
import { token } from "./tokens";
import { VehicleLayer } from "./vehicle_layer";
import { rgb } from "./webgl";

/** How far beside a vehicle one may click. CSS pixels. */
const REACH_PIXELS = 18;
const colors = (...names: readonly string[]) => names.map((name) => rgb(token(name)));

export class Markers {
  readonly clusterLayer = new ClusterLayer(() => ({ parts: colors("--moving", "--stopped", "--silent"), ground: rgb(token("--panel")) }));
  readonly vehicleLayer = new VehicleLayer(() => ({
    standings: colors("--unknown", "--stopped", "--moving", "--silent", "--silent", "--moving"), rim: rgb(token("--panel")), ring: rgb(token("--accent")),
  }));
  /** Vehicles that ask for attention: never in a cluster. */
  urgent: ReadonlySet<string> = new Set();
  /** Those that are drawn by themselves. */
  alone: Shown | null = null;
  clusters: readonly Cluster[] = [];
  /** The zoom level for which they were grouped. */
  level = 0;

  /** Draws vehicles; `groups`: whether many become clusters. */
  draw(map: MapLibre, shown: Shown, standings: Uint8Array, chosen: string | null, groups: boolean): void {
    const grouped = groups ? group(shown, standings, viewOf(map), this.#kept(shown, chosen)) : null;
    const some = grouped && pick(shown, standings, grouped.alone);
    this.level = Math.floor(map.getZoom());
    this.alone = some ?? shown;
    this.clusters = grouped?.clusters ?? [];
    this.vehicleLayer.set(this.alone, some?.standings ?? standings, chosen === null ? undefined : this.alone.row(chosen));
    this.clusterLayer.set(this.clusters);
  }

  /** How many each cluster has, for the map to write. */
  counts(): GeoJSON.FeatureCollection {
    const features = this.clusters.map(({ longitude, latitude, count }): GeoJSON.Feature =>
      ({ type: "Feature", geometry: { type: "Point", coordinates: [longitude, latitude] }, properties: { count: whole(count), size: 2 * radiusOf(count) } }));
    return { type: "FeatureCollection", features };
  }

  /** The vehicle at a point of the map's element, CSS pixels. */
  vehicleAt(map: MapLibre, x: number, y: number): string | null {
    const { lng, lat } = map.unproject([x, y]);
    const row = this.vehicleLayer.nearest(mercatorX(lng), mercatorY(lat), REACH_PIXELS / worldOf(map));
    return row === undefined ? null : this.alone?.ids[row] ?? null;
  }

  /** The cluster at a point of the map's element, CSS pixels. */
  clusterAt(map: MapLibre, x: number, y: number): Cluster | undefined {
    const middle = map.getCenter().lng;
    return this.clusters.find(({ longitude, latitude, count }) => {
      // the map may be a turn further
      const at = map.project([beside(longitude, middle), latitude]);
      return Math.hypot(at.x - x, at.y - y) <= radiusOf(count);
    });
  }

  /** The rows of those that are never in a cluster. */
  #kept(shown: Shown, chosen: string | null): ReadonlySet<number> {
    return new Set([...this.urgent, ...(chosen === null ? [] : [chosen])].flatMap((id) => shown.row(id) ?? []));
  }
}

/** The world's width, CSS pixels. */
const worldOf = (map: MapLibre): number => 512 * 2 ** map.getZoom();

function viewOf(map: MapLibre) {
  const { lng, lat } = map.getCenter();
  const { clientWidth, clientHeight } = map.getContainer();
  const half = 2 * worldOf(map);
  return { x: mercatorX(lng), y: mercatorY(lat), halfWidth: clientWidth / half, halfHeight: clientHeight / half, zoom: map.getZoom() };
}
