// A place in words: the town it is in or near.

import { useEffect } from "preact/hooks";

import type { Place } from "../api/schema";
import { shown, unit } from "../format";
import { whole } from "../numbers";
import { loadTowns, towns } from "../state/towns";
import { strings } from "../strings";

const words = strings.town;

/** What a place is near; empty far from all towns, and until their names are here. */
function nearTown(at: Place): string {
  const near = towns.value?.townNear(at);
  if (!near) return "";
  if (near.isWithin) return words.near(near.town.name);
  return words.away(`${whole(shown("distance", near.meters / 1000))} ${unit("distance")}`, strings.detail.compass(near.bearingDegrees), near.town.name);
}

/** A place in words, behind `before`; nothing where no town is near. */
export function NearTown({ at, before = "" }: { at: Place | null | undefined; before?: string }) {
  useEffect(() => { void loadTowns(); }, []);
  const text = at ? nearTown(at) : "";
  return <>{text && before + text}</>;
}
