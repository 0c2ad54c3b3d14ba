// A phone (390 x 844) and a tablet (1024 x 768), touched: the map has at least half of the screen, what is touched is 44 pixels high,
// nothing is cut off at the side, and a day is replayed by touch alone.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Fleet, eventually, hasMap, isLive, isSettled, noonZone, picture, setUp, signIn, visit } from "./harness/index.mjs";

const CENTER = { latitude: 59.33, longitude: 18.06 };
const MINUTE_MS = 60_000;
const LEAST_TOUCH_PX = 44;
const SCREENS = [
  ["phone", { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true }],
  ["tablet", { viewport: { width: 1024, height: 768 }, hasTouch: true }],
];

const stage = setUp();

/** A bus with a day behind it, in and out of a fence, with fuel. */
async function fleetWithDay() {
  const fleet = await Fleet.make(stage.server);
  await fleet.set({ timezone: noonZone() });
  await fleet.circle("Depot", { latitude: CENTER.latitude + 0.02, longitude: CENTER.longitude }, 400);
  const bus = await fleet.vehicle("Bus 7", { fuel: { kind: "diesel", tankCapacityLiters: 300 } });
  const began = Date.now() - 90 * MINUTE_MS;
  const fixes = Array.from({ length: 80 }, (_, minute) => ({
    latitude: CENTER.latitude + minute * 0.0008, longitude: CENTER.longitude, speedKmh: minute % 20 < 4 ? 0 : 40,
    recordedAt: new Date(began + minute * MINUTE_MS).toISOString(), fuel: { percent: 80 - minute / 4 },
  }));
  await bus.report(fixes);
  return { fleet, bus };
}

/** The share of the screen that shows the map now. */
const mapShare = (page) => page.evaluate(() => {
  const { left, right, top, bottom } = document.querySelector(".map-panel").getBoundingClientRect();
  const [width, height] = [innerWidth, innerHeight];
  const shown = (Math.min(right, width) - Math.max(left, 0)) * (Math.min(bottom, height) - Math.max(top, 0));
  return shown / (width * height);
});

/** Buttons, links and fields of some parts that are smaller than a finger. */
const tooSmall = (page, within) => page.evaluate(([within, least]) => {
  const all = [...document.querySelectorAll(within)].flatMap((part) => [...part.querySelectorAll("button, a[href], select, input:not([type=checkbox])")]);
  const seen = all.filter((one) => one.checkVisibility() && !one.closest(".maplibregl-ctrl-attrib"));
  return seen.filter((one) => one.getBoundingClientRect().height < least - 0.5).map((one) => `${one.tagName} ${one.ariaLabel ?? one.textContent} ${one.getBoundingClientRect().height}`);
}, [within, LEAST_TOUCH_PX]);

/** What stands out at the side. */
const tooWide = (page) => page.evaluate(() => {
  if (document.documentElement.scrollWidth <= innerWidth && document.querySelector("main").scrollWidth <= innerWidth) return [];
  return [...document.querySelectorAll("main *")].filter((one) => one.getBoundingClientRect().right > innerWidth + 0.5).map(({ outerHTML }) => outerHTML.slice(0, 100));
});

