// Parts of the page that are loaded later, and do not come: the network was away for a moment, or the server was updated.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Fleet, eventually, hasMap, isLive, isSettled, setUp, signIn, visit } from "./harness/index.mjs";

const stage = setUp();

/** Somebody on the drivers, where no part of Live has been asked for yet. */
async function onDrivers() {
  const fleet = await Fleet.make(stage.server);
  const page = await stage.page();
  await signIn(page, fleet);
  await visit(page, "#/drivers");
  await page.reload();
  await isLive(page);
  return { fleet, page };
}

const isPart = ({ pathname }) => /\/assets\/(SharesView|fleet_map|TimeMachine|Attention)-/.test(pathname);
const isOfServer = ({ pathname }) => isPart({ pathname }) || pathname === "/readyz" || pathname === "/";

test("what did not come in a tunnel is shown behind it, with its styles", async () => {
  const { page } = await onDrivers();
  await page.route(isOfServer, (route) => route.abort());
  const missed = page.waitForEvent("requestfailed", (request) => request.url().includes("/readyz"));
  await page.goto("/#/live");
  await missed;
  await page.getByText("The server cannot be reached.").waitFor();
  await page.unroute(isOfServer);
  await hasMap(page);
  assert.equal(await page.locator(".maplibregl-ctrl-top-right").evaluate((element) => getComputedStyle(element).position), "absolute");
  await page.getByText("The server cannot be reached.").waitFor({ state: "detached" });
  await page.getByRole("link", { name: "Shared links" }).or(page.getByRole("button", { name: "Manage" })).first().click();
  await page.getByRole("link", { name: "Shared links" }).click();
  await page.getByRole("heading", { name: "Shared links" }).waitFor();
});

test("after an update of the server a page from before says so, and is loaded anew when people want it", async () => {
  const { page } = await onDrivers();
  await page.route(isPart, (route) => route.fulfill({ status: 404, body: "" }));
  await page.route(({ pathname }) => pathname === "/", async (route) => {
    const answer = await route.fetch();
    await route.fulfill({ response: answer, body: (await answer.text()).replace(/index-[\w-]+\.js/, "index-Newer.js") });
  });
  await page.goto("/#/shares");
  await page.getByText("Waypost was updated.").waitFor();
  await page.unroute(isPart);
  await page.unrouteAll();
  await page.getByRole("button", { name: "Reload" }).click();
  await page.getByRole("heading", { name: "Shared links" }).waitFor();
  assert.equal(await page.getByText("Waypost was updated.").count(), 0);
});

test("a part that the server has and that fails again is told", async () => {
  const { page } = await onDrivers();
  await page.route(isPart, (route) => route.fulfill({ status: 500, body: "" }));
  await page.goto("/#/shares");
  await page.getByText("A part of the page could not be loaded.").waitFor();
});

/** The server fails at the fences, until `mend` is called. */
async function failing(page, status, code) {
  const isFences = ({ pathname }) => pathname === "/v1/geofences";
  await page.route(isFences, (route) => route.fulfill({
    status, contentType: "application/problem+json", body: JSON.stringify({ status, code, title: "It failed", detail: "The fences cannot be read." }),
  }));
  return { mend: () => page.unroute(isFences) };
}

for (const [status, code] of [[500, "internal"], [503, "busy"]]) {
  test(`where the server fails at a list at the start (${status}) people are told, and it comes by itself once it can`, async () => {
    const fleet = await Fleet.make(stage.server);
    await fleet.circle("Depot", { latitude: 59.33, longitude: 18.06 });
    const page = await stage.page();
    const { mend } = await failing(page, status, code);
    await signIn(page, fleet);
    const note = page.getByText("Some data could not be loaded; Waypost keeps trying. The fences cannot be read.");
    await note.waitFor();
    assert.equal(await page.getByText("There is no fence yet").count(), 0, "nobody knows");
    await mend();
    await note.waitFor({ state: "detached" });
    await page.getByText("Nobody is inside a fence").waitFor();
    assert.deepEqual(page.faults, []);
  });
}

/** The pauses of what is asked for again, in the order of their length: half of what chance adds to them. Milliseconds. */
const PAUSES_MS = [2250, 4500, 9000, 18_000, 36_000, 45_000];

/** Notes in `pauses` how long the page waits before it asks again; it then asks soon, or where `isNever` never. */
async function notePauses(page, isNever) {
  await page.addInitScript(([all, never]) => {
    window.pauses = [];
    // never twice the same: names are made of it
    let asked = 0;
    Math.random = () => 0.5 + (asked += 1) * 1e-9;
    const { setTimeout } = window;
    window.setTimeout = (act, after, ...rest) => {
      const pause = Math.round(after);
      if (!all.includes(pause)) return setTimeout(act, after, ...rest);
      window.pauses.push(pause);
      return never ? 0 : setTimeout(act, 50, ...rest);
    };
  }, [PAUSES_MS, isNever]);
  return {
    pauses: () => page.evaluate(() => window.pauses),
    forget: () => page.evaluate(() => { window.pauses = []; }),
  };
}

/** Signs in on the page as it stands, without loading it anew. */
async function enter(page, { email, password }) {
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await isLive(page);
}

async function signOut(page) {
  await page.getByRole("banner").getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("E-mail").waitFor();
}

