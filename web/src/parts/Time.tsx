// An instant: its time of day if it is of today, else its date too; pointed at, all of it, with the time zone.

import { type Instant, inFull, moment } from "../format";

/** `shows` writes it another way, where the day stands beside it. */
export function Time({ at, shows = moment }: { at: Instant; shows?: (at: Instant) => string }) {
  return <time dateTime={typeof at === "string" ? at : new Date(at).toISOString()} title={inFull(at)}>{shows(at)}</time>;
}
