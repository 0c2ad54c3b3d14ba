// Fences made and changed by hand: what is drawn is what the server keeps, and vehicles enter it.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Fleet, eventually, hasMap, isSettled, setUp, signIn, visit } from "./harness/index.mjs";

const CENTER = { latitude: 59.33, longitude: 18.06 };

const stage = setUp();

/** A fleet with one bus that was seen, so that the map shows where it is; and the page of its fences, ready to be drawn on. */
async function fences(address = "#/fences", { person, screen } = {}) {
  const fleet = await Fleet.make(stage.server);
  const bus = await fleet.vehicle("Bus 7");
  await fleet.circle("Home", CENTER, 400);
  const page = await stage.page(screen);
  await signIn(page, person ? await fleet.person(person) : fleet);
  await visit(page, address);
  await hasMap(page);
  return { fleet, bus, page, map: handOn(page) };
}

/** A hand on the map; places are shares of its width and height. */
function handOn(page) {
  const at = async ([x, y]) => {
    const box = await page.locator(".map canvas").boundingBox();
    return [box.x + box.width * x, box.y + box.height * y];
  };
  return {
    click: async (...place) => page.mouse.click(...await at(place)),
    move: async (...place) => page.mouse.move(...await at(place), { steps: 4 }),
    drag: async (from, to) => {
      await page.mouse.move(...await at(from));
      await page.mouse.down();
      await page.mouse.move(...await at(to), { steps: 8 });
      await page.mouse.up();
    },
  };
}

/** Opens the fence of the list, and waits until the map shows it in its middle, to be taken. */
async function openHome(page) {
  await page.getByRole("link", { name: "Home" }).click();
  await page.getByText("Drag the circle to move it").waitFor();
  await page.waitForFunction(({ longitude, latitude }) => {
    const element = document.querySelector(".map");
    const { map } = element.fleetMap;
    const { x, y } = map.project([longitude, latitude]);
    const canvas = map.getCanvas();
    const isWhole = canvas.clientWidth === element.clientWidth && canvas.clientHeight === element.clientHeight;
    return isWhole && map.getZoom() > 12 && Math.hypot(x - canvas.clientWidth / 2, y - canvas.clientHeight / 2) < 3;
  }, CENTER);
}

test("A fence dated back says how many vehicles are still judged anew, until none is", async () => {
  const { page } = await fences();
  let left = 1;
  await page.route(/\/v1\/geofences\/[0-9a-f-]+(\?|$)/, async (route) => {
    const response = await route.fetch();
    const fence = await response.json();
    if (left > 0) fence.pastCorrection = { vehicleCount: left--, from: fence.createdAt };
    await route.fulfill({ response, json: fence });
  });
  await openHome(page);
  await page.getByText("The past is being judged anew: 1 vehicle left.").waitFor();
  await page.getByText("is being judged anew").waitFor({ state: "detached" });
});

const number = async (page, label) => Number(await page.getByLabel(label).inputValue());
const circleOn = async (page) => ({
  type: "circle",
  center: { latitude: await number(page, "Centre latitude"), longitude: await number(page, "Centre longitude") },
  radiusMeters: await number(page, "Radius, metres"),
});
/** The circle that the form shows, once it holds still and is as it should be. */
const circleThat = (page, isRight) => eventually(async () => {
  const circle = await circleOn(page);
  assert.ok(isRight(circle), JSON.stringify(circle));
  await isSettled(page);
  assert.deepEqual(await circleOn(page), circle);
  return circle;
});
const showsCircle = (page, circle) => eventually(async () => assert.deepEqual(await circleOn(page), circle));
/** Saves, and waits until the server has it and the page has read it: the fence's own address is open. */
async function save(page, name) {
  const isSent = page.waitForResponse((answer) => answer.url().includes("/v1/geofences") && answer.request().method() !== "GET");
  await page.getByRole("button", { name: "Save" }).click();
  await isSent;
  await page.getByRole("heading", { name, exact: true }).waitFor();
  await page.getByText("Saved.").waitFor();
  await isSettled(page);
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
  const shown = await circleThat(page, ({ radiusMeters }) => radiusMeters > 10);
  await save(page, "Yard");
  assert.deepEqual((await named(fleet, "Yard")).shape, shown);

  await page.reload();
  await page.getByRole("heading", { name: "Yard", exact: true }).waitFor();
  await showsCircle(page, shown);
  assert.ok((await enters(fleet, bus, shown.center)).includes("Yard"));
  assert.deepEqual(page.foreign, []);
  assert.deepEqual(page.faults, []);
});

