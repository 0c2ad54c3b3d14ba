// Numbers and instants as people read them.

import { strings } from "./strings";

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/** The time of day of an instant (RFC 3339 or milliseconds since 1970). */
export const timeOfDay = (instant: string | number): string => clock.format(new Date(instant));

/** How many liters, to a tenth. */
export const liters = (volume: number): string => volume.toLocaleString(undefined, { maximumFractionDigits: 1 });

/** A day as `<input type="date">` has it, of this computer's zone. */
export function dayOf(instant: number): string {
  const date = new Date(instant);
  const two = (number: number) => String(number).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** The first instant of a day of this computer's zone, and of the day `later` days after it. */
export function startOfDay(day: string, later = 0): number {
  const [year = 1970, month = 1, date = 1] = day.split("-").map(Number);
  return new Date(year, month - 1, date + later).getTime();
}

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

const dayFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const dayAndTimeFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/** A day of the calendar, `2026-11-20`, which is that day wherever it is read. */
export const day = (date: string): string => dayFormat.format(new Date(`${date}T00:00`));

/** The day and the time of day of an instant. */
export const dayAndTime = (instant: string): string => dayAndTimeFormat.format(new Date(instant));
