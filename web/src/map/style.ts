// What the map looks like, light and dark: the colours of styles/tokens.css, which MapLibre cannot read itself.

import type { StyleSpecification } from "maplibre-gl";
import land from "virtual:land";

import { strings } from "../strings";

const EMPTY: GeoJSON.FeatureCollection = { type: "FeatureCollection", features: [] };

const token = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** The style for the theme in force. Without `glyphs`, letters are drawn here: no font is fetched. */
export function style(): StyleSpecification {
  const fenceColor = ["coalesce", ["get", "color"], ["case", ["get", "occupied"], token("--accent"), token("--quiet")]] as const;
  return {
    version: 8,
    sources: {
      land: { type: "geojson", data: land, attribution: strings.map.attribution },
      fences: { type: "geojson", data: EMPTY },
      vehicles: { type: "geojson", data: EMPTY },
    },
    layers: [
      { id: "water", type: "background", paint: { "background-color": token("--map-water") } },
      { id: "land", type: "fill", source: "land", paint: { "fill-color": token("--map-land") } },
      {
        id: "fences-fill", type: "fill", source: "fences",
        paint: { "fill-color": fenceColor as never, "fill-opacity": ["case", ["get", "occupied"], 0.2, 0.08] },
      },
      {
        id: "fences-line", type: "line", source: "fences",
        paint: { "line-color": fenceColor as never, "line-width": ["case", ["get", "occupied"], 2, 1.25], "line-opacity": ["case", ["get", "enabled"], 1, 0.4] },
      },
      {
        id: "fences-name", type: "symbol", source: "fences", minzoom: 9,
        layout: { "text-field": ["get", "name"], "text-size": 11 },
        paint: { "text-color": token("--ink"), "text-halo-color": token("--map-land"), "text-halo-width": 1.5 },
      },
      {
        id: "vehicles", type: "circle", source: "vehicles",
        paint: {
          "circle-radius": 5,
          "circle-color": ["match", ["get", "motion"], "moving", token("--moving"), "stopped", token("--stopped"), token("--unknown")],
          "circle-stroke-width": 1.5,
          "circle-stroke-color": token("--panel"),
        },
      },
    ],
  };
}
