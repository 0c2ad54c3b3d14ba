// Where a day begins in a time zone, and at which instant clocks show something: also where clocks are changed at midnight.

import assert from "node:assert/strict";
import { test } from "node:test";

import { sources } from "./harness/source.mjs";

const modules = sources("/src/format.ts", "/src/conventions.ts");

/** Their clocks go on and back at midnight (Santiago, Havana, Cairo, Beirut, Azores; Amman until 2022), at another hour, or never. */
const ZONES = [
  "America/Santiago", "America/Havana", "Africa/Cairo", "Asia/Beirut", "Atlantic/Azores", "Asia/Amman", "Australia/Lord_Howe", "Europe/Berlin",
  "America/St_Johns", "Pacific/Kiritimati", "Pacific/Pago_Pago", "Africa/Casablanca", "UTC",
];
const DAY_MS = 86_400_000;
const named = (at) => new Date(at).toISOString().slice(0, 10);

/** The module of times as it writes them in a zone. */
function inZone(timeZone) {
  const { conventions } = modules["/src/conventions.ts"];
  conventions.value = { ...conventions.value, timeZone };
  return modules["/src/format.ts"];
}

for (const zone of ZONES) {
  test(`each day of a year begins after the one before: ${zone}`, () => {
    const { dayOf, startOfDay } = inZone(zone);
    for (const year of [2021, 2025]) {
      for (let at = Date.UTC(year, 0, 1); at < Date.UTC(year + 1, 0, 1); at += DAY_MS) {
        const [day, next] = [named(at), named(at + DAY_MS)];
        const begins = startOfDay(day, 1);
        assert.equal(dayOf(begins), next, `the day after ${day}`);
        assert.equal(dayOf(begins - 1), day, `${next} begins with its first instant`);
        assert.equal(startOfDay(next), begins);
      }
    }
  });
}

test("an hour that clocks leave out is that much later, and of one they show twice it is the first", () => {
  const { instantOf } = inZone("Europe/Berlin");
  assert.equal(new Date(instantOf("2025-03-30T02:30")).toISOString(), "2025-03-30T01:30:00.000Z");
  assert.equal(new Date(instantOf("2025-10-26T02:30")).toISOString(), "2025-10-26T00:30:00.000Z");
  assert.equal(new Date(inZone("America/Santiago").instantOf("2025-09-07T00:30:15")).toISOString(), "2025-09-07T04:30:15.000Z");
  assert.equal(new Date(inZone("America/New_York").instantOf("2025-11-02T01:30")).toISOString(), "2025-11-02T05:30:00.000Z");
});
