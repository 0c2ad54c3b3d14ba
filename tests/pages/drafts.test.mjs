// What a form sends of an object of which others change other members meanwhile: what was touched here, and nothing else.

import assert from "node:assert/strict";
import { test } from "node:test";

import { sources } from "./harness/source.mjs";

const modules = sources("/src/parts/form.tsx");

const SENSOR = { kind: "raw", calibration: [{ raw: 0, liters: 0 }], windowSeconds: 300 };
const VEHICLE = { name: "Bus 7", plate: null, fuel: { kind: "diesel", tankCapacityLiters: 300, sensor: SENSOR }, tracking: { intervalSeconds: 10, maxSpeedKmh: 250 } };

const draftOf = (members = VEHICLE) => new modules["/src/parts/form.tsx"].Draft(members, ["sensor"]);

test("of an object within it sends what was touched, of a list and of what is replaced as one all", () => {
  const draft = draftOf();
  assert.deepEqual(draft.changes(), {});
  draft.put("/fuel/normLitersPer100Km", 30);
  draft.put("/tracking/maxSpeedKmh", null);
  assert.deepEqual(draft.changes(), { fuel: { normLitersPer100Km: 30 }, tracking: { maxSpeedKmh: null } });
  draft.put("/tracking/maxSpeedKmh", 250);
  assert.deepEqual(draft.changes(), { fuel: { normLitersPer100Km: 30 } }, "what is as it was again is not sent");
  draft.put("/fuel/sensor/windowSeconds", 60);
  assert.deepEqual(draft.changes(), { fuel: { normLitersPer100Km: 30, sensor: { ...SENSOR, windowSeconds: 60 } } });
  draft.put("/plate/number", "ABC 123");
  assert.deepEqual(draft.changes().plate, { number: "ABC 123" }, "where there was none, it is new");
});

test("what becomes another elsewhere is taken over, but for what is being written here", () => {
  const draft = draftOf();
  draft.put("/fuel/normLitersPer100Km", 30);
  draft.put("/fuel/sensor/windowSeconds", 60);
  draft.rebase({
    ...VEHICLE, plate: { number: "ABC 123", country: "SE" }, tracking: { ...VEHICLE.tracking, intervalSeconds: 5 },
    fuel: { kind: "petrol", tankCapacityLiters: 400, sensor: { ...SENSOR, kind: "percent" } },
  });
  const { plate, fuel, tracking } = draft.value.peek();
  assert.deepEqual([plate, tracking], [{ number: "ABC 123", country: "SE" }, { intervalSeconds: 5, maxSpeedKmh: 250 }]);
  assert.deepEqual(fuel, { kind: "petrol", tankCapacityLiters: 400, normLitersPer100Km: 30, sensor: { ...SENSOR, windowSeconds: 60 } });
  assert.deepEqual(draft.changes(), { fuel: { normLitersPer100Km: 30, sensor: { ...SENSOR, windowSeconds: 60 } } });
});

test("what is typed while it is on its way stays, and so does what came from elsewhere", async () => {
  const draft = draftOf();
  draft.put("/tracking/intervalSeconds", 20);
  await draft.submit(async () => {
    draft.put("/tracking/maxSpeedKmh", 100);
    draft.rebase({ ...VEHICLE, name: "Bus 8", tracking: { intervalSeconds: 20, maxSpeedKmh: 250, overspeedKmh: 90 } });
  });
  assert.deepEqual(draft.value.peek().tracking, { intervalSeconds: 20, maxSpeedKmh: 100, overspeedKmh: 90 });
  assert.deepEqual(draft.changes(), { tracking: { maxSpeedKmh: 100 } });
  await draft.submit(async () => {});
  assert.deepEqual(draft.changes(), {});
});
