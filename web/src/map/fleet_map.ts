// The map itself: MapLibre with our style, fences and vehicles. Loaded when it is shown; knows no signals and no views.

import { type GeoJSONSource, LngLatBounds, Map as MapLibre, NavigationControl, setWorkerUrl } from "maplibre-gl";
import workerUrl from "maplibre-gl/dist/maplibre-gl-worker.mjs?url";
import "maplibre-gl/dist/maplibre-gl.css";

import type { Fence } from "../api/types";
import { MOTIONS, type VehicleTable } from "../state/vehicles";
import { fenceFeatures } from "./shapes";
import { style } from "./style";

setWorkerUrl(workerUrl);

/** A fence wider than this is a country, not a place: the map does not open on it. Degrees. */
const WIDE_DEGREES = 5;

/** A map in an element. The constructor throws where the browser has no WebGL2. */
export class FleetMap {
  /** MapLibre's own map, for what draws on it. */
  readonly map: MapLibre;
  #fences: GeoJSON.FeatureCollection = fenceFeatures([], () => false);
  #vehicles: GeoJSON.FeatureCollection = { type: "FeatureCollection", features: [] };
  #isFitted = false;

  constructor(container: HTMLElement, whenReady: () => void) {
    this.map = new MapLibre({
      container,
      style: style(),
      center: [10, 30],
      zoom: 1,
      fadeDuration: 0,
      attributionControl: { compact: true },
      dragRotate: false,
      pitchWithRotate: false,
    });
    this.map.addControl(new NavigationControl({ showCompass: false }), "top-right");
    this.map.on("style.load", () => this.#fill());
    this.map.once("idle", whenReady);
  }

  /** Draws the fences; `occupied` tells those somebody is in. */
  setFences(fences: Iterable<Fence>, occupied: (id: string) => boolean): void {
    this.#fences = fenceFeatures(fences, occupied);
    this.#fill();
  }

  /** Draws the vehicles where the table has them. */
  setVehicles(table: VehicleTable): void {
    this.#vehicles = {
      type: "FeatureCollection",
      features: table.ids.map((id, row) => ({
        type: "Feature",
        geometry: { type: "Point", coordinates: [table.longitudes[row] ?? 0, table.latitudes[row] ?? 0] },
        properties: { id, motion: MOTIONS[table.motions[row] ?? 0] },
      })),
    };
    this.#fill();
  }

  /** Takes over the colours of the theme in force. */
  restyle(): void {
    this.map.setStyle(style());
  }

  remove(): void {
    this.map.remove();
  }

  #fill(): void {
    this.map.getSource<GeoJSONSource>("fences")?.setData(this.#fences);
    this.map.getSource<GeoJSONSource>("vehicles")?.setData(this.#vehicles);
    this.#fit();
  }

  /** Once, as soon as there is something to see: afterwards the view is the dispatcher's own. */
  #fit(): void {
    if (this.#isFitted) return;
    const bounds = new LngLatBounds();
    for (const { geometry } of this.#vehicles.features) {
      if (geometry.type === "Point") bounds.extend(geometry.coordinates as [number, number]);
    }
    for (const { geometry } of this.#fences.features) {
      const own = new LngLatBounds();
      const rings = geometry.type === "Polygon" ? geometry.coordinates : geometry.type === "MultiPolygon" ? geometry.coordinates.flat() : [];
      for (const ring of rings) for (const corner of ring) own.extend(corner as [number, number]);
      if (!own.isEmpty() && own.getEast() - own.getWest() < WIDE_DEGREES) bounds.extend(own);
    }
    if (bounds.isEmpty()) return;
    this.#isFitted = true;
    this.map.fitBounds(bounds, { padding: 48, maxZoom: 15, animate: false });
  }
}
