// Finding one's way: Ctrl-K, a search that narrows the map too, a phone as a tracker.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Fleet, eventually, hasMap, setUp, signIn, visit } from "./harness/index.mjs";

const CENTER = { latitude: 59.33, longitude: 18.06 };

const stage = setUp();

/** A fleet of three buses, one of them moving. */
async function fleetOf() {
  const fleet = await Fleet.make(stage.server);
  const [seven, eight, nine] = [await fleet.vehicle("Bus 7", { plate: { number: "ABC 007" } }), await fleet.vehicle("Bus 8"), await fleet.vehicle("Tram 9")];
  await seven.at(CENTER.latitude, CENTER.longitude, { speedKmh: 36 });
  await eight.at(CENTER.latitude + 0.01, CENTER.longitude, { speedKmh: 0 });
  await nine.at(CENTER.latitude, CENTER.longitude + 0.01, { speedKmh: 0 });
  const page = await stage.page();
  await signIn(page, fleet);
  return { fleet, page, seven, eight, nine };
}

const drawnOn = (page) => page.evaluate(() => document.querySelector(".map").fleetMap.drawn().sort());

test("Ctrl-K finds vehicles, plates, drivers, fences and commands, and goes there by the keyboard", async () => {
  const { fleet, page, seven } = await fleetOf();
  await fleet.circle("Home", CENTER, 300);
  const driver = await fleet.admin.post("/v1/drivers", { firstName: "Astrid", lastName: "Lind", lock: false });
  const find = async (text, option) => {
    await page.keyboard.press("Control+k");
    const box = page.getByRole("combobox", { name: "Go to" });
    await box.fill(text);
    await page.getByRole("option", { name: option }).first().waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  };
  await find("abc 007", "Bus 7");
  await page.waitForURL((url) => url.hash.startsWith(`#/live/${seven.id}`));
  await find("lind", "Astrid Lind");
  await page.waitForURL((url) => url.hash === `#/drivers/${driver.id}`);
  await find("home", "Home");
  await page.getByRole("heading", { name: "Home", exact: true }).waitFor();
  await find("new veh", "New vehicle");
  await page.waitForURL((url) => url.hash === "#/fleet/new");
  await find("59.33, 18.06", "Fence here");
  await eventually(async () => assert.equal(await page.getByLabel("Centre latitude").inputValue(), "59.33"));
  await find("48.2, 16.37", "Fence here");
  await eventually(async () => assert.equal(await page.getByLabel("Centre latitude").inputValue(), "48.2"));
  // the other key, but not where one writes
  await page.getByLabel("Name", { exact: true }).fill("a/b");
  assert.equal(await page.getByRole("combobox", { name: "Go to" }).count(), 0);
  assert.deepEqual(page.faults, []);
});

test("a town is found by its name, accents aside, and a vehicle says which one it is near", async () => {
  const { page, seven } = await fleetOf();
  await hasMap(page);
  await page.keyboard.press("Control+k");
  await page.getByRole("combobox", { name: "Go to" }).fill("malmo");
  await page.getByRole("option", { name: "Malmö Town in Sweden" }).waitFor();
  await page.getByRole("option", { name: "Malmö Town in Sweden" }).click();
  await page.waitForFunction(() => {
    const { lng, lat } = document.querySelector(".map").fleetMap.map.getCenter();
    return Math.abs(lng - 13) < 0.1 && Math.abs(lat - 55.6) < 0.1;
  });
  await visit(page, `#/live/${seven.id}`);
  const panel = page.getByRole("region", { name: "Bus 7", exact: true });
  await panel.getByText("near Stockholm").waitFor();
  // far out, it says how far and in which direction; at sea, nothing
  await seven.at(58.9, 20.5, { speedKmh: 36 });
  await panel.getByText(/^\d+ km (E|SE) of \S+/).waitFor();
  await seven.at(10, -30, { speedKmh: 36 });
  await panel.getByText("10.00000, -30.00000").waitFor();
  assert.equal(await panel.getByText(/(km|mi) [NESW]+ of |near /).count(), 0);
  assert.deepEqual(page.faults, []);
});

