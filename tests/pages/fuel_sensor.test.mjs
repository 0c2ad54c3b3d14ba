// A fuel sensor is described by the form of its vehicle, and a chart shows how full the tank is.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Fleet, Vehicle, eventually, picture, setUp, signIn, visit } from "./harness/index.mjs";

const stage = setUp();

/** Where a chart draws its level, as a share of its height from below, at a share of its width. */
const shareAt = (page, across) => page.locator(".chart").evaluate(async (element, share) => {
  const canvas = element.querySelector("canvas");
  const plot = element.querySelector(".u-over");
  const [left, top] = [parseFloat(plot.style.left), parseFloat(plot.style.top)].map((pixels) => pixels * devicePixelRatio);
  const [width, height] = [plot.clientWidth, plot.clientHeight].map((pixels) => Math.round(pixels * devicePixelRatio));
  const probe = document.createElement("i");
  probe.style.color = "var(--accent)";
  element.append(probe);
  const [red, green, blue] = getComputedStyle(probe).color.match(/\d+/g).map(Number);
  probe.remove();
  const column = canvas.getContext("2d").getImageData(Math.round(left + width * share), Math.round(top), 1, height).data;
  for (let y = 0; y < height; y += 1) {
    const [r, g, b] = column.subarray(4 * y, 4 * y + 3);
    if (Math.abs(r - red) + Math.abs(g - green) + Math.abs(b - blue) < 60) return 1 - y / height;
  }
  return null;
}, across);

test("a sensor is described where its vehicle is; half a tank looks like half", async () => {
  const fleet = await Fleet.make(stage.server);
  const page = await stage.page();
  await signIn(page, fleet);
  await visit(page, "#/fleet/new");
  await page.getByLabel("Name", { exact: true }).fill("Lorry");
  await page.getByLabel("Tracker's own id").fill("tracker-of-lorry");
  await page.getByText("Fuel", { exact: true }).click();
  await page.getByLabel("Fuel sensor").selectOption("raw");
  const calibration = page.getByLabel("Calibration, litres");
  await calibration.fill("0 0\n4000 full");
  await page.getByRole("button", { name: "Save" }).click();
  assert.equal(await calibration.evaluate((element) => element.validationMessage), "Line 2 is not two numbers, written without separators.");
  await calibration.fill("0 0\n4000 300\n3000 200");
  await page.getByRole("button", { name: "Save" }).click();
  // each refusal stands at its field
  await page.getByText("is required for a sensor").first().waitFor();
  await page.getByLabel("Tank, litres").fill("300");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator("textarea[aria-invalid=true]").waitFor();
  await calibration.fill("0 0\n4000 300");
  await page.getByLabel("Invalid above").fill("4100");
  await picture(page, "fuel-sensor");
  const [answer] = await Promise.all([
    page.waitForResponse((response) => response.url().endsWith("/v1/vehicles") && response.request().method() === "POST" && response.ok()),
    page.getByRole("button", { name: "Save" }).click(),
  ]);
  const made = await answer.json();
  const sensor = { kind: "raw", calibration: [{ raw: 0, liters: 0 }, { raw: 4000, liters: 300 }], maxValid: 4100, errorCodes: [], windowSeconds: 300 };
  assert.deepEqual((await fleet.admin.get(`/v1/vehicles/${made.id}`)).fuel.sensor, sensor);

  const lorry = new Vehicle(stage.server.url, made);
  const began = Date.now() - 3_600_000;
  const items = Array.from({ length: 60 }, (_, minute) => ({
    recordedAt: new Date(began + minute * 60_000).toISOString(), latitude: 59.3 + minute * 0.005, longitude: 18, speedKmh: 33, fuel: { raw: 2000 - minute },
  }));
  await lorry.report(items);
  await visit(page, `#/live/${made.id}`);
  await page.getByRole("img", { name: "Fuel in the tank of Lorry" }).locator(".u-over").waitFor();
  const half = await shareAt(page, 0.5);
  await picture(page, "half-a-tank");
  assert.ok(half > 0.44 && half < 0.54, `${half}`);

  // another tank is another from now on: what was recorded before is not judged anew
  assert.equal((await fleet.admin.get(`/v1/vehicles/${made.id}`)).fuel.effectiveFrom, null, "what a vehicle is made with it always had");
  const before = Date.now();
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByText("Fuel", { exact: true }).click();
  await page.getByLabel("Tank, litres").fill("310");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("button", { name: "Edit" }).waitFor();
  const { tankCapacityLiters, effectiveFrom } = (await fleet.admin.get(`/v1/vehicles/${made.id}`)).fuel;
  assert.equal(tankCapacityLiters, 310);
  assert.ok(Date.parse(effectiveFrom) >= before - 1000, `in force from ${effectiveFrom}`);
  assert.deepEqual(page.faults, []);
});

test("how much is in the tank moves while it is looked at, and whoever looks closer at a part goes on doing so", async () => {
  const fleet = await Fleet.make(stage.server);
  const lorry = await fleet.vehicle("Lorry", { fuel: { kind: "diesel", tankCapacityLiters: 100 } });
  const began = Date.now() - 3_600_000;
  const at = (minute, liters) => ({ recordedAt: new Date(began + minute * 60_000).toISOString(), latitude: 59.3 + minute * 0.005, longitude: 18, speedKmh: 33, fuel: { liters } });
  await lorry.report(Array.from({ length: 50 }, (_, minute) => at(minute, 60 - minute * 0.05)));
  const page = await stage.page();
  await signIn(page, fleet);
  await visit(page, `#/live/${lorry.id}`);
  const panel = page.getByRole("region", { name: "Lorry", exact: true });
  const level = async () => Number.parseFloat(await panel.getByText(/^[\d.]+ L now$/).innerText());
  const chart = panel.getByRole("img", { name: "Fuel in the tank of Lorry" }).locator(".u-over");
  await chart.waitFor();
  const first = await level();
  assert.ok(first > 57 && first < 59, `${first}`);

  const { x, y, width } = await chart.boundingBox();
  const begins = async () => {
    await page.mouse.move(x + 1, y + 60);
    return panel.locator(".u-legend .u-value").first().innerText();
  };
  const whole = await begins();
  await page.mouse.move(x + width * 0.5, y + 60);
  await page.mouse.down();
  await page.mouse.move(x + width * 0.9, y + 60, { steps: 4 });
  await page.mouse.up();
  const closer = await begins();
  assert.notEqual(closer, whole);

  await lorry.report(Array.from({ length: 9 }, (_, minute) => at(50 + minute, 57.5 - minute * 0.3)));
  await eventually(async () => assert.ok(await level() < first - 1, "the level moves"));
  assert.notEqual(await begins(), whole, "a part is still looked at closer");
  await chart.dblclick();
  assert.equal(await begins(), whole);
  await page.mouse.move(x + width - 1, y + 60);
  const ends = Number.parseFloat(await panel.locator(".u-legend .u-value").last().innerText());
  assert.ok(Math.abs(ends - await level()) < 0.11, `the chart ends with what is there now: ${ends}`);
  assert.deepEqual(page.faults, []);
});
