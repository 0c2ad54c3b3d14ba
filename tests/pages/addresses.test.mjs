// What somebody looks at is in the address: a colleague who opens the link sees the same.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Fleet, eventually, hasMap, isLive, setUp, signIn, visit } from "./harness/index.mjs";

const CENTER = { latitude: 59.33, longitude: 18.06 };
const MINUTE_MS = 60_000;

const stage = setUp();

/** Two dispatchers of one fleet, and a link from one to the other. */
async function two(fleet) {
  const [one, other] = [await stage.page(), await stage.page()];
  await signIn(one, fleet);
  await signIn(other, fleet);
  const open = async () => {
    await other.goto(`/${new URL(one.url()).hash}`);
    await other.reload();
    await isLive(other);
  };
  return { one, other, open };
}

const hash = (page) => new URL(page.url()).hash;
const view = (page) => page.evaluate(() => {
  const { map } = document.querySelector(".map").fleetMap;
  const { lat, lng } = map.getCenter();
  return [lat, lng, map.getZoom()];
});

test("search, filter and the map's place are in the link, also while a vehicle is open", async () => {
  const fleet = await Fleet.make(stage.server);
  const [bus, tram] = [await fleet.vehicle("Bus 7"), await fleet.vehicle("Tram 9")];
  await bus.at(CENTER.latitude, CENTER.longitude, { speedKmh: 36 });
  await tram.at(CENTER.latitude, CENTER.longitude + 0.01, { speedKmh: 0 });
  const { one, other, open } = await two(fleet);
  await hasMap(one);
  await one.getByLabel("Search vehicles").fill("bus");
  await one.getByRole("button", { name: /moving$/ }).click();
  await one.getByRole("link", { name: "Bus 7", exact: true }).first().click();
  const map = await one.locator(".map canvas").boundingBox();
  await one.mouse.move(map.x + map.width / 2, map.y + map.height / 2);
  await one.mouse.down();
  await one.mouse.move(map.x + map.width / 2 - 120, map.y + map.height / 2 - 60, { steps: 8 });
  await one.mouse.up();
  await eventually(() => assert.match(hash(one), new RegExp(`^#/live/${bus.id}\\?q=bus&show=moving&map=59\\.\\d+,18\\.\\d+,\\d`)));

  await open();
  await hasMap(other);
  assert.equal(await other.getByLabel("Search vehicles").inputValue(), "bus");
  assert.equal(await other.getByRole("button", { name: /moving$/ }).getAttribute("aria-pressed"), "true");
  const seen = await view(one);
  await eventually(async () => {
    for (const [place, number] of (await view(other)).entries()) assert.ok(Math.abs(number - seen[place]) < 0.01, `${await view(other)} and ${seen}`);
  });
  await other.getByLabel("Search vehicles").fill("");
  await other.getByRole("button", { name: /^All/ }).click();
  await eventually(() => assert.doesNotMatch(hash(other), /q=|show=/));
  assert.deepEqual(one.faults, []);
  assert.deepEqual(other.faults, []);
});

