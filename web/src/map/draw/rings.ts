// Between a fence's shape and the rings that are drawn: Terra Draw knows polygons without holes, so a hole is a ring of its own.

import type { Place, ShapeSpec } from "../../api/schema";
import { type Point, circleRing } from "../geodesic";

/** What a ring is to the shape. */
export type Role = "circle" | "outer" | "hole";

export interface Ring {
  readonly role: Role;
  /** Closed, as GeoJSON has it. */
  readonly points: readonly Point[];
}

// Terra Draw takes no more digits: a tenth of a millimetre
const digits = (value: number) => Number(value.toFixed(9));
const closed = (places: readonly Place[]): Point[] => {
  const points = places.map(({ longitude, latitude }): Point => [digits(longitude), digits(latitude)]);
  return points[0] ? [...points, points[0]] : [];
};

/** The rings of a shape; none of what is not whole yet. */
export function ringsOf(shape: ShapeSpec): Ring[] {
  switch (shape.type) {
    case "circle": {
      const { center, radiusMeters } = shape;
      if (!isNumber(center?.latitude) || !isNumber(center.longitude) || !isNumber(radiusMeters)) return [];
      const points = circleRing([center.longitude, center.latitude], radiusMeters).map(([x, y]): Point => [digits(x), digits(y)]);
      return [{ role: "circle", points }];
    }
    case "polygon":
      return partRings(shape);
    case "multiPolygon":
      return shape.polygons.flatMap(partRings);
  }
}

function partRings({ vertices, holes }: { vertices: readonly Place[]; holes?: readonly (readonly Place[])[] }): Ring[] {
  if (vertices.length < 3) return [];
  return [{ role: "outer", points: closed(vertices) }, ...(holes ?? []).map((hole): Ring => ({ role: "hole", points: closed(hole) }))];
}

const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

/** The shape that rings make: each hole belongs to the outer ring around its first corner. */
export function shapeOf(rings: readonly Ring[]): ShapeSpec {
  const places = ({ points }: Ring): Place[] => points.slice(0, -1).map(([longitude, latitude]) => ({ latitude, longitude }));
  const outers = rings.filter(({ role }) => role === "outer");
  const polygons = outers.map((outer) => ({ outer, vertices: places(outer), holes: [] as Place[][] }));
  for (const hole of rings.filter(({ role }) => role === "hole")) {
    const first = hole.points[0];
    const around = polygons.find(({ outer }) => first && contains(outer.points, first)) ?? polygons[0];
    around?.holes.push(places(hole));
  }
  const parts = polygons.map(({ vertices, holes }) => ({ vertices, holes }));
  if (parts.length > 1) return { type: "multiPolygon", polygons: parts };
  return { type: "polygon", ...(parts[0] ?? { vertices: [], holes: [] }) };
}

/** Whether a point is inside a ring: it is, if a line from it crosses the ring an odd number of times. */
function contains(ring: readonly Point[], [x, y]: Point): boolean {
  let isInside = false;
  ring.forEach(([x1, y1], index) => {
    const [x2, y2] = ring[(index + 1) % ring.length] as Point;
    if (y1 > y !== y2 > y && x < ((x2 - x1) * (y - y1)) / (y2 - y1) + x1) isInside = !isInside;
  });
  return isInside;
}

/** A shape without the corner nearest to a place of the screen, of those that `distance` (pixels) puts within reach; null where none is. */
export function withoutCorner(shape: ShapeSpec, distance: (point: Point) => number, reach: number): ShapeSpec | null {
  const rings = ringsOf(shape);
  let [nearest, least] = [null as { ring: Ring; corner: number } | null, reach];
  for (const ring of rings) {
    ring.points.slice(0, -1).forEach((point, corner) => {
      if (ring.role !== "circle" && distance(point) <= least) [nearest, least] = [{ ring, corner }, distance(point)];
    });
  }
  if (!nearest) return null;
  const { ring, corner } = nearest;
  const open = ring.points.slice(0, -1).filter((_, index) => index !== corner);
  // of a hole nothing is left then; the fence itself stays one
  if (open.length < 3) return ring.role === "hole" ? shapeOf(rings.filter((one) => one !== ring)) : null;
  return shapeOf(rings.map((one) => (one === ring ? { ...ring, points: [...open, open[0] as Point] } : one)));
}

/** How many corners a shape has. */
export function corners(shape: ShapeSpec): number {
  return shape.type === "circle" ? 0 : ringsOf(shape).reduce((sum, { points }) => sum + points.length - 1, 0);
}
