// Where vehicles stopped lately: what a fence is drawn around.

import { api, slices } from "../../api/client";
import { now } from "../../state/clock";
import { scope } from "../../state/fleet";

const DAYS_MS = 30 * 86_400_000;
const LIMIT = 200;
/** Of a fleet that stops more often than so many times the limit, the newest. */
const MOST_SLICES = 10;

/** The stops of the last thirty days, as the map draws them. */
export async function recentStops(): Promise<GeoJSON.FeatureCollection> {
  const from = new Date(now.peek() - DAYS_MS).toISOString();
  const stops = await slices((after) => api.get("/v1/stops", { query: { ...scope.peek(), from, limit: LIMIT, after } }), MOST_SLICES);
  const features = stops.map(({ location: { latitude, longitude } }): GeoJSON.Feature =>
    ({ type: "Feature", properties: {}, geometry: { type: "Point", coordinates: [longitude, latitude] } }));
  return { type: "FeatureCollection", features };
}
