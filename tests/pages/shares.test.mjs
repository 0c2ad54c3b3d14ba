// Links to vehicles: made by a dispatcher, opened by somebody without an account, until they arrive or are revoked.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Fleet, hasMap, isSettled, setUp, signIn } from "./harness/index.mjs";

const DEPOT = { latitude: 59.33, longitude: 18.06 };
const AWAY = { latitude: 59.36, longitude: 18.06 };

const stage = setUp();

const region = (page, name) => page.getByRole("region", { name, exact: true });

/** A page of somebody who never signed in. */
async function stranger(link) {
  const page = await stage.page({ timezoneId: "America/Lima" });
  await page.goto(new URL(link).pathname);
  return page;
}

test("a vehicle is shared from its panel, and shown to whoever has the link until it arrives", async () => {
  const fleet = await Fleet.make(stage.server);
  await fleet.circle("Customer's yard", DEPOT, 300);
  await fleet.circle("Another yard", { latitude: 59.2, longitude: 18 }, 300);
  const [bus, other] = [await fleet.vehicle("Bus 7"), await fleet.vehicle("Bus 8")];
  await bus.at(AWAY.latitude, AWAY.longitude, { speedKmh: 40 });
  await other.at(AWAY.latitude, AWAY.longitude);
  const dispatcher = await fleet.person("dispatcher");
  const page = await stage.page();
  await signIn(page, dispatcher);
  await page.getByRole("link", { name: "Bus 7", exact: true }).first().click();
  await page.getByRole("link", { name: "Share", exact: true }).click();
  const form = page.getByRole("form", { name: "New link" });
  await form.getByText("Bus 7").waitFor();
  await form.getByLabel("What for").fill("For Astrid");
  const fence = form.getByRole("combobox", { name: "Until it enters" });
  await fence.fill("customer");
  await form.getByRole("option", { name: "Customer's yard" }).click();
  assert.equal(await fence.inputValue(), "Customer's yard");
  await form.getByRole("button", { name: "Make the link" }).click();
  const dialog = page.getByRole("dialog", { name: "The link" });
  const link = await dialog.getByRole("group", { name: "Link" }).innerText();
  assert.match(link, /^http:\/\/127\.0\.0\.1:\d+\/s\/wpf_/);
  await dialog.getByRole("button", { name: "Close" }).click();
  await region(page, "For Astrid").getByText("Open").waitFor();

  const guest = await stranger(link);
  const list = guest.getByRole("list");
  await list.getByText("Bus 7").waitFor();
  await list.getByText("Moving").waitFor();
  await guest.getByText(/^This link works until .*\(Peru Standard Time\)\.$/).waitFor();
  await hasMap(guest);
  const drawn = () => guest.evaluate(() => document.querySelector(".map").fleetMap.drawn());
  assert.deepEqual(await drawn(), ["Bus 7"], "and no other");
  assert.equal(await guest.getByText("For Astrid").count(), 0, "what it is for is not told");
  assert.equal(await guest.getByText("Bus 8").count(), 0);

  await bus.at(DEPOT.latitude, DEPOT.longitude, { speedKmh: 5 });
  await guest.getByText("This link shows nothing any more").waitFor();
  assert.equal(await guest.getByText("Bus 7").count(), 0);
  await region(page, "For Astrid").getByText("Over").waitFor();
  await region(page, "For Astrid").getByText(/^arrived/).waitFor();
  for (const one of [page, guest]) {
    assert.deepEqual(one.faults, []);
    assert.deepEqual(one.foreign, []);
  }
});

test("several are chosen, and a link that is revoked is unknown", async () => {
  const fleet = await Fleet.make(stage.server);
  for (const name of ["Van 1", "Van 2", "Van 3"]) await (await fleet.vehicle(name)).at(AWAY.latitude, AWAY.longitude);
  const page = await stage.page();
  await signIn(page, fleet);
  await page.getByRole("button", { name: /Manage/ }).click();
  await page.getByRole("link", { name: "Shared links" }).click();
  await page.getByText("Nothing is shared").waitFor();
  await page.getByRole("link", { name: "New link" }).click();
  const form = page.getByRole("form", { name: "New link" });
  await form.getByRole("button", { name: "Make the link" }).click();
  await form.getByText(/^must be a list of 1 to 20 ids/).waitFor();
  await form.getByRole("button", { name: "Add Van 1" }).click();
  await form.getByRole("button", { name: "Add Van 3" }).click();
  await form.getByRole("button", { name: "Make the link" }).click();
  const link = await page.getByRole("dialog").getByRole("group", { name: "Link" }).innerText();
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();

  const guest = await stranger(link);
  await guest.getByRole("listitem").nth(1).waitFor();
  assert.deepEqual(await guest.getByRole("listitem").locator("b").allInnerTexts(), ["Van 1", "Van 3"]);

  await page.getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByText("Nothing is shared").waitFor();
  await guest.getByText("There is no such link").waitFor();
  await isSettled(page);
  assert.deepEqual(page.faults, []);
});

test("a viewer is offered no links", async () => {
  const fleet = await Fleet.make(stage.server);
  const bus = await fleet.vehicle("Bus 9");
  await bus.at(AWAY.latitude, AWAY.longitude);
  const page = await stage.page();
  await signIn(page, await fleet.person("viewer"));
  await page.getByRole("link", { name: "Bus 9", exact: true }).first().click();
  await page.getByRole("link", { name: "Replay the day" }).waitFor();
  assert.equal(await page.getByRole("link", { name: "Share", exact: true }).count(), 0);
});