test("search narrows list and map", async () => {
  const { page, nine } = await fleetOf();
  await hasMap(page);
  await eventually(async () => assert.equal((await drawnOn(page)).length, 3));
  await page.getByLabel("Search vehicles").fill("tram");
  await eventually(async () => assert.deepEqual(await drawnOn(page), [nine.id]));
  assert.deepEqual(page.faults, []);
});

test("a phone is set up by a code, and its first position is told", async () => {
  const { fleet, page } = await fleetOf();
  await visit(page, "#/fleet/new");
  await page.getByLabel("Name", { exact: true }).fill("My phone");
  await page.getByLabel("Tracker's own id").fill("phone-1");
  await page.getByRole("button", { name: "Save" }).click();
  const dialog = page.getByRole("dialog", { name: "Token of phone-1" });
  await dialog.getByText("Use a phone").click();
  await dialog.getByText("A phone does not reach").waitFor();
  await dialog.getByRole("img", { name: "QR code that sets up Traccar Client" }).waitFor();
  await dialog.getByText("Waiting for the first position").waitFor();
  for (const [name, scheme] of [["Traccar Client", "org.traccar.client:"], ["OwnTracks", "owntracks:"], ["Overland", "overland:"]]) {
    await dialog.getByRole("button", { name, exact: true }).click();
    await dialog.getByRole("img", { name: `QR code that sets up ${name}` }).waitFor();
    assert.ok((await dialog.getByRole("link", { name: `Open in ${name}` }).getAttribute("href")).startsWith(scheme));
  }
  await dialog.getByRole("button", { name: "GPSLogger", exact: true }).click();
  const url = await dialog.getByRole("group", { name: "Address", exact: true }).textContent();
  // a heartbeat is no position
  assert.equal((await fetch(`${url}?batt=80`, { method: "POST" })).status, 200);
  await eventually(async () => {
    const { data } = await fleet.admin.get("/v1/trackers");
    const { id } = data.find(({ uniqueId }) => uniqueId === "phone-1");
    assert.ok((await fleet.admin.get(`/v1/trackers/${id}/reports`)).lastContactAt);
  });
  await page.waitForResponse(async (answer) => answer.url().includes("/reports") && Boolean((await answer.json()).lastContactAt));
  await dialog.getByText("Waiting for the first position").waitFor();
  // what the phone then does
  const said = await fetch(`${url}?lat=59.33&lon=18.06&timestamp=${Math.round(Date.now() / 1000)}`, { method: "POST" });
  assert.equal(said.status, 200);
  await dialog.getByText("First position received").waitFor();
  assert.deepEqual(page.faults, []);
});

test("Escape in the search of vehicles leaves the vehicle open, and a key of an input method goes nowhere", async () => {
  const { page, seven } = await fleetOf();
  await page.goto(`/#/live/${seven.id}`);
  const panel = page.getByRole("region", { name: "Bus 7", exact: true });
  await panel.waitFor();
  const search = page.getByRole("searchbox", { name: "Search vehicles" });
  await search.fill("tram");
  await search.press("Escape");
  assert.ok(page.url().endsWith(seven.id));
  await page.keyboard.press("Control+k");
  const box = page.getByRole("combobox", { name: "Go to" });
  await box.fill("drivers");
  await page.getByRole("option", { name: "Drivers" }).waitFor();
  await box.dispatchEvent("keydown", { key: "Enter", isComposing: true, bubbles: true });
  assert.ok(await page.getByRole("dialog").isVisible());
  assert.ok(page.url().endsWith(seven.id));
  await box.press("Enter");
  await page.waitForURL((url) => url.hash === "#/drivers");
  assert.deepEqual(page.faults, []);
});
