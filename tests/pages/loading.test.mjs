// Parts of the page that are loaded later, and do not come: the network was away for a moment, or the server was updated.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Fleet, hasMap, isLive, setUp, signIn, visit } from "./harness/index.mjs";

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
    const note = page.getByText("Not everything is loaded. It is asked for again by itself. The fences cannot be read.");
    await note.waitFor();
    assert.equal(await page.getByText("There is no fence yet").count(), 0, "nobody knows");
    await mend();
    await note.waitFor({ state: "detached" });
    await page.getByText("Nobody is inside a fence").waitFor();
    assert.deepEqual(page.faults, []);
  });
}

test("who does not want to wait tries again, and somebody else who signs in is told nothing of it", async () => {
  const fleet = await Fleet.make(stage.server);
  await fleet.circle("Depot", { latitude: 59.33, longitude: 18.06 });
  const page = await stage.page();
  const { mend } = await failing(page, 500, "internal");
  await signIn(page, fleet);
  const again = page.getByRole("button", { name: "Try again" });
  await again.waitFor();
  const asked = page.waitForRequest((request) => request.url().includes("/v1/geofences"));
  await again.click();
  await asked;
  await page.getByRole("banner").getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("E-mail").waitFor();
  assert.equal(await again.count(), 0);
  await mend();
  assert.deepEqual(page.faults, []);
});

test("a list of a view that the server fails at comes by itself too, and what was said of it goes", async () => {
  const fleet = await Fleet.make(stage.server);
  const page = await stage.page();
  await signIn(page, fleet);
  for (const [view, path, empty] of [["#/drivers", "/v1/drivers", "There is no driver yet"], ["#/programs", "/v1/system-users", "There is no program yet"]]) {
    const isList = ({ pathname }) => pathname === path;
    await page.route(isList, (route) => route.fulfill({
      status: 500, contentType: "application/problem+json", body: JSON.stringify({ status: 500, code: "internal", title: "It failed", detail: `${path} cannot be read.` }),
    }));
    await page.goto(`/${view}`);
    const note = page.getByText(`${path} cannot be read.`);
    await note.waitFor();
    await page.unroute(isList);
    await page.getByText(empty).waitFor();
    await note.waitFor({ state: "detached" });
  }
  assert.deepEqual(page.faults, []);
});
