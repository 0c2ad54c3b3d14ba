// Places on the square map of the world: x from west, y from north, both 0 to 1.

import { beside } from "./antimeridian";

/** From degrees of longitude. */
export const mercatorX = (longitude: number): number => (longitude + 180) / 360;

/** From degrees of latitude. */
export function mercatorY(latitude: number): number {
  const sine = Math.sin((latitude * Math.PI) / 180);
  return 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI);
}

const METERS_PER_DEGREE = 111_195;

/** How far and in which direction (degrees clockwise from north) it is from one place to another close by. NaN from nowhere. */
export function bearing(fromX: number, fromY: number, toX: number, toY: number): { readonly meters: number; readonly degrees: number } {
  const east = (beside(toX, fromX) - fromX) * Math.cos((fromY * Math.PI) / 180);
  const north = toY - fromY;
  return { meters: Math.hypot(east, north) * METERS_PER_DEGREE, degrees: ((Math.atan2(east, north) * 180) / Math.PI + 360) % 360 };
}
