// Fences as GeoJSON, for drawing.

import type { Place, ShapeSpec } from "../api/schema";
import type { Fence } from "../api/types";
import { unwrapped } from "./antimeridian";
import { type Point, circleRing } from "./geodesic";

const point = ({ longitude, latitude }: Place): Point => [longitude, latitude];

/** The ring as GeoJSON wants it, closed. */
function ring(places: readonly Place[]): Point[] {
  const points = unwrapped(places.map(point));
  return points[0] ? [...points, points[0]] : points;
}

/** A shape's outline; a circle has 64 corners. */
export function geometryOf(shape: ShapeSpec): GeoJSON.Polygon | GeoJSON.MultiPolygon {
  switch (shape.type) {
    case "circle":
      return { type: "Polygon", coordinates: [circleRing(point(shape.center), shape.radiusMeters)] };
    case "polygon":
      return { type: "Polygon", coordinates: [shape.vertices, ...(shape.holes ?? [])].map(ring) };
    case "multiPolygon":
      return { type: "MultiPolygon", coordinates: shape.polygons.map(({ vertices, holes }) => [vertices, ...(holes ?? [])].map(ring)) };
  }
}

/** Fences with their names and colours; `occupied` tells those somebody is in. */
export function fenceFeatures(fences: Iterable<Fence>, occupied: (id: string) => boolean): GeoJSON.FeatureCollection {
  const features: GeoJSON.Feature[] = [];
  for (const { id, name, color, enabled, shape } of fences) {
    if (!shape) continue;
    features.push({
      type: "Feature",
      geometry: geometryOf(shape),
      properties: { id, name, enabled: enabled ?? true, occupied: occupied(id), ...(color ? { color } : {}) },
    });
  }
  return { type: "FeatureCollection", features };
}

/** A shape's middle: of a circle its centre, else of the box around it. */
function middleOf(shape: ShapeSpec): Point {
  if (shape.type === "circle") return point(shape.center);
  const geometry = geometryOf(shape);
  const corners = geometry.type === "Polygon" ? geometry.coordinates.flat() : geometry.coordinates.flat(2);
  const middle = (axis: 0 | 1) => {
    const values = corners.map((corner) => corner[axis] ?? 0);
    return (Math.min(...values) + Math.max(...values)) / 2;
  };
  return [middle(0), middle(1)];
}

/** The names of fences as points, so that a fence that lies on several tiles has one. */
export function fenceNames(fences: Iterable<Fence>): GeoJSON.FeatureCollection {
  const features: GeoJSON.Feature[] = [];
  for (const { name, shape } of fences) {
    if (shape) features.push({ type: "Feature", geometry: { type: "Point", coordinates: middleOf(shape) }, properties: { name } });
  }
  return { type: "FeatureCollection", features };
}
