// Points on WGS 84, the earth the server measures on: what is drawn is what is tested.

const EQUATOR_METERS = 6_378_137;
const FLATTENING = 1 / 298.257223563;
const POLE_METERS = EQUATOR_METERS * (1 - FLATTENING);
const radians = (degrees: number) => (degrees * Math.PI) / 180;
const degrees = (angle: number) => (angle * 180) / Math.PI;

/** Longitude and latitude, degrees. */
export type Point = [longitude: number, latitude: number];

/** Where one is after `meters` from a point in a direction (degrees clockwise from north): Vincenty's direct formula. */
export function destination([longitude, latitude]: Point, bearingDegrees: number, meters: number): Point {
  const bearing = radians(bearingDegrees);
  const [sinBearing, cosBearing] = [Math.sin(bearing), Math.cos(bearing)];
  const tanU = (1 - FLATTENING) * Math.tan(radians(latitude));
  const cosU = 1 / Math.hypot(1, tanU);
  const sinU = tanU * cosU;
  const sigma1 = Math.atan2(tanU, cosBearing);
  const sinAlpha = cosU * sinBearing;
  const cosSquaredAlpha = 1 - sinAlpha ** 2;
  const uSquared = (cosSquaredAlpha * (EQUATOR_METERS ** 2 - POLE_METERS ** 2)) / POLE_METERS ** 2;
  const a = 1 + (uSquared / 16384) * (4096 + uSquared * (-768 + uSquared * (320 - 175 * uSquared)));
  const b = (uSquared / 1024) * (256 + uSquared * (-128 + uSquared * (74 - 47 * uSquared)));
  const first = meters / (POLE_METERS * a);
  let sigma = first;
  let cos2 = Math.cos(2 * sigma1 + sigma);
  for (let turn = 0; turn < 20; turn += 1) {
    cos2 = Math.cos(2 * sigma1 + sigma);
    const [sin, cos] = [Math.sin(sigma), Math.cos(sigma)];
    const delta = b * sin * (cos2 + (b / 4) * (cos * (2 * cos2 ** 2 - 1) - (b / 6) * cos2 * (4 * sin ** 2 - 3) * (4 * cos2 ** 2 - 3)));
    const next = first + delta;
    const isClose = Math.abs(next - sigma) < 1e-12;
    sigma = next;
    if (isClose) break;
  }
  const [sin, cos] = [Math.sin(sigma), Math.cos(sigma)];
  const there = Math.atan2(
    sinU * cos + cosU * sin * cosBearing,
    (1 - FLATTENING) * Math.hypot(sinAlpha, sinU * sin - cosU * cos * cosBearing),
  );
  const lambda = Math.atan2(sin * sinBearing, cosU * cos - sinU * sin * cosBearing);
  const c = (FLATTENING / 16) * cosSquaredAlpha * (4 + FLATTENING * (4 - 3 * cosSquaredAlpha));
  const l = lambda - (1 - c) * FLATTENING * sinAlpha * (sigma + c * sin * (cos2 + c * cos * (2 * cos2 ** 2 - 1)));
  return [longitude + degrees(l), degrees(there)];
}

/** A circle's ring, closed, counter-clockwise as GeoJSON wants it. */
export function circleRing(center: Point, radiusMeters: number, points = 64): Point[] {
  const ring = Array.from({ length: points }, (_, index) => destination(center, -(index * 360) / points, radiusMeters));
  return [...ring, ring[0] as Point];
}