test("who does not want to wait tries again, and somebody else who signs in is told nothing of it", async () => {
  const fleet = await Fleet.make(stage.server);
  await fleet.circle("Depot", { latitude: 59.33, longitude: 18.06 });
  const colleague = await fleet.person("viewer");
  const page = await stage.page();
  await notePauses(page, true);
  const { mend } = await failing(page, 500, "internal");
  await signIn(page, fleet);
  const again = page.getByRole("button", { name: "Try again" });
  await again.waitFor();
  await isSettled(page);
  // by itself it asks no more
  const asked = page.waitForRequest((request) => request.url().includes("/v1/geofences"));
  await again.click();
  await asked;
  await signOut(page);
  assert.equal(await again.count(), 0);
  await mend();
  await enter(page, colleague);
  await page.getByText("Nobody is inside a fence").waitFor();
  assert.equal(await again.count(), 0);
  assert.deepEqual(page.faults, []);
});

test("a server that fails on and on is asked less and less often, up to about once a minute", async () => {
  const fleet = await Fleet.make(stage.server);
  const page = await stage.page();
  const { pauses, forget } = await notePauses(page, false);
  const { mend } = await failing(page, 500, "internal");
  const grow = () => eventually(async () => assert.deepEqual((await pauses()).slice(0, 7), [...PAUSES_MS, 45_000]));
  await signIn(page, fleet);
  await grow();
  // whoever signs in next begins anew
  await signOut(page);
  await forget();
  await enter(page, fleet);
  await grow();
  await mend();
  await page.getByRole("button", { name: "Try again" }).waitFor({ state: "detached" });
  await isSettled(page);

  const isDrivers = ({ pathname }) => pathname === "/v1/drivers";
  await page.route(isDrivers, (route) => route.fulfill({ status: 500, contentType: "application/problem+json", body: "{}" }));
  await forget();
  await page.goto("/#/drivers");
  await grow();
  await page.unroute(isDrivers);
  await page.getByText("There is no driver yet").waitFor();
  assert.deepEqual(page.faults, []);
});

test("of why a list does not come the newest is said, and nothing else", async () => {
  const fleet = await Fleet.make(stage.server);
  const page = await stage.page();
  await signIn(page, fleet);
  let detail = "The store is full.";
  await page.route(({ pathname }) => pathname === "/v1/drivers", (route) => route.fulfill({
    status: 500, contentType: "application/problem+json", body: JSON.stringify({ status: 500, code: "internal", title: "It failed", detail }),
  }));
  await page.goto("/#/drivers");
  await page.locator(".notice").getByText("The store is full.").waitFor();
  detail = "The disk is broken.";
  await page.locator(".notice").getByText("The disk is broken.").waitFor();
  assert.equal(await page.locator(".notice").count(), 1);
  assert.deepEqual(page.faults, []);
});

test("what went wrong for somebody is not said above the sign-in of who comes next", async () => {
  const fleet = await Fleet.make(stage.server);
  const page = await stage.page();
  await signIn(page, fleet);
  await page.route(({ pathname }) => pathname === "/v1/drivers", (route) => route.fulfill({
    status: 400, contentType: "application/problem+json", body: JSON.stringify({ status: 400, code: "malformedRequest", title: "It failed", detail: "It cannot be read." }),
  }));
  await page.goto("/#/drivers");
  await page.locator(".notice").getByText("It cannot be read.").waitFor();
  await signOut(page);
  assert.equal(await page.locator(".notice").count(), 0);
  assert.deepEqual(page.faults, []);
});

test("what a view asks for and the server fails at comes by itself too, and what was said of it goes", async () => {
  const fleet = await Fleet.make(stage.server);
  const bus = await fleet.vehicle("Bus 7");
  const page = await stage.page();
  await signIn(page, fleet);
  const views = [
    ["#/drivers", "/v1/drivers", "There is no driver yet"],
    ["#/programs", "/v1/system-users", "There is no program yet"],
    ["#/organization", "/v1/audit", "made vehicle Bus 7"],
    [`#/live/${bus.id}`, "/v1/fuel/chart", "No fuel readings in this time"],
    [`#/replay/${bus.id}`, "/v1/stops", "The vehicle did not report on this day"],
  ];
  for (const [view, path, shown] of views) {
    const isList = ({ pathname }) => pathname === path;
    await page.route(isList, (route) => route.fulfill({
      status: 500, contentType: "application/problem+json", body: JSON.stringify({ status: 500, code: "internal", title: "It failed", detail: `${path} cannot be read.` }),
    }));
    await page.goto(`/${view}`);
    const note = page.getByText(`${path} cannot be read.`);
    await note.waitFor();
    await page.unroute(isList);
    await page.getByText(shown).waitFor();
    await note.waitFor({ state: "detached" });
  }
  assert.deepEqual(page.faults, []);
});

test("what the audit is asked for twice, since the server was found again meanwhile, is shown once", async () => {
  const fleet = await Fleet.make(stage.server);
  await fleet.vehicle("Bus 7");
  const page = await stage.page();
  await signIn(page, fleet);
  const held = [];
  const isAudit = ({ pathname }) => pathname === "/v1/audit";
  await page.route(isAudit, (route) => { held.push(route); });
  await page.route(({ pathname }) => pathname === "/v1/users", (route) => route.abort(), { times: 1 });
  await page.goto("/#/organization");
  await eventually(() => assert.equal(held.length, 2));
  for (const route of held) {
    const answered = page.waitForResponse((response) => isAudit(new URL(response.url())));
    await route.continue();
    await answered;
  }
  await page.getByText("made vehicle Bus 7").waitFor();
  await isSettled(page);
  assert.equal(await page.locator(".audit li").filter({ hasText: "made vehicle Bus 7" }).count(), 1);
});
