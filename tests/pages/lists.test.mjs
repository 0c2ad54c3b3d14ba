// Lists of master data are read whole as they are opened, and never again: who saves one of them reads that one, and what somebody
// else changes comes with the feed.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Fleet, Wire, eventually, isLive, isSettled, setUp, signIn, visit } from "./harness/index.mjs";

const stage = setUp();
const DEPOT = { latitude: 59.3293, longitude: 18.0686 };

/** A page on a view of an organization; `asked` has what it reads below an address since then. */
async function opened(fleet, view, path, options) {
  const page = await stage.page(options);
  await signIn(page, fleet);
  await visit(page, view);
  const asked = [];
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (request.method() === "GET" && `${pathname}/`.startsWith(`${path}/`)) asked.push(pathname);
  });
  return { page, asked };
}

const press = (page, name) => page.getByRole("button", { name, exact: true }).click();
const row = (page, name) => page.getByRole("row", { name });

/** What was read since this was last asked. */
async function read(page, asked) {
  await isSettled(page);
  return asked.splice(0);
}

test("of vehicles: a large fleet is shown before all its names are here, and what is told meanwhile is newer than they are", async () => {
  const fleet = await Fleet.make(stage.server);
  const vehicles = await fleet.vehicles(201);
  const gateway = await fleet.gateway();
  const recordedAt = new Date().toISOString();
  await gateway.post("/v1/positions", { items: vehicles.map(({ tracker: { uniqueId } }) => ({ uniqueId, recordedAt, ...DEPOT })) });
  const last = vehicles.find(({ name }) => name === "Bus 99");
  const page = await stage.page();
  const asked = [];
  let read, release;
  const isRead = new Promise((resolve) => { read = resolve; });
  const isReleased = new Promise((resolve) => { release = resolve; });
  await page.route(({ pathname }) => pathname === "/v1/vehicles", async (route) => {
    const query = new URL(route.request().url()).searchParams;
    const limit = query.get("limit");
    asked.push(limit ? `${query.get("page")} of ${limit}` : query.get("vehicleId"));
    const response = await route.fetch();
    if (limit === "1000") {
      read();
      await isReleased;
    }
    await route.fulfill({ response });
  });
  await signIn(page, fleet);
  const list = page.getByRole("region", { name: "Vehicles", exact: true });
  await list.getByText("200 of 201 vehicles").waitFor();
  await isRead;
  await fleet.admin.put(`/v1/vehicles/${last.id}`, { name: "Tram 99" });
  await list.getByText("201 vehicles", { exact: true }).waitFor();
  release();
  await isSettled(page);
  await list.getByRole("searchbox").fill("99");
  await eventually(async () => assert.deepEqual(await list.locator("tbody th").allInnerTexts(), ["Bus 199", "Tram 99"]));
  assert.deepEqual(asked, ["1 of 200", "1 of 1000"]);

  // who saves one reads that one again
  await visit(page, `#/live/${last.id}`);
  await page.getByRole("button", { name: "Deactivate", exact: true }).click();
  await page.getByRole("button", { name: "Activate", exact: true }).waitFor();
  await isSettled(page);
  assert.deepEqual(asked.slice(2), [last.id]);
});

test("of trackers", async () => {
  const fleet = await Fleet.make(stage.server);
  const { tracker } = await fleet.vehicle("Bus 7");
  const { page, asked } = await opened(fleet, `#/trackers/${tracker.id}`, "/v1/trackers");
  const path = `/v1/trackers/${tracker.id}`;
  const isOfList = (pathname) => !pathname.endsWith("/reports");

  await page.getByLabel("Model").fill("FMB920");
  await press(page, "Save");
  await row(page, /FMB920/).waitFor();
  assert.deepEqual((await read(page, asked)).filter(isOfList), [path]);

  const other = await fleet.admin.post("/v1/trackers", { uniqueId: "a-2" });
  await fleet.admin.put(path, { model: "FMB130" });
  await row(page, /FMB130/).waitFor();
  assert.deepEqual(await page.locator("tbody th").allInnerTexts(), ["a-2", tracker.uniqueId]);
  await fleet.admin.delete(`/v1/trackers/${other.id}`);
  await row(page, "a-2").waitFor({ state: "detached" });
  assert.deepEqual((await read(page, asked)).filter(isOfList), []);

  await press(page, "Delete");
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("There is no tracker yet").waitFor();
  assert.deepEqual((await read(page, asked)).filter(isOfList), []);
  assert.deepEqual(page.faults, []);
});

