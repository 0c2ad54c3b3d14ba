// Streets, water and places from vector tiles as Protomaps cuts them, in the page's own quiet colours.

import type { LayerSpecification } from "maplibre-gl";

import { token } from "./tokens";

/** The layers, from below to above. */
export function streets(source: string): LayerSpecification[] {
  const width = (at10: number, at18: number) => ["interpolate", ["exponential", 1.6], ["zoom"], 10, at10, 18, at18] as const;
  const road = (id: string, kinds: readonly string[], at10: number, at18: number, color: string, minzoom = 0): LayerSpecification => ({
    id, type: "line", source, "source-layer": "roads", minzoom, filter: ["in", ["get", "kind"], ["literal", [...kinds]]],
    layout: { "line-cap": "round", "line-join": "round" },
    paint: { "line-color": color, "line-width": width(at10, at18) as never },
  });
  const words = { "text-color": token("--quiet"), "text-halo-color": token("--map-land"), "text-halo-width": 1.5 };
  return [
    { id: "bg-water", type: "background", paint: { "background-color": token("--map-water") } },
    { id: "bg-earth", type: "fill", source, "source-layer": "earth", paint: { "fill-color": token("--map-land") } },
    {
      id: "bg-green", type: "fill", source, "source-layer": "landuse",
      filter: ["in", ["get", "kind"], ["literal", ["park", "forest", "wood", "nature_reserve", "grass", "golf_course", "cemetery"]]],
      paint: { "fill-color": token("--map-green") },
    },
    { id: "bg-sea", type: "fill", source, "source-layer": "water", filter: ["==", ["geometry-type"], "Polygon"], paint: { "fill-color": token("--map-water") } },
    { id: "bg-buildings", type: "fill", source, "source-layer": "buildings", minzoom: 14, paint: { "fill-color": token("--map-building") } },
    road("bg-paths", ["path", "other"], 0, 3, token("--map-grid"), 14),
    road("bg-minor", ["minor_road"], 0.3, 10, token("--map-road"), 11),
    road("bg-major", ["major_road"], 0.8, 14, token("--map-road")),
    road("bg-highway", ["highway"], 1.4, 18, token("--map-highway")),
    road("bg-rail", ["rail"], 0.4, 2, token("--map-grid"), 11),
    {
      id: "bg-street-names", type: "symbol", source, "source-layer": "roads", minzoom: 14, filter: ["has", "name"],
      layout: { "symbol-placement": "line", "text-field": ["get", "name"], "text-size": 10.5 }, paint: words,
    },
    {
      id: "bg-places", type: "symbol", source, "source-layer": "places", filter: ["has", "name"],
      layout: { "text-field": ["get", "name"], "text-size": ["interpolate", ["linear"], ["zoom"], 4, 10.5, 12, 14] }, paint: words,
    },
  ];
}
