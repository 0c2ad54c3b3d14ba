// Fences made and changed by hand: what is drawn is what the server keeps, and vehicles enter it.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Fleet, Server, launch, open, signIn } from "./harness/index.mjs";

const CENTER = { latitude: 59.33, longitude: 18.06 };

let server, browser;

before(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
});
after(async () => {
  await browser?.close();
  await server?.remove();
});

/** A fleet with one bus that was seen, so that the map shows where it is; and the page of its fences, ready to be drawn on. */
async function fences(address = "#/fences", { person } = {}) {
  const fleet = await Fleet.make(server);
  const bus = await fleet.vehicle("Bus 7");
  await fleet.circle("Home", CENTER, 400);
  const page = await open(browser, server);
  await signIn(page, person ? await fleet.person(person) : fleet);
  await page.goto(`/${address}`);
  await page.locator("[data-map=ready]").waitFor();
  return { fleet, bus, page, map: await mapOf(page) };
}

async function mapOf(page) {
  const box = await page.locator(".map canvas").boundingBox();
  const at = (x, y) => [box.x + box.width * x, box.y + box.height * y];
  return {
    click: (x, y) => page.mouse.click(...at(x, y)),
    move: (x, y) => page.mouse.move(...at(x, y), { steps: 4 }),
    drag: async (from, to) => {
      await page.mouse.move(...at(...from));
      await page.mouse.down();
      await page.mouse.move(...at(...to), { steps: 8 });
      await page.mouse.up();
    },
  };
}

const number = async (page, label) => Number(await page.getByLabel(label).inputValue());
const circleOn = async (page) => ({
  type: "circle",
  center: { latitude: await number(page, "Centre latitude"), longitude: await number(page, "Centre longitude") },
  radiusMeters: await number(page, "Radius, metres"),
});
/** Saves, and waits until the server has it: the fence's own address is open. */
async function save(page, name) {
  const isSent = page.waitForResponse((answer) => answer.url().includes("/v1/geofences") && answer.request().method() !== "GET");
  await page.getByRole("button", { name: "Save" }).click();
  await isSent;
  await page.getByRole("heading", { name, exact: true }).waitFor();
}
const named = async (fleet, name) => (await fleet.admin.get("/v1/geofences?geometry=full")).data.find((fence) => fence.name === name);

/**
 * A bus comes from far away into a place; resolves to the names of the fences it entered. `after` seconds from now: a fence is in
 * force from when it was made on, and a bus is in one place at a time.
 */
async function enters(fleet, bus, { latitude, longitude }, after = 1) {
  const began = Date.now() + after * 1000;
  const fix = (seconds, north) => ({ latitude: latitude + north, longitude, recordedAt: new Date(began + seconds * 1000).toISOString() });
  await bus.report([fix(0, 0.5), fix(10, 0), fix(20, 0)]);
  const { data } = await fleet.admin.get("/v1/geofence-events");
  return data.filter(({ type, inferred }) => type === "entry" && !inferred).map(({ geofenceName }) => geofenceName);
}

test("a circle drawn by mouse is kept as it is shown, and a bus enters it", async () => {
  const { fleet, bus, page, map } = await fences("#/fences/new");
  await map.click(0.4, 0.4);
  await map.move(0.5, 0.5);
  await map.click(0.55, 0.5);
  await page.getByLabel("Name", { exact: true }).fill("Yard");
  const shown = await circleOn(page);
  assert.ok(shown.radiusMeters > 10, String(shown.radiusMeters));
  await save(page, "Yard");
  assert.deepEqual((await named(fleet, "Yard")).shape, shown);

  await page.reload();
  await page.getByRole("heading", { name: "Yard", exact: true }).waitFor();
  assert.deepEqual(await circleOn(page), shown);
  assert.ok((await enters(fleet, bus, shown.center)).includes("Yard"));
  assert.deepEqual(page.foreign, []);
  assert.deepEqual(page.faults, []);
});

test("a circle is moved, resized and typed, and stays the circle that is shown", async () => {
  const { fleet, page } = await fences();
  await page.getByRole("link", { name: "Home" }).click();
  await page.getByText("Drag the circle to move it").waitFor();
  const map = await mapOf(page);
  const before = await circleOn(page);
  assert.deepEqual(before, { type: "circle", center: CENTER, radiusMeters: 400 });

  await map.drag([0.5, 0.5], [0.55, 0.55]);
  const moved = await circleOn(page);
  assert.equal(moved.radiusMeters, 400);
  assert.ok(moved.center.longitude > CENTER.longitude && moved.center.latitude < CENTER.latitude, JSON.stringify(moved));
  await save(page, "Home");
  assert.deepEqual((await named(fleet, "Home")).shape, moved);

  await page.getByLabel("Radius, metres").fill("123.4");
  await page.getByLabel("Centre latitude").fill("59.3312345");
  await save(page, "Home");
  const typed = { ...moved, center: { ...moved.center, latitude: 59.3312345 }, radiusMeters: 123.4 };
  await page.reload();
  await page.getByRole("heading", { name: "Home", exact: true }).waitFor();
  assert.deepEqual(await circleOn(page), typed);
  assert.deepEqual((await named(fleet, "Home")).shape, typed);
  assert.deepEqual(page.faults, []);
});

