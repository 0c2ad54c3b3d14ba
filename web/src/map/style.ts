// What the map looks like, light and dark: the colours of styles/tokens.css, which MapLibre cannot read itself.

import type { LayerSpecification, StyleSpecification } from "maplibre-gl";
import land from "virtual:land";

import { strings } from "../strings";
import type { Background } from "./background";
import { cities } from "./cities";
import { token } from "./tokens";

const EMPTY: GeoJSON.FeatureCollection = { type: "FeatureCollection", features: [] };

/** The sources that are filled as the fleet moves, in no order. */
export const FILLED = ["fences", "fence-names", "drawn", "stops", "trail", "marks", "names", "counts"] as const;
/** An image of nothing, as wide as a marker: names keep off it. */
export const ROOM = "room";
export const ROOM_PIXELS = 20;
export type Filled = (typeof FILLED)[number];

/** The style for the theme in force. Without `glyphs`, letters are drawn here: no font is fetched. */
export function style(background: Background | null): StyleSpecification {
  const under = background ?? coasts();
  return {
    version: 8,
    sources: {
      ...under.sources,
      ...Object.fromEntries(FILLED.map((id) => [id, { type: "geojson" as const, data: EMPTY }])),
    },
    layers: [...under.layers(), ...ours()],
  };
}

function coasts(): Background {
  return {
    sources: {
      land: { type: "geojson", data: land, attribution: strings.map.attribution, tolerance: 0.2 },
      graticule: { type: "geojson", data: EMPTY },
      cities: { type: "geojson", data: cities },
    },
    layers: () => [
      { id: "water", type: "background", paint: { "background-color": token("--map-water") } },
      { id: "land", type: "fill", source: "land", paint: { "fill-color": token("--map-land") } },
      { id: "coast", type: "line", source: "land", paint: { "line-color": token("--map-coast"), "line-width": 0.75 } },
      { id: "graticule", type: "line", source: "graticule", paint: { "line-color": token("--map-grid"), "line-width": 1 } },
      {
        id: "cities", type: "symbol", source: "cities", maxzoom: 12, filter: ["any", ["==", ["get", "rank"], 1], [">=", ["zoom"], 3.5]],
        layout: { "text-field": ["get", "name"], "text-size": ["interpolate", ["linear"], ["zoom"], 1, 10, 8, 14], "text-letter-spacing": 0.04 },
        paint: { "text-color": token("--quiet"), "text-halo-color": token("--map-land"), "text-halo-width": 1.25, "text-opacity": 0.85 },
      },
    ],
  };
}

function ours(): LayerSpecification[] {
  const fenceColor = ["coalesce", ["get", "color"], ["case", ["get", "occupied"], token("--fence"), token("--quiet")]] as const;
  const halo = { "text-halo-color": token("--map-land"), "text-halo-width": 1.75 };
  return [
    {
      id: "fences-fill", type: "fill", source: "fences",
      paint: { "fill-color": fenceColor as never, "fill-opacity": ["case", ["get", "occupied"], 0.11, 0.05] },
    },
    {
      id: "fences-line", type: "line", source: "fences",
      paint: { "line-color": fenceColor as never, "line-width": ["case", ["get", "occupied"], 2, 1.25], "line-opacity": ["case", ["get", "enabled"], 1, 0.4] },
    },
    { id: "drawn", type: "fill", source: "drawn", paint: { "fill-color": token("--focus"), "fill-opacity": 0.22 } },
    {
      id: "stops", type: "circle", source: "stops",
      paint: { "circle-radius": 3.5, "circle-color": token("--stopped"), "circle-opacity": 0.55 },
    },
    {
      id: "trail-rim", type: "line", source: "trail", layout: { "line-cap": "round", "line-join": "round" },
      paint: { "line-color": token("--panel"), "line-width": 6 },
    },
    {
      id: "trail", type: "line", source: "trail", layout: { "line-cap": "round", "line-join": "round" },
      paint: { "line-color": token("--accent"), "line-width": 3 },
    },
    {
      id: "fences-name", type: "symbol", source: "fence-names", minzoom: 9,
      layout: { "text-field": ["get", "name"], "text-size": 11.5, "text-max-width": 9 },
      paint: { "text-color": token("--ink"), ...halo },
    },
    {
      id: "marks", type: "circle", source: "marks",
      paint: {
        "circle-radius": 6, "circle-stroke-width": 2, "circle-stroke-color": token("--panel"),
        "circle-color": ["match", ["get", "kind"], "entry", token("--moving"), "exit", token("--stopped"), "dwell", token("--accent"), token("--unknown")],
      },
    },
    {
      id: "marks-name", type: "symbol", source: "marks", minzoom: 11,
      layout: { "text-field": ["get", "text"], "text-size": 11, "text-offset": [0.9, 0], "text-anchor": "left" },
      paint: { "text-color": token("--ink"), ...halo },
    },
    {
      id: "names", type: "symbol", source: "names", filter: ["!=", ["get", "name"], ""],
      layout: {
        "text-field": ["get", "name"], "text-size": 11.5, "text-variable-anchor": ["top", "bottom", "left", "right"], "text-radial-offset": 1.2,
        "text-justify": "auto", "text-padding": 1, "symbol-sort-key": ["get", "order"],
      },
      paint: { "text-color": token("--ink"), ...halo },
    },
    // what lies above is placed first
    {
      id: "rooms", type: "symbol", source: "names",
      layout: { "icon-image": ROOM, "icon-allow-overlap": true, "icon-padding": 0 },
    },
    {
      id: "counts", type: "symbol", source: "counts",
      layout: {
        "text-field": ["get", "count"], "text-size": 11.5, "text-allow-overlap": true, "icon-image": ROOM, "icon-allow-overlap": true,
        "icon-size": ["/", ["get", "size"], ROOM_PIXELS], "icon-padding": 0,
      },
      paint: { "text-color": token("--ink") },
    },
  ];
}
