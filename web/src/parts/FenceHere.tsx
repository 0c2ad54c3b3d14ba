// Leads to a new fence around a place, for who may draw one.

import { may } from "../api/permissions";
import type { Place } from "../api/schema";
import { placeText } from "../map/place_text";
import { href } from "../state/route";
import { strings } from "../strings";

export function FenceHere({ at, name = "" }: { at: Place; name?: string }) {
  if (!may("writeGeofences")) return null;
  const words = strings.manage.fences;
  const address = `${href("fences", "new")}?at=${encodeURIComponent(placeText(at).replace(" ", ""))}`;
  return <a href={address} aria-label={name && `${words.here}: ${name}`}>{words.here}</a>;
}