test("the search of a list is in the link", async () => {
  const fleet = await Fleet.make(stage.server);
  await fleet.admin.post("/v1/drivers", { firstName: "Astrid", lastName: "Lind" });
  await fleet.admin.post("/v1/drivers", { firstName: "Vera", lastName: "Ek" });
  const { one, other, open } = await two(fleet);
  await visit(one, "#/drivers");
  await one.getByLabel("Search: Drivers").fill("vera");
  await eventually(() => assert.equal(hash(one), "#/drivers?q=vera"));
  await one.getByRole("link", { name: "Vera Ek" }).click();
  await eventually(() => assert.match(hash(one), /^#\/drivers\/[-0-9a-f]+\?q=vera$/));
  await open();
  assert.equal(await other.getByLabel("Search: Drivers").inputValue(), "vera");
  await other.getByRole("heading", { name: "Vera Ek" }).waitFor();
  assert.equal(await other.getByRole("link", { name: "Astrid Lind" }).count(), 0);
});

test("the moment of a replay is in the link", async () => {
  const fleet = await Fleet.make(stage.server);
  const bus = await fleet.vehicle("Bus 7");
  const day = new Date(Date.now() - 26 * 3_600_000).toISOString().slice(0, 10);
  const noon = Date.parse(`${day}T12:00:00Z`);
  const fixes = Array.from({ length: 60 }, (_, minute) => ({
    latitude: CENTER.latitude + minute * 0.001, longitude: CENTER.longitude, speedKmh: 40, recordedAt: new Date(noon + minute * MINUTE_MS).toISOString(),
  }));
  await bus.report(fixes);
  const { one, other, open } = await two(fleet);
  await visit(one, `#/replay/${bus.id}?at=${new Date(noon + MINUTE_MS).toISOString()}`);
  await one.locator("[data-replay=ready]").waitFor();
  const time = one.getByLabel("Time of day");
  await time.focus();
  for (let step = 0; step < 5; step += 1) await one.keyboard.press("ArrowRight");
  const moment = await time.inputValue();
  await eventually(() => assert.match(decodeURIComponent(hash(one)), /at=\d{4}-\d\d-\d\dT/));
  await eventually(() => assert.ok(Math.abs(Date.parse(new URLSearchParams(hash(one).split("?")[1]).get("at")) - Number(moment)) < 1000, `${hash(one)} ${moment}`));
  await open();
  await other.locator("[data-replay=ready]").waitFor();
  await eventually(async () => assert.ok(Math.abs(Number(await other.getByLabel("Time of day").inputValue()) - Number(moment)) < 1000));
  assert.deepEqual(one.faults, []);
});

test("the place of the fences' map is in the link, and counts before the fence that it opens", async () => {
  const fleet = await Fleet.make(stage.server);
  const { id } = await fleet.circle("Home", CENTER, 300);
  const { one, other } = await two(fleet);
  await visit(one, `#/fences/${id}`);
  await hasMap(one);
  await eventually(async () => assert.ok(Math.abs((await view(one))[0] - CENTER.latitude) < 0.001));
  assert.equal(hash(one), `#/fences/${id}`);
  const map = await one.locator(".map canvas").boundingBox();
  await one.mouse.move(map.x + 40, map.y + 40);
  await one.mouse.down();
  await one.mouse.move(map.x + 240, map.y + 140, { steps: 8 });
  await one.mouse.up();
  await eventually(() => assert.match(hash(one), /\?map=59\.\d+,18\.\d+,\d/));
  const seen = await view(one);
  assert.ok(Math.abs(seen[0] - CENTER.latitude) > 0.0005);
  await other.goto(`/${hash(one)}`);
  await other.reload();
  await hasMap(other);
  await other.getByRole("heading", { name: "Home", exact: true }).waitFor();
  await eventually(async () => {
    for (const [place, number] of (await view(other)).entries()) assert.ok(Math.abs(number - seen[place]) < 0.01, `${await view(other)} and ${seen}`);
  });
  assert.deepEqual(other.faults, []);
});

test("who signs in after somebody else in the same tab does not find what they searched for", async () => {
  const fleet = await Fleet.make(stage.server);
  const bus = await fleet.vehicle("Bus 7");
  await bus.at(CENTER.latitude, CENTER.longitude, { speedKmh: 0 });
  await fleet.admin.post("/v1/drivers", { firstName: "Astrid", lastName: "Lind" });
  const colleague = await fleet.person("viewer");
  const page = await stage.page();
  await signIn(page, fleet);
  const search = page.getByLabel("Search vehicles");
  await search.fill("secret");
  await eventually(() => assert.match(hash(page), /q=secret/));
  await page.getByRole("banner").getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("E-mail").waitFor();
  assert.equal(hash(page), "#/");
  const enter = async ({ email, password }) => {
    await page.getByLabel("E-mail").fill(email);
    await page.getByLabel("Password", { exact: true }).fill(password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await isLive(page);
  };
  await enter(colleague);
  assert.equal(await search.inputValue(), "");
  assert.doesNotMatch(hash(page), /q=/);

  await search.fill("tram");
  await eventually(() => assert.match(hash(page), /q=tram/));
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog").getByRole("combobox").fill("sign out");
  await page.keyboard.press("Enter");
  await page.getByLabel("E-mail").waitFor();
  assert.equal(hash(page), "#/", "nor by the way of a command");
  await enter(colleague);

  // the session ends by itself: its owner goes on where they were, anybody else begins anew
  const expire = async () => {
    await page.evaluate(() => {
      const session = JSON.parse(localStorage.getItem("waypost.session"));
      localStorage.setItem("waypost.session", JSON.stringify({ ...session, accessToken: "spent", refreshToken: "gone" }));
      dispatchEvent(new StorageEvent("storage", { key: "waypost.session" }));
    });
    await page.evaluate(() => { location.hash = "#/drivers?q=lind"; });
    await page.getByText("The session has ended.").waitFor();
  };
  await expire();
  await enter(colleague);
  await page.getByRole("heading", { name: "Drivers" }).waitFor();
  assert.match(hash(page), /q=lind/);
  await page.evaluate(() => { location.hash = "#/live"; });
  await search.waitFor();
  await expire();
  await enter(fleet);
  await search.waitFor();
  assert.doesNotMatch(hash(page), /q=/);

  // a link that is opened after the end is of whoever signs in, and says nothing of who was there before
  await search.fill("secret");
  await eventually(() => assert.match(hash(page), /q=secret/));
  await expire();
  await page.evaluate(() => { location.hash = "#/live?show=stopped"; });
  await enter(colleague);
  await search.waitFor();
  assert.match(hash(page), /show=stopped/);
  assert.doesNotMatch(hash(page), /q=/);
  assert.equal(await search.inputValue(), "");
  assert.deepEqual(page.faults, []);
});

test("an address that was cut off in the midst of a letter says what it does not find, and is no blank page", async () => {
  const fleet = await Fleet.make(stage.server);
  const page = await stage.page();
  await signIn(page, fleet);
  await page.goto("/#/live/%E0%A4%A");
  await page.locator('main[data-view="live/%E0%A4%A"]').waitFor();
  await page.getByRole("region", { name: "Vehicles", exact: true }).waitFor();
  assert.deepEqual(page.faults, []);
});