test("a circle is moved, resized and typed, and stays the circle that is shown", async () => {
  const { fleet, page, map } = await fences();
  await openHome(page);
  await showsCircle(page, { type: "circle", center: CENTER, radiusMeters: 400 });

  await map.drag([0.5, 0.5], [0.55, 0.55]);
  const moved = await circleThat(page, ({ center }) => center.longitude > CENTER.longitude && center.latitude < CENTER.latitude);
  assert.equal(moved.radiusMeters, 400);
  await save(page, "Home");
  assert.deepEqual((await named(fleet, "Home")).shape, moved);

  await page.getByLabel("Radius, metres").fill("123.4");
  await page.getByLabel("Centre latitude").fill("59.3312345");
  await save(page, "Home");
  const typed = { ...moved, center: { ...moved.center, latitude: 59.3312345 }, radiusMeters: 123.4 };
  await page.reload();
  await page.getByRole("heading", { name: "Home", exact: true }).waitFor();
  await showsCircle(page, typed);
  assert.deepEqual((await named(fleet, "Home")).shape, typed);
  assert.deepEqual(page.faults, []);
});

test("what is typed while a save is on its way stays, and what else changed is taken over", async () => {
  const { fleet, page } = await fences();
  await openHome(page);
  let arrive;
  const isArrived = new Promise((resolve) => { arrive = resolve; });
  await page.getByLabel("Radius, metres").fill("300");
  await page.route(/\/v1\/geofences\?/, async (route) => {
    await isArrived;
    await route.continue();
  });
  const isSent = page.waitForResponse((answer) => answer.request().method() === "PUT");
  await page.getByRole("button", { name: "Save" }).click();
  await isSent;
  const home = await named(fleet, "Home");
  await fleet.admin.put(`/v1/geofences/${home.id}`, { category: "Depots" });
  await page.getByLabel("Description").fill("Behind the church");
  arrive();
  await isSettled(page);
  await eventually(async () => {
    const values = await Promise.all(["Radius, metres", "Category", "Description"].map((label) => page.getByLabel(label, { exact: true }).inputValue()));
    assert.deepEqual(values, ["300", "Depots", "Behind the church"]);
  });
  await save(page, "Home");
  const { shape, category, description } = await named(fleet, "Home");
  assert.deepEqual([shape.radiusMeters, category, description], [300, "Depots", "Behind the church"]);
  assert.deepEqual(page.faults, []);
});

test("a drag of a circle's handle is one step, however long the hand takes", async () => {
  const { page } = await fences();
  await openHome(page);
  const box = await page.locator(".map canvas").boundingBox();
  const [x, y, reach] = [box.x + box.width / 2, box.y + box.height / 2, Math.min(box.width, box.height) / 2 - 72];
  await page.evaluate(() => {
    const now = performance.now.bind(performance);
    window.restedMs = 0;
    performance.now = () => now() + window.restedMs;
  });
  const drag = async (from, ...to) => {
    await page.mouse.move(x, y - from);
    await page.mouse.down();
    for (const pixels of to) {
      const radius = await number(page, "Radius, metres");
      await page.mouse.move(x, y - pixels, { steps: 3 });
      await circleThat(page, ({ radiusMeters }) => radiusMeters !== radius);
      await page.evaluate(() => { window.restedMs += 1000; });
    }
    await page.mouse.up();
    return circleThat(page, ({ radiusMeters }) => radiusMeters > 410);
  };
  const first = await drag(reach, reach + 12, reach + 24, reach + 36);
  const second = await drag(reach + 36, reach + 44, reach + 52);
  const undo = page.getByRole("button", { name: "Undo" });
  await undo.click();
  await showsCircle(page, first);
  await undo.click();
  await showsCircle(page, { type: "circle", center: CENTER, radiusMeters: 400 });
  assert.ok(await undo.isDisabled(), "there was nothing before");
  await page.getByRole("button", { name: "Redo" }).click();
  await page.getByRole("button", { name: "Redo" }).click();
  await showsCircle(page, second);
  assert.deepEqual(page.faults, []);
});

