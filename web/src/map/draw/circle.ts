// From what a hand drew on the map to the circle the server keeps: centre and radius, of the ring as it is. (Terra Draw's own
// `radiusKilometers` is stale after a resize.)

import { type Point, destination } from "../geodesic";

/** A circle as the page shows and sends it: the centre to 1e-7 degrees, the radius to a decimetre. */
export interface DrawnCircle {
  readonly center: { readonly latitude: number; readonly longitude: number };
  readonly radiusMeters: number;
}

const LEAST_METERS = 10;
const MOST_METERS = 100_000;
const METERS_PER_DEGREE = 111_320;

const rounded = (value: number, digits: number) => Number(value.toFixed(digits));
const radians = (degrees: number) => (degrees * Math.PI) / 180;
/** Latitude on the map's own scale, and back. */
const northing = (latitude: number) => Math.log(Math.tan(Math.PI / 4 + radians(latitude) / 2));
const latitudeAt = (y: number) => ((2 * Math.atan(Math.exp(y)) - Math.PI / 2) * 180) / Math.PI;

function extent(ring: readonly Point[]) {
  const [longitudes, latitudes] = [ring.map(([longitude]) => longitude), ring.map(([, latitude]) => latitude)];
  return { west: Math.min(...longitudes), east: Math.max(...longitudes), south: Math.min(...latitudes), north: Math.max(...latitudes) };
}

/** Metres from a centre along its meridian to a latitude. */
function alongMeridian(center: Point, latitude: number): number {
  const bearing = latitude >= center[1] ? 0 : 180;
  let meters = Math.abs(latitude - center[1]) * METERS_PER_DEGREE;
  // the earth is nearly round: each turn leaves a hundredth of the error
  for (let turn = 0; turn < 6; turn += 1) meters += (bearing === 0 ? 1 : -1) * (latitude - destination(center, bearing, meters)[1]) * METERS_PER_DEGREE;
  return meters;
}

function radiusOf(center: Point, ring: readonly Point[]): number {
  const { south, north } = extent(ring);
  const meters = (alongMeridian(center, north) + alongMeridian(center, south)) / 2;
  return rounded(Math.min(MOST_METERS, Math.max(LEAST_METERS, meters)), 1);
}

const place = ([longitude, latitude]: Point) => ({ latitude: rounded(latitude, 7), longitude: rounded(longitude, 7) });

/** A circle that was just drawn: round on the map, so its centre is the middle there. */
export function drawn(ring: readonly Point[]): DrawnCircle {
  const { west, east, south, north } = extent(ring);
  const center = place([(west + east) / 2, latitudeAt((northing(south) + northing(north)) / 2)]);
  return { center, radiusMeters: radiusOf([center.longitude, center.latitude], ring) };
}

/** A circle whose handle was dragged: the centre stays where it was. */
export function resized({ center }: DrawnCircle, ring: readonly Point[]): DrawnCircle {
  return { center, radiusMeters: radiusOf([center.longitude, center.latitude], ring) };
}

/** A circle that was dragged: the centre went as far on the map as its ring did, and the radius stays what it was. */
export function moved({ center, radiusMeters }: DrawnCircle, before: readonly Point[], after: readonly Point[]): DrawnCircle {
  const [from, to] = [before[0], after[0]];
  if (!from || !to) return { center, radiusMeters };
  const latitude = latitudeAt(northing(center.latitude) + northing(to[1]) - northing(from[1]));
  return { center: place([center.longitude + to[0] - from[0], latitude]), radiusMeters };
}
