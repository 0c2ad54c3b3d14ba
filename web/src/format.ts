// Instants and measures as people read them, in their time zone and units.

import { computed } from "@preact/signals";

import { conventions, ownTimeZone } from "./conventions";
import { decimal } from "./numbers";
import { now } from "./state/clock";
import { strings } from "./strings";

/** An instant: RFC 3339, or milliseconds since 1970. */
export type Instant = string | number;

/** Whether this browser's clocks go to 12 or to 24, as in its own fields of times. */
const { hourCycle: ownHourCycle } = new Intl.DateTimeFormat(undefined, { hour: "numeric" }).resolvedOptions();

/** Clocks as the setting's country has them; a language alone (`en`) has none of its own, and those of the browser stay. */
function clocksOf(locale: string | undefined): Intl.DateTimeFormatOptions {
  const isSaid = locale !== undefined && new Intl.Locale(locale).region !== undefined;
  return isSaid || !ownHourCycle ? {} : { hourCycle: ownHourCycle };
}

const by = (options: Intl.DateTimeFormatOptions) => {
  const hasTime = options.hour !== undefined || options.timeStyle !== undefined;
  const format = computed(() => {
    const { locale, timeZone } = conventions.value;
    return new Intl.DateTimeFormat(locale, { timeZone, ...options, ...(hasTime && clocksOf(locale)) });
  });
  return (instant: Instant): string => format.value.format(new Date(instant));
};

interface Person {
  readonly firstName: string;
  readonly lastName: string;
}

/** The name of a person. */
export const fullName = ({ firstName, lastName }: Person): string => `${firstName} ${lastName}`;

/** The time of day, for where the day stands beside it. */
export const timeOfDay = by({ timeStyle: "medium" });
/** Hour and minute. */
export const hourOfDay = by({ timeStyle: "short" });
/** The hour alone, for the marks of a day. */
export const hour = by({ hour: "numeric" });
/** The day and the time of day. */
export const dayAndTime = by({ dateStyle: "medium", timeStyle: "short" });
const shortDay = by({ day: "numeric", month: "short" });
/** The day in short and the hour, where there is little room and the year is known. */
export const dayAndHour = (instant: Instant): string => `${shortDay(instant)}, ${hourOfDay(instant)}`;
/** The day of an instant. */
export const date = by({ dateStyle: "medium" });
/** The time zone in force, as people call it where they are. */
export const zone = (): string => zoneName(conventions.value.timeZone);
/** The same where it is another than this computer's, else nothing. */
export const foreignZone = (): string => (zone() === zoneName(ownTimeZone()) ? "" : zone());

function zoneName(timeZone: string | undefined): string {
  const { locale } = conventions.value;
  const found = new Intl.DateTimeFormat(locale, { timeZone, timeZoneName: "longGeneric" }).formatToParts();
  return found.find(({ type }) => type === "timeZoneName")?.value ?? "";
}
/** All of it, with the time zone's name. */
export const inFull = by({ dateStyle: "full", timeStyle: "long" });

const dayFormat = computed(() => new Intl.DateTimeFormat(conventions.value.locale, { dateStyle: "medium", timeZone: "UTC" }));
/** A day of the calendar, `2026-11-20`, which is that day wherever it is read. */
export const day = (named: string): string => dayFormat.value.format(new Date(`${named}T00:00Z`));

/** The day it is now. */
export const today = computed(() => dayOf(now.value));
/** The time of day of what is today, with its date of what is not. */
export const moment = (instant: Instant): string => (dayOf(instant) === today.value ? timeOfDay(instant) : dayAndTime(instant));
/** The hour of what is of a day, `2026-11-20`, with its date of what is not. */
export const hourOn = (day: string) => (instant: Instant): string => (dayOf(instant) === day ? hourOfDay(instant) : dayAndHour(instant));
/** Whether an instant is of today. */
export const isToday = (instant: Instant): boolean => dayOf(instant) === today.value;

/** An instant's parts in the time zone in force, by a calendar and clock that sort as text. */
const parts = computed(() => new Intl.DateTimeFormat("en-CA", {
  timeZone: conventions.value.timeZone, hourCycle: "h23",
  year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit",
}));

/** What clocks show at an instant, `2026-11-20T14:03:22`. */
function clockAt(instant: Instant): string {
  const found = Object.fromEntries(parts.value.formatToParts(new Date(instant)).map(({ type, value }) => [type, value]));
  return `${found["year"]?.padStart(4, "0")}-${found["month"]}-${found["day"]}T${found["hour"]}:${found["minute"]}:${found["second"]}`;
}

/** What `<input type="datetime-local">` has for an instant. */
export const localTime = (instant: Instant): string => clockAt(instant);

/** A day as `<input type="date">` has it. */
export const dayOf = (instant: Instant): string => clockAt(instant).slice(0, 10);

