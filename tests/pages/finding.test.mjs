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
