// Numbers and instants as people read them.

import { strings } from "./strings";

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** The time of day of an instant (RFC 3339 or milliseconds since 1970). */
export const timeOfDay = (instant: string | number): string => clock.format(new Date(instant));

/** A span in its largest unit: 12 s, 3 min, 5 h, 2 d. */
export function span(milliseconds: number): string {
  const seconds = milliseconds / 1000;
  if (seconds < 60) return strings.units.seconds(seconds);
  if (seconds < 3600) return strings.units.minutes(seconds / 60);
  if (seconds < 86_400) return strings.units.hours(seconds / 3600);
  return strings.units.days(seconds / 86_400);
}

/** Names in the order people expect: Bus 9 before Bus 10. */
export const byName = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" }).compare;
