// Rings and lines without a leap across the antimeridian. MapLibre reads longitudes as a plane: 179° to -179° would be a line around the
// world, and 181° is what it draws right.

import type { Point } from "./geodesic";

/** The same meridian, within half a turn of another: 181° for -179°, beside 179°. */
export const beside = (longitude: number, other: number): number => longitude + Math.round((other - longitude) / 360) * 360;

/** The same corners, each within half a turn of the one before it. */
export function unwrapped(ring: readonly Point[]): Point[] {
  let before = ring[0]?.[0] ?? 0;
  return ring.map(([longitude, latitude]): Point => {
    before = beside(longitude, before);
    return [before, latitude];
  });
}

const turn = (ring: readonly Point[]): number => (ring.at(-1)?.[0] ?? 0) - (ring[0]?.[0] ?? 0);

/** The rings of a polygon for the plane; one that goes around a pole goes on to it. */
function planar(rings: readonly (readonly Point[])[]): Point[][] {
  const [outer = [], ...holes] = rings.map(unwrapped);
  const [first, last] = [outer[0], outer.at(-1)];
  if (!first || !last || Math.abs(turn(outer)) < 180) return [outer, ...holes];
  const pole = first[1] < 0 ? -90 : 90;
  return [[...outer, [last[0], pole], [first[0], pole], first], ...holes.filter((hole) => Math.abs(turn(hole)) < 180)];
}

/** Polygons for the plane; of other shapes there is none among land. */
export function planarLand(land: GeoJSON.FeatureCollection | GeoJSON.Feature): GeoJSON.FeatureCollection {
  const features = land.type === "FeatureCollection" ? land.features : [land];
  const polygons = features.flatMap(({ geometry }) => {
    if (geometry.type === "Polygon") return [geometry.coordinates];
    return geometry.type === "MultiPolygon" ? geometry.coordinates : [];
  });
  const coordinates = polygons.map((rings) => planar(rings as Point[][]));
  return { type: "FeatureCollection", features: [{ type: "Feature", properties: {}, geometry: { type: "MultiPolygon", coordinates } }] };
}
