// Tabs share a session, whose refresh token works once: also where the browser knows no locks, as over plain http from another machine.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Fleet, isLive, setUp, signIn } from "./harness/index.mjs";

const stage = setUp();

/** Two tabs of one browser that knows no locks, signed in. */
async function tabs() {
  const fleet = await Fleet.make(stage.server);
  const one = await stage.page();
  await one.context().addInitScript(() => Object.defineProperty(navigator, "locks", { value: undefined }));
  await signIn(one, fleet);
  const other = await one.context().newPage();
  await other.goto("/");
  await isLive(other);
  assert.equal(await other.evaluate(() => navigator.locks), undefined);
  return [one, other];
}

/** The access token of all tabs has run out. */
async function expire(one) {
  await one.evaluate(() => {
    const session = JSON.parse(localStorage.getItem("waypost.session"));
    localStorage.setItem("waypost.session", JSON.stringify({ ...session, accessToken: "spent" }));
    dispatchEvent(new StorageEvent("storage", { key: "waypost.session" }));
  });
}

/** Each tab asks for something. */
const ask = (pages) => Promise.all(pages.map((page) => page.evaluate(() => { location.hash = "#/drivers"; })));
const areIn = (pages) => Promise.all(pages.map((page) => page.getByText("There is no driver yet").waitFor()));

test("two tabs whose token runs out at once renew it once, one after the other", async () => {
  const pages = await tabs();
  const sent = [];
  await pages[0].context().route("**/v1/auth/refresh", async (route) => {
    sent.push(route.request().postDataJSON().refreshToken);
    const answer = await route.fetch();
    // long enough for the other tab to find the old one still
    await new Promise((end) => setTimeout(end, 500));
    await route.fulfill({ response: answer });
  });
  for (let round = 1; round <= 3; round += 1) {
    await expire(pages[0]);
    await ask(pages);
    await areIn(pages);
    assert.equal(sent.length, round, "renewed once for both");
    await Promise.all(pages.map((page) => page.evaluate(() => { location.hash = "#/live"; })));
    await Promise.all(pages.map((page) => page.getByRole("heading", { name: "Events" }).waitFor()));
  }
  assert.equal(new Set(sent).size, sent.length, "no token twice");
  assert.equal(await pages[0].evaluate(() => localStorage.getItem("waypost.session.turn")), null);
});

test("who is refused a token takes what another tab got for it", async () => {
  const [one, other] = await tabs();
  await one.route("**/v1/auth/refresh", async (route) => {
    const got = await (await route.fetch()).json();
    setTimeout(() => void other.evaluate((signedIn) => localStorage.setItem("waypost.session", JSON.stringify(signedIn)), got), 300);
    await route.fulfill({ status: 401, contentType: "application/problem+json", body: JSON.stringify({ status: 401, code: "invalidToken", title: "Token not accepted" }) });
  });
  const loads = [];
  for (const page of [one, other]) page.on("load", () => loads.push(page.url()));
  await expire(one);
  await ask([one]);
  await areIn([one]);
  await ask([other]);
  await areIn([other]);
  assert.deepEqual(loads, [], "nobody was signed out meanwhile");
});

test("who is refused and nobody else has got anything is signed out, and told why", async () => {
  const pages = await tabs();
  await pages[0].evaluate(() => {
    const session = JSON.parse(localStorage.getItem("waypost.session"));
    localStorage.setItem("waypost.session", JSON.stringify({ ...session, accessToken: "spent", refreshToken: "gone" }));
    dispatchEvent(new StorageEvent("storage", { key: "waypost.session" }));
  });
  await ask(pages);
  for (const page of pages) await page.getByLabel("Password", { exact: true }).waitFor();
  await Promise.any(pages.map((page) => page.getByText("The session has ended.").waitFor()));
});
