// One of very many: found by a part of its name at the server, by hand and by keyboard, wherever one is chosen.

import assert from "node:assert/strict";
import { test } from "node:test";

import { eventually, Fleet, isSettled, setUp, signIn, visit } from "./harness/index.mjs";

const stage = setUp();

test("a vehicle is found at the server, never in a list of all, by keyboard too", async () => {
  const fleet = await Fleet.make(stage.server);
  await fleet.vehicles(30);
  const tram = await fleet.vehicle("Tram 7", { plate: { number: "ABC 007" } });
  await tram.at(59.33, 18.06);
  const driver = await fleet.admin.post("/v1/drivers", { firstName: "Astrid", lastName: "Lind" });
  const page = await stage.page();
  const asked = [];
  page.on("request", (request) => {
    const { pathname, searchParams } = new URL(request.url());
    if (pathname === "/v1/vehicles" && searchParams.has("q")) asked.push(searchParams.get("q"));
  });
  await signIn(page, fleet);
  await visit(page, "#/replay");
  const box = page.getByRole("combobox", { name: "Vehicle" });
  await box.click();
  await page.getByRole("option", { name: "Bus 1", exact: true }).waitFor();
  assert.equal(await page.getByRole("listbox").getByRole("option").count(), 8, "a few of them");
  await box.pressSequentially("007");
  await page.getByRole("option", { name: "Tram 7 ABC 007" }).waitFor();
  await box.press("Enter");
  await page.waitForURL((url) => url.hash.startsWith(`#/replay/${tram.id}`));
  assert.ok(asked.includes("007"), `${asked}`);
  // Its name is asked of the server once the address has it.
  await eventually(async () => assert.equal(await box.inputValue(), "Tram 7"));
  await box.fill("nothing like it");
  await page.getByText("Nothing matches the search").waitFor();
  await box.press("Escape");
  assert.equal(await box.inputValue(), "Tram 7", "and what was chosen stays");

  await visit(page, `#/drivers/${driver.id}`);
  await page.getByRole("button", { name: "Assign vehicle" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("combobox", { name: "Vehicle" }).fill("bus 3");
  await dialog.getByRole("option", { name: "Bus 30" }).waitFor();
  await dialog.getByRole("combobox", { name: "Vehicle" }).press("ArrowDown");
  await dialog.getByRole("combobox", { name: "Vehicle" }).press("Enter");
  assert.equal(await dialog.getByRole("combobox", { name: "Vehicle" }).inputValue(), "Bus 30");
  await dialog.getByRole("button", { name: "Assign" }).click();
  await page.getByRole("button", { name: "Unassign Bus 30" }).waitFor();
  assert.equal(await page.locator("select option").count() < 20, true, "no list of all");
  await isSettled(page);
  assert.deepEqual(page.faults, []);
});

test("who types and goes on at once gets what was typed, not what was found by fewer letters", async () => {
  const fleet = await Fleet.make(stage.server);
  await fleet.vehicle("Bus 1");
  const tram = await fleet.vehicle("Tram 7");
  const page = await stage.page();
  await signIn(page, fleet);
  await visit(page, "#/replay");
  const box = page.getByRole("combobox", { name: "Vehicle" });
  await box.click();
  await page.getByRole("option", { name: "Bus 1" }).waitFor();
  let release;
  const isReleased = new Promise((resolve) => { release = resolve; });
  await page.route(({ pathname, searchParams }) => pathname === "/v1/vehicles" && searchParams.get("q") === "tram", async (route) => {
    await isReleased;
    await route.continue();
  });
  await box.fill("tram");
  await box.press("Enter");
  assert.equal(new URL(page.url()).hash, "#/replay", "the first of those before is not meant");
  release();
  await page.waitForURL((url) => url.hash.startsWith(`#/replay/${tram.id}`));
  assert.deepEqual(page.faults, []);
});

/** Somebody on a driver who assigns a vehicle; what is asked for by "tram" waits until `release`. */
async function assigning() {
  const fleet = await Fleet.make(stage.server);
  for (const name of ["Bus 1", "Tram 7", "Van 9"]) await fleet.vehicle(name);
  const driver = await fleet.admin.post("/v1/drivers", { firstName: "Astrid", lastName: "Lind" });
  const page = await stage.page();
  await signIn(page, fleet);
  await visit(page, `#/drivers/${driver.id}`);
  let release;
  const answer = new Promise((resolve) => { release = resolve; });
  await page.route(({ pathname, searchParams }) => pathname === "/v1/vehicles" && searchParams.get("q") === "tram", async (route) => {
    const isFailing = await answer;
    await (isFailing ? route.fulfill({ status: 500, body: "" }) : route.continue());
  });
  await page.getByRole("button", { name: "Assign vehicle" }).click();
  const dialog = page.getByRole("dialog");
  return { page, dialog, box: dialog.getByRole("combobox", { name: "Vehicle" }), release };
}

test("what is typed and entered is chosen once it is found, though nothing was offered yet and somebody has gone on", async () => {
  const { page, dialog, box, release } = await assigning();
  await box.fill("tram");
  await box.press("Enter");
  await box.press("Tab");
  assert.equal(await box.inputValue(), "tram", "it is looked for");
  assert.equal(await dialog.getByText("Not saved").count(), 0);
  release(false);
  await eventually(async () => assert.equal(await box.inputValue(), "Tram 7"));
  await dialog.getByRole("button", { name: "Assign" }).click();
  await page.getByRole("button", { name: "Unassign Tram 7" }).waitFor();
  assert.deepEqual(page.faults, []);
});

test("what is typed and entered and cannot be looked for is not left in a field that somebody has left", async () => {
  const { page, box, release } = await assigning();
  await box.fill("tram");
  await box.press("Enter");
  await box.press("Tab");
  release(true);
  await eventually(async () => assert.equal(await box.inputValue(), "Bus 1", "what was chosen stays"));
  assert.equal(await page.locator(".notice").count(), 1, "and said");
  assert.deepEqual(page.faults, []);
});

test("who goes to one of those that are offered gets that one, whatever is looked for still", async () => {
  const { page, box, release } = await assigning();
  await box.click();
  await page.getByRole("option", { name: "Van 9" }).waitFor();
  await box.fill("tram");
  await box.press("ArrowDown");
  await box.press("ArrowDown");
  await box.press("Enter");
  assert.equal(await box.inputValue(), "Van 9");
  release(false);
  await isSettled(page);
  assert.equal(await box.inputValue(), "Van 9");
  assert.deepEqual(page.faults, []);
});
