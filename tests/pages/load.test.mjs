// What the page costs: the bytes of a first load, and the main thread under a fleet that reports once a second.
//
//   cargo build --release && WAYPOST_TEST_BINARY=target/release/waypost WAYPOST_TEST_VEHICLES=10000 WAYPOST_TEST_STRICT=1 \
//     tests/pages/run load.test.mjs
//
// Without WAYPOST_TEST_VEHICLES a fleet of 300 shows that the measuring works; the figure that counts is of 10,000.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";

import { Fleet, Server, launch, open, picture, signIn } from "./harness/index.mjs";

const VEHICLES = Number(process.env.WAYPOST_TEST_VEHICLES ?? 300);
const SECONDS = Number(process.env.WAYPOST_TEST_SECONDS ?? 15);
const IS_STRICT = process.env.WAYPOST_TEST_STRICT === "1";
const MOST_BUSY_PERCENT = 10;
const MOST_AT_FIRST_BYTES = 500_000;
const LONG_TASK_MS = 50;

let server, browser;

before(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
});
after(async () => {
  await browser?.close();
  await server?.remove();
});

test("a first load is small, and asks nothing of another host", async () => {
  const fleet = await Fleet.make(server);
  const page = await open(browser, server);
  const loaded = new Set();
  page.context().on("request", (request) => loaded.add(new URL(request.url()).pathname));
  await signIn(page, fleet);
  await page.locator("[data-map=ready]").waitFor();
  await page.waitForLoadState("networkidle");
  const assets = [...loaded].filter((path) => path.startsWith("/assets/"));
  assert.ok(assets.length >= 4, `${assets}`);
  const bytes = assets.reduce((sum, path) => sum + readFileSync(new URL(`../../web/dist${path}.br`, import.meta.url)).length, 0);
  console.log(`first load, compressed: ${(bytes / 1000).toFixed(0)} kB in ${assets.length} files`);
  assert.ok(bytes <= MOST_AT_FIRST_BYTES, `${bytes} bytes`);
  assert.deepEqual(page.foreign, []);
});

/** Where a vehicle is in a second: on its own circle. */
function placeOf(number, second) {
  const [row, column] = [Math.floor(number / 100), number % 100];
  const angle = second / 20 + number;
  return {
    latitude: 52 + row * 0.01 + 0.003 * Math.sin(angle), longitude: 13 + column * 0.015 + 0.005 * Math.cos(angle),
    speedKmh: 30 + (number % 40), headingDegrees: ((number * 7 + second * 3) % 360),
  };
}

/** Reports every vehicle once a second until it is stopped; tells how many reports were stored. */
function sender(gateway, vehicles) {
  let stored = 0;
  let isOn = true;
  const began = Date.now();
  const done = (async () => {
    for (let second = 0; isOn; second += 1) {
      const recordedAt = new Date().toISOString();
      const items = vehicles.map(({ tracker }, number) => ({ ...placeOf(number, second), recordedAt, uniqueId: tracker.uniqueId }));
      const parts = Array.from({ length: Math.ceil(items.length / 500) }, (_, part) => items.slice(part * 500, (part + 1) * 500));
      await Promise.all(parts.map(async (part) => {
        await gateway.post("/v1/positions", { items: part });
        stored += part.length;
      }));
      const ahead = began + (second + 1) * 1000 - Date.now();
      if (ahead > 0) await new Promise((next) => setTimeout(next, ahead));
    }
  })();
  return { stored: () => stored, stop: () => { isOn = false; return done; } };
}

/** Seconds of the processor that the page's main thread has used: waiting for a machine that is busy elsewhere is no work. */
async function worked(session) {
  const { metrics } = await session.send("Performance.getMetrics");
  return metrics.find(({ name }) => name === "TaskDuration").value;
}

test(`${VEHICLES} vehicles at 1 Hz leave the main thread alone, and their list scrolls`, async () => {
  const fleet = await Fleet.make(server);
  const vehicles = await fleet.vehicles(VEHICLES);
  const gateway = await fleet.gateway();
  const page = await open(browser, server);
  page.context().setDefaultTimeout(90_000);
  const sending = sender(gateway, vehicles);
  try {
    await signIn(page, fleet);
    await page.locator("[data-map=ready]").waitFor();
    await page.waitForFunction((count) => document.querySelector("table")?.ariaRowCount === String(count + 1), VEHICLES);
    await page.waitForTimeout(3000);
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    await page.evaluate(() => {
      globalThis.longTasks = [];
      new PerformanceObserver((list) => globalThis.longTasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: "longtask" });
    });
    const [before, storedBefore, clock] = [await worked(session), sending.stored(), performance.now()];
    await page.waitForTimeout(SECONDS * 1000);
    const [now, storedNow] = [await worked(session), sending.stored()];
    const seconds = (performance.now() - clock) / 1000;
    const percent = ((now - before) / seconds) * 100;
    console.log(`${VEHICLES} vehicles, ${((storedNow - storedBefore) / seconds).toFixed(0)} fixes stored a second: main thread busy ${percent.toFixed(1)} %`);
    if (IS_STRICT) assert.ok(percent <= MOST_BUSY_PERCENT, `${percent} %`);

    await page.evaluate(() => { globalThis.longTasks.length = 0; });
    const list = page.locator(".virtual");
    for (let step = 1; step <= 20; step += 1) {
      await list.evaluate((element, share) => { element.scrollTop = element.scrollHeight * share; }, step / 20);
      await page.waitForTimeout(50);
    }
    const longest = await page.evaluate(() => Math.max(0, ...globalThis.longTasks));
    console.log(`longest task while scrolling through ${VEHICLES} rows: ${longest.toFixed(0)} ms (0: none above ${LONG_TASK_MS} ms)`);
    if (IS_STRICT) assert.ok(longest <= LONG_TASK_MS, `${longest} ms`);
    assert.ok(await list.locator("tbody tr").count() < 120, "only rows in view are drawn");
    await picture(page, "many");
  } finally {
    await sending.stop();
  }
  assert.deepEqual(page.faults, []);
});
