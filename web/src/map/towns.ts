// The world's towns of 15,000 people and more: what a place is near, and where a name is. Fetched once it is asked for.
//
// Their names, places and numbers of people are GeoNames' (geonames.org, CC BY 4.0).

import packed from "virtual:towns";

import type { Place } from "../api/schema";
import { bearing } from "./mercator";
import { type Column, unpacked } from "./packed_towns";

export interface Town extends Place {
  readonly name: string;
  /** ISO 3166-1, two letters. */
  readonly country: string;
  readonly people: number;
}

/** A town from a place: how far, metres, and in which direction the place lies from it, degrees clockwise from north. */
export interface FromTown {
  readonly town: Town;
  readonly meters: number;
  readonly bearingDegrees: number;
  /** Whether it is as near as the town is likely large. */
  readonly isWithin: boolean;
}

/** A town of a million people reaches 12 km from its middle, one of 15,000 1.5 km: a guess from their numbers alone. */
const REACH_METERS = 12;
/** Farther from any town, no name says where one is. */
const FARTHEST_METERS = 200_000;
/** Of a meridian, a little more than that. */
const FARTHEST_DEGREES = 2;

const columns: Column = unpacked(packed);
const reaches = columns.people.map((people) => REACH_METERS * Math.sqrt(people));
const plain = (text: string) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
let plainNames: readonly string[] | null = null;

function town(at: number): Town {
  const { names, countries, latitudes, longitudes, people } = columns;
  return { name: names[at] ?? "", country: countries[at] ?? "", latitude: latitudes[at] ?? 0, longitude: longitudes[at] ?? 0, people: people[at] ?? 0 };
}

/** The town that best says where a place is: of those around it the one whose edge is nearest. Null far from all. */
export function townNear({ latitude, longitude }: Place): FromTown | null {
  const { latitudes, longitudes } = columns;
  let [best, least] = [null as FromTown | null, Infinity];
  for (let at = 0; at < latitudes.length; at += 1) {
    const [x, y] = [longitudes[at] as number, latitudes[at] as number];
    if (Math.abs(latitude - y) > FARTHEST_DEGREES) continue;
    // the shorter way around the world
    const east = longitude - x - 360 * Math.round((longitude - x) / 360);
    const { meters, degrees } = bearing(x, y, x + east, latitude);
    const beyond = meters - (reaches[at] as number);
    if (beyond < least) [best, least] = [{ town: town(at), meters, bearingDegrees: degrees, isWithin: beyond <= 0 }, beyond];
  }
  return best && best.meters <= FARTHEST_METERS ? best : null;
}

/** The largest towns whose name begins with what is looked for, accents aside, then those that have it elsewhere. */
export function townsNamed(wanted: string, most: number): Town[] {
  const part = plain(wanted.trim());
  plainNames ??= columns.names.map(plain);
  const starting: number[] = [];
  const having: number[] = [];
  plainNames.forEach((name, at) => {
    const where = name.indexOf(part);
    if (where === 0) starting.push(at);
    else if (where > 0) having.push(at);
  });
  const byPeople = (a: number, b: number) => (columns.people[b] ?? 0) - (columns.people[a] ?? 0);
  return [...starting.sort(byPeople), ...having.sort(byPeople)].slice(0, most).map(town);
}