for (const [side, x, y] of [["north", 0, -1], ["east", 1, 0]]) {
  test(`a circle's handle in the ${side} resizes it around the same centre`, async () => {
    const { fleet, page, map } = await fences();
    await openHome(page);
    const box = await page.locator(".map canvas").boundingBox();
    // the fence fills the map but for its margin of 72 pixels, in the narrower direction
    const reach = Math.min(box.width, box.height) / 2 - 72;
    const at = (pixels) => [0.5 + (x * pixels) / box.width, 0.5 + (y * pixels) / box.height];
    await map.drag(at(reach), at(reach + 36));
    const resized = await circleThat(page, ({ radiusMeters }) => radiusMeters > 410);
    assert.deepEqual(resized.center, CENTER);
    await save(page, "Home");
    assert.deepEqual((await named(fleet, "Home")).shape, resized);
    assert.deepEqual(page.faults, []);
  });
}

test("a polygon with a hole is drawn by mouse; a bus enters it, but not in its hole", async () => {
  const { fleet, bus, page, map } = await fences("#/fences/new");
  await page.getByRole("button", { name: "Draw polygon" }).click();
  for (const [x, y] of [[0.2, 0.2], [0.8, 0.2], [0.8, 0.8], [0.2, 0.8]]) await map.click(x, y);
  await map.click(0.2, 0.2);
  await page.getByRole("button", { name: "Cut a hole" }).click();
  for (const [x, y] of [[0.4, 0.4], [0.6, 0.4], [0.6, 0.6], [0.4, 0.6]]) await map.click(x, y);
  await map.click(0.4, 0.4);
  await page.getByRole("button", { name: "Remove hole 1" }).waitFor();
  const filled = await page.locator(".map").evaluate(async (element) => (await element.fleetMap.map.getSource("drawn").getData()).geometry.coordinates.length);
  assert.equal(filled, 2, "the hole is cut out of what is filled");
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

test("corners are removed by touch, down to three, and come back by Undo", async () => {
  const { fleet, page } = await fences("#/fences/new", { screen: { hasTouch: true } });
  await page.getByRole("button", { name: "Draw polygon" }).click();
  await page.getByLabel("Name", { exact: true }).fill("Tapped");
  await page.getByLabel("Corners").fill("59.33, 18.05\n59.34, 18.05\n59.34, 18.07\n59.335, 18.08\n59.33, 18.07");
  await page.getByRole("button", { name: "Remove corners" }).tap();
  const isStill = () => page.waitForFunction(() => {
    const { map } = document.querySelector(".map").fleetMap;
    return !map.isMoving() && [[18.05, 59.33], [18.08, 59.34]].every((corner) => map.getBounds().contains(corner));
  });
  await isStill();
  const tap = async (latitude, longitude) => {
    const box = await page.locator(".map canvas").boundingBox();
    const { x, y } = await page.evaluate((at) => document.querySelector(".map").fleetMap.map.project(at), [longitude, latitude]);
    await page.touchscreen.tap(box.x + x + 8, box.y + y - 8);
  };
  const lines = async () => (await page.getByLabel("Corners").inputValue()).trim().split("\n");
  // between the corners nothing is taken
  await tap(59.335, 18.06);
  await tap(59.335, 18.08);
  await eventually(async () => assert.deepEqual(await lines(), ["59.33, 18.05", "59.34, 18.05", "59.34, 18.07", "59.33, 18.07"]));
  await isStill();
  await tap(59.34, 18.07);
  await eventually(async () => assert.equal((await lines()).length, 3));
  await isStill();
  await tap(59.33, 18.05);
  assert.equal((await lines()).length, 3);
  // what followed at once is one step
  while ((await lines()).length < 5) await page.getByRole("button", { name: "Undo" }).tap();
  await save(page, "Tapped");
  assert.equal((await named(fleet, "Tapped")).shape.vertices.length, 5);
  assert.deepEqual(page.faults, []);
});

test("a fence's colour is told in words", async () => {
  const { fleet, page } = await fences("#/fences");
  await openHome(page);
  await page.getByText("No colour of its own").waitFor();
  for (const [color, name] of [["#0b6e4f", "Green"], ["#b3261e", "Red"], ["#1f5fd0", "Blue"], ["#808080", "Grey"], ["#ff00aa", "Pink"]]) {
    await page.getByLabel("Colour", { exact: true }).fill(color);
    await page.getByText(`${name}, ${color.toUpperCase()}`, { exact: true }).waitFor();
  }
  await save(page, "Home");
  assert.equal((await named(fleet, "Home")).color, "#FF00AA");
  await page.getByRole("button", { name: "Take it away" }).click();
  await page.getByText("No colour of its own").waitFor();
  await save(page, "Home");
  assert.equal((await named(fleet, "Home")).color ?? null, null);
});

test("without the mouse: a polygon is typed, and what crosses itself is refused at the shape in words", async () => {
  const { fleet, page } = await fences("#/fences/new", { person: "dispatcher" });
  await page.getByLabel("Name", { exact: true }).fill("Typed");
  await page.getByRole("button", { name: "Draw polygon" }).press("Enter");
  const corners = page.getByLabel("Corners");
  await corners.fill("59.33, 18.06\n59.34, 18.07\n59.34, 18.06\n59.33, 18.07");
  await page.getByRole("button", { name: "Save" }).press("Enter");
  await page.locator("fieldset .wrong").filter({ hasText: /cross/i }).first().waitFor();
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
  await dialog.getByRole("listitem").filter({ hasText: /Feature 2 \(Bowtie\).*cross/i }).waitFor();
  await dialog.getByLabel("Or paste it here").fill(JSON.stringify({ ...feature("", square(18)), properties: {} }));
  await dialog.getByRole("button", { name: "Import" }).click();
  await dialog.getByRole("listitem").filter({ hasText: /Feature 1.*name: is required/i }).waitFor();
  const alone = JSON.stringify({ type: "Polygon", coordinates: square(19) });
  await dialog.getByLabel("File").setInputFiles({ name: "Northern yard.json", mimeType: "application/json", buffer: Buffer.from(alone) });
  await dialog.getByRole("button", { name: "Import" }).click();
  await dialog.getByText("1 fence made.").waitFor();
  assert.equal((await named(fleet, "Northern yard")).shape.type, "polygon");
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
  // the focus is back where it was
  await ask.and(page.locator(":focus")).waitFor();
  await ask.click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("There is no fence yet").waitFor();
  assert.equal(await named(fleet, "Home"), undefined);
});

test("what one dispatcher edits another sees without a reload", async () => {
  const { fleet, page } = await fences();
  const other = await stage.page();
  await signIn(other, await fleet.person("dispatcher"));
  await visit(other, "#/fleet");
  await other.getByRole("link", { name: "Bus 7" }).waitFor();
  await fleet.vehicle("Bus 8");
  await other.getByRole("link", { name: "Bus 8" }).waitFor();
  await visit(other, "#/fences");
  await other.getByRole("link", { name: "Home" }).waitFor();
  await fleet.circle("Yard", CENTER, 300);
  for (const seen of [page, other]) await seen.getByRole("link", { name: "Yard" }).waitFor();
  const yard = await named(fleet, "Yard");
  await fleet.admin.put(`/v1/geofences/${yard.id}`, { name: "Court" });
  for (const seen of [page, other]) await seen.getByRole("link", { name: "Court" }).waitFor();
  await fleet.admin.delete(`/v1/geofences/${yard.id}`);
  for (const seen of [page, other]) await seen.getByRole("link", { name: "Court" }).waitFor({ state: "detached" });
});

test("a fence is drawn from where one is, and steps back and forth", async () => {
  const { fleet, bus, page, map } = await fences("#/live");
  const ago = (minutes, north) => ({ recordedAt: new Date(Date.now() - minutes * 60_000).toISOString(), latitude: CENTER.latitude + 0.05 + north, longitude: CENTER.longitude, speedKmh: 20 });
  await bus.report([ago(50, 0), ago(49, 0), ago(40, 0.02), ago(30, 0), ago(29, 0), ago(20, 0.02), ago(10, 0)]);
  await visit(page, `#/live/${bus.id}`);
  await page.getByRole("link", { name: "Fence here" }).click();
  await page.getByText("Drag the circle to move it").waitFor();
  await showsCircle(page, { type: "circle", center: { latitude: 59.38, longitude: 18.06 }, radiusMeters: 200 });
  await page.getByText("Area").waitFor();

  // numbers draw at once, both of them pasted into one
  await page.getByLabel("Centre latitude").evaluate((element) => {
    const data = new DataTransfer();
    data.setData("text", "59.4, 18.07");
    element.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
  });
  await showsCircle(page, { type: "circle", center: { latitude: 59.4, longitude: 18.07 }, radiusMeters: 200 });
  await page.waitForFunction(() => {
    const { map } = document.querySelector(".map").fleetMap;
    return map.getBounds().contains([18.07, 59.4]);
  });

  // what is undone is the drawing, whatever was written before
  await page.getByLabel("Name", { exact: true }).fill("Yard");
  await map.click(0.1, 0.1);
  await page.keyboard.press("Control+z");
  await showsCircle(page, { type: "circle", center: { latitude: 59.38, longitude: 18.06 }, radiusMeters: 200 });
  await page.keyboard.press("Control+Shift+z");
  await showsCircle(page, { type: "circle", center: { latitude: 59.4, longitude: 18.07 }, radiusMeters: 200 });
  await page.getByRole("button", { name: "Undo" }).click();
  assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "Yard");

  // leaving asks
  await page.getByRole("button", { name: /Manage/ }).click();
  await page.getByRole("link", { name: "Drivers" }).click();
  const asking = page.getByRole("dialog", { name: "Leave without saving?" });
  await asking.getByRole("button", { name: "Cancel" }).click();
  await save(page, "Yard");
  assert.equal((await named(fleet, "Yard")).shape.center.latitude, 59.38);
  await page.getByLabel("Description").fill("Half");
  await page.getByRole("button", { name: /Manage/ }).click();
  await page.getByRole("link", { name: "Drivers" }).click();
  await asking.getByRole("button", { name: "Leave" }).click();
  await page.getByRole("heading", { name: "Drivers" }).waitFor();
  assert.equal((await named(fleet, "Yard")).description ?? null, null);
  assert.deepEqual(page.faults, []);
});

test("corners that are being drawn are taken back one by one; a place on the map leads to a fence", async () => {
  const { page, map } = await fences("#/fences/new");
  await page.getByRole("button", { name: "Draw polygon" }).click();
  for (const [x, y] of [[0.2, 0.2], [0.8, 0.2], [0.5, 0.5]]) await map.click(x, y);
  await page.keyboard.press("Control+z");
  await map.click(0.8, 0.8);
  await map.click(0.2, 0.2);
  await eventually(async () => assert.equal((await page.getByLabel("Corners").inputValue()).trim().split("\n").length, 3));
  await page.getByRole("link", { name: "Live", exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Leave" }).click();
  await hasMap(page);
  const box = await page.locator(".map canvas").boundingBox();
  await page.mouse.click(box.x + box.width * 0.3, box.y + box.height * 0.3, { button: "right" });
  await page.getByRole("button", { name: /^Copy / }).waitFor();
  await page.getByRole("link", { name: "Fence here" }).click();
  await page.getByText("Drag the circle to move it").waitFor();
  assert.deepEqual(page.faults, []);
});

test("before it is saved a fence says what it would have recorded in the last week, beside where vehicles stopped", async () => {
  const fleet = await Fleet.make(stage.server);
  const bus = await fleet.vehicle("Bus 7");
  const began = Date.now() - 30 * 3_600_000;
  const fix = (minutes, latitude, speedKmh = 30) => ({ latitude, longitude: CENTER.longitude, speedKmh, recordedAt: new Date(began + minutes * 60_000).toISOString() });
  // in and out three times; then it stands for ten minutes elsewhere
  await bus.report(Array.from({ length: 6 }, (_, minute) => fix(minute, CENTER.latitude + (minute % 2 === 0 ? 0.01 : 0))));
  await bus.report([fix(6, 59.35), ...Array.from({ length: 10 }, (_, minute) => fix(7 + minute, 59.36, 0)), fix(18, 59.37), fix(19, 59.38)]);
  const page = await stage.page();
  await signIn(page, await fleet.person("dispatcher"));
  await visit(page, `#/fences/new?at=${CENTER.latitude},${CENTER.longitude}`);
  await hasMap(page);
  await page.getByText("In the last week it would have made 3 visits of 1 vehicle.").waitFor();
  await page.getByText("Rules", { exact: true }).click();
  await page.getByLabel("Entry counts after, seconds").fill("3600");
  await page.getByText("In the last week no vehicle would have visited it.").waitFor();
  await page.getByLabel("Entry counts after, seconds").fill("0");
  await page.getByLabel("Centre latitude").fill("59.36");
  await page.getByText("In the last week it would have made 1 visit of 1 vehicle.").waitFor();
  const stops = () => page.evaluate(() => document.querySelector(".map").fleetMap.map.querySourceFeatures("stops").length);
  await eventually(async () => assert.ok((await stops()) > 0, "where it stopped is on the map"));
  await page.getByLabel("Name", { exact: true }).fill("Yard");
  await save(page, "Yard");
  assert.equal(await page.getByText(/In the last week/).count(), 0, "what is saved tells itself");
  assert.deepEqual(page.faults, []);
});