test("of drivers", async () => {
  const fleet = await Fleet.make(stage.server);
  await fleet.vehicle("Bus 7");
  const driver = await fleet.admin.post("/v1/drivers", { firstName: "Astrid", lastName: "Lind" });
  const { page, asked } = await opened(fleet, `#/drivers/${driver.id}`, "/v1/drivers");
  const path = `/v1/drivers/${driver.id}`;
  const isOfList = (pathname) => !pathname.endsWith("/vehicles");

  await press(page, "Edit");
  await page.getByLabel("Last name").fill("Berg");
  await press(page, "Save");
  await row(page, /Astrid Berg/).waitFor();
  assert.deepEqual((await read(page, asked)).filter(isOfList), [path]);

  await press(page, "Assign vehicle");
  await page.getByRole("dialog").getByRole("button", { name: "Assign" }).click();
  await row(page, /Astrid Berg.*Bus 7/).waitFor();
  assert.deepEqual((await read(page, asked)).filter(isOfList), [path]);

  await fleet.admin.post("/v1/drivers", { firstName: "Bo", lastName: "Ahl" });
  await fleet.admin.put(path, { firstName: "Anna" });
  await row(page, /Anna Berg/).waitFor();
  assert.deepEqual(await page.locator("tbody th").allInnerTexts(), ["Bo Ahl", "Anna Berg"]);
  assert.deepEqual((await read(page, asked)).filter(isOfList), []);
  assert.deepEqual(page.faults, []);
});

test("of users", async () => {
  const fleet = await Fleet.make(stage.server);
  const { data: [self] } = await fleet.admin.get("/v1/users");
  const { page, asked } = await opened(fleet, "#/users/new", "/v1/users");

  await page.getByLabel("E-mail").fill(`nora.${fleet.organization.id}@example.org`);
  await page.getByLabel("First name").fill("Nora");
  await page.getByLabel("Last name").fill("Ny");
  await press(page, "Send invitation");
  await row(page, /Nora Ny.*Invited/).waitFor();
  await page.waitForFunction(() => /\/[0-9a-f-]{36}$/.test(location.hash));
  const path = `/v1/users/${new URL(page.url()).hash.split("/").at(-1)}`;
  assert.deepEqual(await read(page, asked), [path]);

  await page.getByLabel("Last name").fill("Nilsson");
  await press(page, "Save");
  await row(page, /Nora Nilsson/).waitFor();
  assert.deepEqual(await read(page, asked), [path]);

  await fleet.admin.put(`/v1/users/${self.id}`, { lastName: "Zorn" });
  await row(page, /Ada Zorn/).waitFor();
  assert.deepEqual(await page.locator("tbody th").allInnerTexts(), ["Nora Nilsson", "Ada Zorn (you)"]);
  assert.deepEqual(await read(page, asked), []);
  assert.deepEqual(page.faults, []);
});

test("after a gap in the feed they are read again", async (context) => {
  const fleet = await Fleet.make(stage.server);
  const { tracker } = await fleet.vehicle("Bus 7");
  const wire = await Wire.to(stage.server);
  context.after(() => wire.close());
  const { page, asked } = await opened(fleet, "#/trackers", "/v1/trackers", { server: wire });
  await isLive(page);
  await row(page, tracker.uniqueId).waitFor();
  await read(page, asked);
  wire.say({ type: "reset", id: "page", reason: "cursorExpired" });
  await eventually(() => assert.deepEqual(asked, ["/v1/trackers"]));
  assert.deepEqual(page.faults, []);
});