test("a circle's handle resizes it around the same centre", async () => {
  const { fleet, page } = await fences();
  await page.getByRole("link", { name: "Home" }).click();
  await page.getByText("Drag the circle to move it").waitFor();
  const box = await page.locator(".map canvas").boundingBox();
  // the handle in the north: the fence fills the map but for its margin of 72 pixels, in the narrower direction
  const reach = Math.min(box.width, box.height) / 2 - 72;
  const north = 0.5 - reach / box.height;
  await (await mapOf(page)).drag([0.5, north], [0.5, north / 2]);
  const resized = await circleOn(page);
  assert.ok(resized.radiusMeters > 410, String(resized.radiusMeters));
  assert.deepEqual(resized.center, CENTER);
  await save(page, "Home");
  assert.deepEqual((await named(fleet, "Home")).shape, resized);
  assert.deepEqual(page.faults, []);
});

test("a polygon with a hole is drawn by mouse; a bus enters it, but not in its hole", async () => {
  const { fleet, bus, page, map } = await fences("#/fences/new");
  await page.getByRole("button", { name: "Draw polygon" }).click();
  for (const [x, y] of [[0.2, 0.2], [0.8, 0.2], [0.8, 0.8], [0.2, 0.8]]) await map.click(x, y);
  await map.click(0.2, 0.2);
  await page.getByRole("button", { name: "Cut a hole" }).click();
  for (const [x, y] of [[0.4, 0.4], [0.6, 0.4], [0.6, 0.6], [0.4, 0.6]]) await map.click(x, y);
  await map.click(0.4, 0.4);
  await page.getByRole("button", { name: "Remove hole 1" }).waitFor();
  await page.getByLabel("Name", { exact: true }).fill("Block");
  await save(page, "Block");

  const { shape } = await named(fleet, "Block");
  assert.equal(shape.type, "polygon");
  assert.deepEqual([shape.vertices.length, shape.holes.map((hole) => hole.length)], [4, [4]]);
  const middle = (a, b) => ({ latitude: (a.latitude + b.latitude) / 2, longitude: (a.longitude + b.longitude) / 2 });
  const inHole = middle(shape.holes[0][0], shape.holes[0][2]);
  assert.ok(!(await enters(fleet, bus, inHole)).includes("Block"));
  assert.ok((await enters(fleet, bus, middle(shape.vertices[0], shape.holes[0][0]), 40)).includes("Block"));
  assert.deepEqual(page.faults, []);
});

test("without the mouse: a polygon is typed, and what crosses itself is refused at the shape in words", async () => {
  const { fleet, page } = await fences("#/fences/new", { person: "dispatcher" });
  await page.getByLabel("Name", { exact: true }).fill("Typed");
  await page.getByRole("button", { name: "Draw polygon" }).press("Enter");
  const corners = page.getByLabel("Corners");
  await corners.fill("59.33, 18.06\n59.34, 18.07\n59.34, 18.06\n59.33, 18.07");
  await page.getByRole("button", { name: "Save" }).press("Enter");
  await page.locator("fieldset .wrong").first().waitFor();
  assert.match(await page.locator("fieldset .wrong").first().textContent(), /cross/i);
  await corners.fill("59.33, 18.06\n59.33, 18.07\n59.34, 18.07\n59.34, 18.06");
  await page.getByRole("button", { name: "Save" }).press("Enter");
  await page.getByRole("heading", { name: "Typed", exact: true }).waitFor();
  assert.equal((await named(fleet, "Typed")).shape.vertices.length, 4);
  assert.deepEqual(page.faults, []);
});

test("GeoJSON is imported, and each feature that is refused says why", async () => {
  const { fleet, page } = await fences();
  const square = (longitude) => [[[longitude, 59], [longitude + 0.1, 59], [longitude + 0.1, 59.1], [longitude, 59.1], [longitude, 59]]];
  const feature = (name, coordinates) => ({ type: "Feature", properties: { name }, geometry: { type: "Polygon", coordinates } });
  const bowtie = [[[18, 59], [18.1, 59.1], [18.1, 59], [18, 59.1], [18, 59]]];
  const text = JSON.stringify({ type: "FeatureCollection", features: [feature("Good", square(18)), feature("Bowtie", bowtie)] });
  await page.getByRole("button", { name: "Import" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("File").setInputFiles({ name: "fences.geojson", mimeType: "application/geo+json", buffer: Buffer.from(text) });
  await dialog.getByRole("button", { name: "Import" }).click();
  await dialog.getByText("1 fence made, 1 refused.").waitFor();
  assert.match(await dialog.getByRole("listitem").textContent(), /Feature 2 \(Bowtie\).*cross/i);
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "Good" }).waitFor();
  assert.equal((await named(fleet, "Good")).shape.type, "polygon");
  assert.deepEqual(page.faults, []);
});

test("a fence is deleted only after it was asked, and Escape is no", async () => {
  const { fleet, page } = await fences();
  await page.getByRole("link", { name: "Home" }).click();
  const ask = page.getByRole("button", { name: "Delete" });
  await ask.click();
  await page.getByRole("dialog", { name: "Delete Home?" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.ok(await ask.evaluate((button) => button === document.activeElement), "the focus is back where it was");
  await ask.click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("There is no fence yet").waitFor();
  assert.equal(await named(fleet, "Home"), undefined);
});
