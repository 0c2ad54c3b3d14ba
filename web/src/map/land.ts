// Finer coasts, fetched when somebody looks closely: the page does not wait for them.

import { feature } from "topojson-client";
import land from "virtual:land-50m";

import { planarLand } from "./antimeridian";

/** The world's land (Natural Earth 1:50m) as GeoJSON. */
export const finerLand: GeoJSON.FeatureCollection = planarLand(feature(land, land.objects.land as never));
