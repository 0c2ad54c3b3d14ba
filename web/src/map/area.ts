// How large a shape is, about: on the sphere of the earth's own area, to a few thousandths. The server's number is exact.

import type { ShapeSpec } from "../api/schema";
import { ringsOf } from "./draw/rings";
import type { Point } from "./geodesic";

const RADIUS_METERS = 6_371_007.2;
const radians = (degrees: number) => (degrees * Math.PI) / 180;

function ringArea(ring: readonly Point[]): number {
  const sum = ring.reduce((total, [x, y], index) => {
    const [nextX, nextY] = ring[(index + 1) % ring.length] as Point;
    const across = nextX - x - Math.round((nextX - x) / 360) * 360;
    return total + radians(across) * (2 + Math.sin(radians(y)) + Math.sin(radians(nextY)));
  }, 0);
  return Math.abs((sum * RADIUS_METERS ** 2) / 2);
}

/** Square metres; 0 of what is not whole yet. */
export function areaOf(shape: ShapeSpec): number {
  return ringsOf(shape).reduce((sum, { role, points }) => sum + (role === "hole" ? -1 : 1) * ringArea(points), 0);
}
