// A place as people write or paste it: `59.33, 18.06`, `59.33 N 18.06 E`, `geo:59.33,18.06`.

import type { Place } from "../api/schema";

const PLACE = /^(?:geo:)?\s*([NS])?\s*([-+]?\d{1,2}(?:\.\d+)?)\s*°?\s*([NS])?\s*[,;\s]\s*([EW])?\s*([-+]?\d{1,3}(?:\.\d+)?)\s*°?\s*([EW])?\s*$/i;

/** The place a text says; null if it says none. */
export function placeOf(text: string): Place | null {
  const [, north, first, northAfter, east, second, eastAfter] = PLACE.exec(text.trim()) ?? [];
  if (first === undefined || second === undefined) return null;
  const latitude = Number(first) * (/s/i.test(north ?? northAfter ?? "") ? -1 : 1);
  const longitude = Number(second) * (/w/i.test(east ?? eastAfter ?? "") ? -1 : 1);
  return Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180 ? { latitude, longitude } : null;
}

/** A place as it is copied and put into addresses; five digits are a metre. */
export const placeText = ({ latitude, longitude }: Place): string => `${latitude.toFixed(5)}, ${longitude.toFixed(5)}`;
