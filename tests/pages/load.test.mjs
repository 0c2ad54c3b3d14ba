// What the page costs: the bytes of a first load, and the main thread under a fleet that reports once a second.
//
//   cargo build --release && WAYPOST_TEST_BINARY=target/release/waypost WAYPOST_TEST_VEHICLES=10000 WAYPOST_TEST_STRICT=1 \
//     tests/pages/run load.test.mjs
//
// Without WAYPOST_TEST_VEHICLES a fleet of 300 shows that the measuring works; the figure that counts is of 10,000. Both are what
// the main thread works: what else the machine does, and waiting for a renderer without a graphics processor, is not in them.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Fleet, hasMap, picture, setUp, signIn } from "./harness/index.mjs";

const VEHICLES = Number(process.env.WAYPOST_TEST_VEHICLES ?? 300);
const SECONDS = Number(process.env.WAYPOST_TEST_SECONDS ?? 15);
const IS_STRICT = process.env.WAYPOST_TEST_STRICT === "1";
const MOST_BUSY_PERCENT = 10;
const MOST_AT_FIRST_BYTES = 500_000;
const LONG_TASK_MS = 50;
const SCROLLS = 20;

const stage = setUp();

test("a first load is small, and asks nothing of another host", async () => {
  const fleet = await Fleet.make(stage.server);
  const page = await stage.page();
  const loaded = new Set();
  page.context().on("request", (request) => loaded.add(new URL(request.url()).pathname));
  await signIn(page, fleet);
  await hasMap(page);
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

/**
 * The longest tasks of the main thread while something is done: what it worked in one, and what one took by the clock. Without a
 * graphics processor a task waits for the thread that draws; that a page of less work waits as long shows in the difference.
 */
async function longestTask(session, work) {
  const events = [];
  const collect = ({ value }) => events.push(...value);
  session.on("Tracing.dataCollected", collect);
  await session.send("Tracing.start", { transferMode: "ReportEvents", traceConfig: { includedCategories: ["toplevel"] } });
  await work();
  const isComplete = new Promise((resolve) => { session.once("Tracing.tracingComplete", resolve); });
  await session.send("Tracing.end");
  await isComplete;
  const thread = ({ pid, tid }) => `${pid} ${tid}`;
  const mains = new Set(events.filter(({ name, args }) => name === "thread_name" && args.name === "CrRendererMain").map(thread));
  const tasks = events.filter((event) => event.name === "ThreadControllerImpl::RunTask" && mains.has(thread(event)));
  assert.ok(tasks.length >= SCROLLS, `${tasks.length} tasks`);
  const longest = (measure) => Math.max(...tasks.map((task) => task[measure] ?? 0)) / 1000;
  return { workedMs: longest("tdur"), tookMs: longest("dur") };
}

test(`${VEHICLES} vehicles at 1 Hz leave the main thread alone, and their list scrolls`, async () => {
  const fleet = await Fleet.make(stage.server);
  const vehicles = await fleet.vehicles(VEHICLES);
  const gateway = await fleet.gateway();
  const page = await stage.page();
  const sending = sender(gateway, vehicles);
  try {
    await signIn(page, fleet);
    await hasMap(page);
    await page.waitForFunction((count) => document.querySelector("table")?.ariaRowCount === String(count + 1), VEHICLES);
    await page.waitForTimeout(3000);
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    const [before, storedBefore, clock] = [await worked(session), sending.stored(), performance.now()];
    await page.waitForTimeout(SECONDS * 1000);
    const [now, storedNow] = [await worked(session), sending.stored()];
    const seconds = (performance.now() - clock) / 1000;
    const percent = ((now - before) / seconds) * 100;
    console.log(`${VEHICLES} vehicles, ${((storedNow - storedBefore) / seconds).toFixed(0)} fixes stored a second: main thread busy ${percent.toFixed(1)} %`);
    if (IS_STRICT) assert.ok(percent <= MOST_BUSY_PERCENT, `${percent} %`);

    const list = page.locator(".virtual");
    const { workedMs, tookMs } = await longestTask(session, async () => {
      for (let step = 1; step <= SCROLLS; step += 1) {
        await list.evaluate((element, share) => { element.scrollTop = element.scrollHeight * share; }, step / SCROLLS);
        await page.waitForTimeout(50);
      }
    });
    console.log(`longest task while scrolling through ${VEHICLES} rows: ${workedMs.toFixed(0)} ms of work (${tookMs.toFixed(0)} ms with waiting for the renderer and a processor)`);
    if (IS_STRICT) assert.ok(workedMs <= LONG_TASK_MS, `${workedMs} ms`);
    assert.ok(await list.locator("tbody tr").count() < 120, "only rows in view are drawn");
    await picture(page, "many");
  } finally {
    await sending.stop();
  }
  assert.deepEqual(page.faults, []);
});
