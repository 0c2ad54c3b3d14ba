// What a device says beside where it is: the newest value of each name, in words with units where the name is known.

import type { StoredPosition } from "../../api/schema";
import { measure } from "../../format";
import { decimal } from "../../numbers";
import { strings } from "../../strings";

const words = strings.reported;
type Known = keyof typeof words.names;

/** A value as it came, and the fix it came with. */
export interface Value {
  readonly name: string;
  readonly value: unknown;
  readonly recordedAt: string;
}

/** The newest value of each name; fixes newest first. */
export function newestOf(fixes: readonly StoredPosition[]): Map<string, Value> {
  const found = new Map<string, Value>();
  for (const { recordedAt, ignition, odometerKm, altitudeMeters, accuracyMeters, attributes } of fixes) {
    const said = { ignition, odometerKm, altitudeMeters, accuracyMeters, ...attributes };
    for (const [name, value] of Object.entries(said)) {
      if (value !== null && value !== undefined && !found.has(name)) found.set(name, { name, value, recordedAt });
    }
  }
  return found;
}

const number = (say: (value: number) => string) => (value: unknown) => (typeof value === "number" ? say(value) : null);
const word = (say: (value: string) => string) => (value: unknown) => (typeof value === "string" ? say(value) : null);
const truth = (say: (value: boolean) => string) => (value: unknown) => (typeof value === "boolean" ? say(value) : null);
const list = (say: (value: unknown, place: number) => string) => (value: unknown) => (Array.isArray(value) ? value.map(say).join(", ") : null);
const alarms = new Map<string, string>(Object.entries(words.alarms));

/** Each value that is known, in the order it is shown in; null for one that is not of its type. */
const KNOWN: Readonly<Record<Known, (value: unknown) => string | null>> = {
  alarm: word((alarm) => alarms.get(alarm) ?? alarm),
  ignition: truth(words.is),
  odometerKm: number((km) => measure("distance", km)),
  externalVolts: number((volts) => words.volts(decimal(volts, 2))),
  batteryPercent: number((share) => words.percent(decimal(share, 0))),
  batteryVolts: number((volts) => words.volts(decimal(volts, 2))),
  charging: truth(words.yes),
  temperatureCelsius: list((celsius) => measure("temperature", Number(celsius))),
  inputs: list((isOn, place) => words.input(place + 1, isOn === true)),
  driverCard: word((card) => card),
  engineRpm: number((turns) => words.rpm(decimal(turns, 0))),
  coolantCelsius: number((celsius) => measure("temperature", celsius)),
  satellites: number((satellites) => decimal(satellites, 0)),
  hdop: number((hdop) => decimal(hdop, 2)),
  accuracyMeters: number((meters) => words.within(measure("length", meters))),
  altitudeMeters: number((meters) => measure("length", meters)),
};

/** A value as it is shown. */
export interface Shown extends Value {
  readonly label: string;
  readonly text: string;
}

/** Those with a name of ours in words, and the rest as the device says it. */
export function inWords(values: ReadonlyMap<string, Value>): { readonly known: Shown[]; readonly others: Shown[] } {
  const known: Shown[] = [];
  const others = new Map(values);
  for (const [name, say] of Object.entries(KNOWN) as [Known, (value: unknown) => string | null][]) {
    const one = values.get(name);
    const text = one && say(one.value);
    if (!one || !text) continue;
    known.push({ ...one, label: words.names[name], text });
    others.delete(name);
  }
  const asIs = [...others.values()].map((one) => ({ ...one, label: one.name, text: raw(one.value) }));
  return { known, others: asIs.sort((a, b) => (a.name < b.name ? -1 : 1)) };
}

/** Numbers without commas, since nobody knows whether one is an amount or a code. */
function raw(value: unknown): string {
  if (typeof value === "boolean") return words.yes(value);
  return typeof value === "string" || typeof value === "number" ? String(value) : JSON.stringify(value);
}
