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