for (const [name, screen] of SCREENS) {
  test(`live on a ${name}`, async () => {
    const { fleet, bus } = await fleetWithDay();
    const page = await stage.page(screen);
    await signIn(page, fleet);
    await hasMap(page);
    await isSettled(page);
    const share = await mapShare(page);
    await picture(page, `live-${name}`);
    assert.ok(share >= 0.5, `the map has ${share}`);
    assert.deepEqual(await tooSmall(page, ".top, .map-controls, .totals, .list-search, .virtual tbody"), []);
    assert.deepEqual(await tooWide(page), []);
    await page.getByRole("button", { name: /^All/ }).tap();
    await page.getByRole("link", { name: "Bus 7", exact: true }).first().tap();
    await page.waitForURL((url) => url.hash.startsWith(`#/live/${bus.id}`));
    await page.getByRole("heading", { name: "Bus 7" }).waitFor();
    await page.getByRole("link", { name: "Replay the day" }).tap();
    await page.locator("[data-replay=ready]").waitFor();
    assert.deepEqual(page.faults, []);
  });

  test(`a day is replayed on a ${name}, by touch alone`, async () => {
    const { fleet, bus } = await fleetWithDay();
    const page = await stage.page(screen);
    await signIn(page, fleet);
    await visit(page, `#/replay/${bus.id}`);
    await page.locator("[data-replay=ready]").waitFor();
    await hasMap(page);
    await isSettled(page);
    await isLive(page);
    const share = await mapShare(page);
    await picture(page, `replay-${name}`);
    assert.ok(share >= 0.5, `the map has ${share}`);
    assert.deepEqual(await tooSmall(page, ".replay-choice, .replay-controls"), []);
    assert.deepEqual(await tooWide(page), []);
    const time = page.getByLabel("Time of day");
    const began = Number(await time.inputValue());
    const inView = (locator) => locator.evaluate((one) => {
      const { top, bottom } = one.getBoundingClientRect();
      return top >= 0 && bottom <= innerHeight;
    });
    const play = page.getByRole("button", { name: "Play" });
    assert.ok(await inView(play) && await inView(time), "the clock is within reach without scrolling");
    await play.tap();
    await eventually(async () => assert.ok(Number(await time.inputValue()) > began));
    await page.getByRole("button", { name: "Pause" }).tap();
    const box = await time.boundingBox();
    await page.touchscreen.tap(box.x + box.width / 2, box.y + box.height / 2);
    await eventually(async () => assert.ok(Number(await time.inputValue()) > began + 20 * MINUTE_MS));
    const entered = page.getByRole("button", { name: /Entered Depot/ });
    await entered.scrollIntoViewIfNeeded();
    await entered.tap();
    assert.ok(await inView(play), "and stays there while one reads");
    await page.getByRole("img", { name: /Fuel/ }).or(page.locator(".chart")).first().scrollIntoViewIfNeeded();
    assert.deepEqual(page.faults, []);
  });
}

test("what is done with an alert and with a vehicle is as high as a finger on a phone", async () => {
  const fleet = await Fleet.make(stage.server);
  const depot = await fleet.circle("Depot", CENTER, 300);
  await fleet.admin.put(`/v1/geofences/${depot.id}`, { rules: { dwellAfterSeconds: 600 }, effectiveFrom: null });
  const bus = await fleet.vehicle("Bus 7");
  await bus.report([50, 45, 40, 35].map((minutes) => ({ ...CENTER, speedKmh: 0, recordedAt: new Date(Date.now() - minutes * MINUTE_MS).toISOString() })));
  const page = await stage.page(SCREENS.find(([name]) => name === "phone")[1]);
  await signIn(page, fleet);
  const attention = page.getByRole("region", { name: "Attention", exact: true });
  await attention.getByRole("button", { name: /^Seen/ }).waitFor();
  assert.deepEqual(await tooSmall(page, ".event-actions, .attention .panel-head"), []);
  assert.deepEqual(await tooWide(page), []);
  await attention.getByRole("button", { name: /^Seen/ }).tap();
  await attention.getByText(/seen by/).waitFor();
  await visit(page, `#/live/${bus.id}`);
  await page.getByRole("button", { name: "Assign driver" }).waitFor();
  assert.deepEqual(await tooSmall(page, ".vehicle-links, .vehicle-driving, .vehicle > .panel-head"), []);
  assert.deepEqual(await tooWide(page), []);
  assert.deepEqual(page.faults, []);
});

test("a phone's menu has what its head leaves out", async () => {
  const fleet = await Fleet.make(stage.server);
  const page = await stage.page(SCREENS.find(([name]) => name === "phone")[1]);
  await signIn(page, fleet);
  const head = page.getByRole("banner");
  assert.equal(await head.getByRole("button", { name: "Sign out" }).count(), 0);
  const menu = head.getByRole("button", { name: /^Manage/ });
  await page.route(({ pathname }) => pathname === "/v1/drivers", (route) => route.fulfill({
    status: 400, contentType: "application/problem+json", body: JSON.stringify({ status: 400, code: "malformedRequest", title: "It cannot be read" }),
  }));
  await menu.click();
  await head.getByRole("link", { name: "Drivers" }).click();
  await page.getByRole("button", { name: "Dismiss" }).waitFor();
  assert.deepEqual(await tooSmall(page, ".notice"), []);
  await page.getByRole("heading", { name: "Drivers" }).waitFor();
  assert.equal(await menu.getAttribute("aria-expanded"), "false");
  await menu.click();
  assert.equal(await menu.getAttribute("aria-expanded"), "true");
  assert.equal(await head.getByRole("link", { name: "Drivers" }).getAttribute("aria-current"), "page");
  await head.locator(".menu-own").getByLabel("Colours").selectOption("dark");
  await head.getByRole("link", { name: "You", exact: true }).click();
  await page.getByRole("form", { name: "You" }).waitFor();
  await head.getByRole("button", { name: "Manage" }).click();
  await head.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("E-mail").waitFor();
  assert.deepEqual(page.faults, []);
});