const DAY_MS = 86_400_000;
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** Whether a text names a day, as an address or an input may have it: `2026-11-20`, of a year of four digits. */
export const isDay = (text: string): boolean => DAY.test(text) && !Number.isNaN(Date.parse(text));

/** The instant at which clocks show this, `2026-11-20T14:03`: the first of two; of an hour that is left out, that much later. */
export function instantOf(shown: string): number {
  const wanted = Date.parse(`${shown}Z`);
  const offset = (at: number) => Date.parse(`${clockAt(at)}Z`) - at;
  // what is in force a day before and a day after, between which clocks are changed at most once
  const offsets = [offset(wanted - DAY_MS), offset(wanted + DAY_MS)];
  const [early, late] = [wanted - Math.max(...offsets), wanted - Math.min(...offsets)];
  return early + offset(early) === wanted ? early : late;
}

/** The first instant of a day, and of the day `later` days after it. */
export const startOfDay = (named: string, later = 0): number =>
  instantOf(`${new Date(Date.parse(`${named}T00:00Z`) + later * DAY_MS).toISOString().slice(0, 10)}T00:00`);

/** A span in its largest unit: 12 s, 3 min, 5 h, 2 d. */
export function span(milliseconds: number): string {
  const seconds = milliseconds / 1000;
  if (seconds < 60) return strings.units.seconds(seconds);
  if (seconds < 3600) return strings.units.minutes(seconds / 60);
  if (seconds < 86_400) return strings.units.hours(seconds / 3600);
  return strings.units.days(seconds / 86_400);
}

/** A span to the minute, for what people add up: 45 s, 12 min, 1 h 55 min, 2 d 3 h. */
export function duration(milliseconds: number): string {
  const minutes = Math.round(milliseconds / 60_000);
  if (minutes < 60) return milliseconds < 60_000 ? span(milliseconds) : span(minutes * 60_000);
  const { hours, days } = strings.units;
  const [large, small] = minutes < 1440 ? [hours(minutes / 60), strings.units.minutes(minutes % 60)] : [days(minutes / 1440), hours((minutes % 1440) / 60)];
  return small.startsWith("0 ") ? large : `${large} ${small}`;
}

const collator = computed(() => new Intl.Collator(conventions.value.locale, { numeric: true, sensitivity: "base" }));
/** Names in the order people expect: Bus 9 before Bus 10. */
export const byName = (one: string, other: string): number => collator.value.compare(one, other);

/** People by their last names, then their first ones. */
export const byLastName = (one: Person, other: Person): number => byName(one.lastName, other.lastName) || byName(one.firstName, other.firstName);

const MILES_PER_KM = 0.621371192;
const FEET_PER_METER = 1 / 0.3048;
const GALLONS_PER_LITER = 1 / 3.785411784;
const times = (factor: number) => ({ to: (metric: number) => metric * factor, from: (shown: number) => shown / factor });
/** Litres per 100 km and miles per gallon are each other's inverse. */
const perDistance = (value: number) => (100 * MILES_PER_KM) / (value * GALLONS_PER_LITER);

/** What the interface says in km/h, litres, kilometres, metres, square metres, litres per 100 km and degrees Celsius. */
const IMPERIAL = {
  speed: times(MILES_PER_KM), volume: times(GALLONS_PER_LITER), distance: times(MILES_PER_KM), length: times(FEET_PER_METER),
  area: times(FEET_PER_METER ** 2), consumption: { to: perDistance, from: perDistance },
  temperature: { to: (celsius: number) => celsius * 1.8 + 32, from: (shown: number) => (shown - 32) / 1.8 },
};
const SAME = times(1);
export type Quantity = keyof typeof IMPERIAL;
const DIGITS = { speed: 0, volume: 1, distance: 1, length: 0, area: 0, consumption: 1, temperature: 1 } as const satisfies Record<Quantity, 0 | 1>;

const scaleOf = (quantity: Quantity) => (conventions.value.isImperial ? IMPERIAL[quantity] : SAME);
/** A metric number in the units in force. */
export const shown = (quantity: Quantity, metric: number): number => scaleOf(quantity).to(metric);
/** A number of the units in force as the interface wants it. */
export const metric = (quantity: Quantity, value: number): number => scaleOf(quantity).from(value);
/** The unit in force: km/h or mph. */
export const unit = (quantity: Quantity): string => strings.units[conventions.value.isImperial ? "imperial" : "metric"][quantity];
/** The number alone, for a column whose head has the unit. */
export const amount = (quantity: Quantity, value: number): string => decimal(shown(quantity, value), DIGITS[quantity]);
/** A number with its unit, of what the interface says. */
export const measure = (quantity: Quantity, value: number): string => `${amount(quantity, value)} ${unit(quantity)}`;
/** A label of a field in which a number of this unit is written. */
export const labelled = (label: string, quantity: Quantity): string =>
  `${label}, ${strings.units[conventions.value.isImperial ? "imperialWords" : "metricWords"][quantity]}`;
