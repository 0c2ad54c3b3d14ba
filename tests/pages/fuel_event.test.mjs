// A drain opens its evidence, is judged for all, and prints on one page.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Fleet, eventually, findings, isLive, setUp, signIn, visit } from "./harness/index.mjs";

const MINUTE_MS = 60_000;
const PLACE = { latitude: 48, longitude: 11 };

const stage = setUp();

const region = (page, name) => page.getByRole("region", { name, exact: true });
const ago = (minutes) => new Date(Date.now() - minutes * MINUTE_MS).toISOString();

/** A lorry that stands, and whose tank loses 40 litres half an hour ago; a bus beside it, one that is far. */
async function drained() {
  const fleet = await Fleet.make(stage.server);
  await fleet.circle("Yard", PLACE, 300);
  const lorry = await fleet.vehicle("Lorry 2", { fuel: { kind: "diesel", tankCapacityLiters: 100 } });
  const driver = await fleet.admin.post("/v1/drivers", { firstName: "Astrid", lastName: "Lind", phone: "+46 70 123" });
  await fleet.admin.post(`/v1/drivers/${driver.id}/assign-vehicle`, { vehicleId: lorry.id, startedAt: ago(600) });
  const [beside, far] = [await fleet.vehicle("Bus 9"), await fleet.vehicle("Bus 10")];
  await beside.report([{ latitude: 48.0009, longitude: 11, speedKmh: 0, recordedAt: ago(50) }]);
  await far.report([{ latitude: 48.01, longitude: 11, speedKmh: 0, recordedAt: ago(50) }]);
  await lorry.report(Array.from({ length: 60 }, (_, minute) => ({ ...PLACE, recordedAt: ago(60 - minute), speedKmh: 0, fuel: { liters: minute < 30 ? 90 : 50 } })));
  const drain = await eventually(async () => {
    const { data: [found] } = await fleet.admin.get("/v1/fuel/events?type=drain");
    assert.ok(found);
    return found;
  });
  return { fleet, drain };
}

test("a drain opens its evidence, and what one dispatcher finds all of them see", async () => {
  const { fleet, drain } = await drained();
  const page = await stage.page();
  await signIn(page, await fleet.person("dispatcher"));
  await isLive(page);
  await region(page, "Attention").getByRole("link", { name: "Evidence of the drain of Lorry 2" }).click();
  await page.getByRole("heading", { name: "Drain, Lorry 2" }).waitFor();
  for (const text of ["90 L", "50 L", "Yard", "Astrid Lind", "stood still", "Nobody has judged it yet."]) await page.getByText(text, { exact: true }).first().waitFor();
  assert.equal(await page.getByRole("link", { name: "+46 70 123" }).getAttribute("href"), "tel:+4670123");
  await page.getByRole("img", { name: /Fuel in the tank of Lorry 2/ }).locator("canvas").waitFor();
  const readings = page.getByRole("table").getByRole("row");
  assert.ok((await readings.count()) > 10, "what was read stands beside what was smoothed");
  const near = page.getByRole("list").filter({ hasText: "Bus 9" });
  await near.getByText(/^100 m away/).waitFor();
  assert.equal(await near.getByText("Bus 10", { exact: true }).count(), 0);

  assert.deepEqual(await findings(page), [], "axe");

  const other = await stage.page();
  await signIn(other, await fleet.person("viewer"));
  await visit(other, `#/fuel-event/${drain.id}`);
  await other.getByText("Nobody has judged it yet.").waitFor();
  assert.equal(await other.getByRole("button", { name: "It was one" }).count(), 0, "a viewer judges nothing");

  await page.getByLabel("Note").fill("The cap was broken.");
  await page.getByRole("button", { name: "It was one" }).click();
  for (const one of [page, other]) {
    await one.getByRole("status").getByText("It was one").waitFor();
    await one.locator(".fuel-event-note").getByText("The cap was broken.").waitFor();
  }
  const judged = await fleet.admin.get(`/v1/fuel/events/${drain.id}`);
  assert.deepEqual([judged.verdict.outcome, judged.verdict.note], ["confirmed", "The cap was broken."]);
  await visit(page, "#/live");
  await region(page, "Vehicles").waitFor();
  // whoever judged it has seen it
  await region(page, "Attention").getByText("Nothing", { exact: true }).waitFor();
  for (const one of [page, other]) {
    assert.deepEqual(one.faults, []);
    assert.deepEqual(one.foreign, []);
  }
});

test("a note whose verdict fails stays to be sent again, is not left unasked, and takes nothing from a colleague's", async () => {
  const { fleet, drain } = await drained();
  const page = await stage.page();
  await signIn(page, fleet);
  await visit(page, `#/fuel-event/${drain.id}`);
  const note = page.getByLabel("Note");
  await note.fill("The cap was broken.");
  const isVerdict = ({ pathname }) => pathname.endsWith("/verdict");
  await page.route(isVerdict, (route) => route.fulfill({
    status: 500, contentType: "application/problem+json", body: JSON.stringify({ status: 500, code: "internal", title: "It failed", detail: "The verdict is not stored." }),
  }));
  await page.getByRole("button", { name: "It was one" }).click();
  await page.getByRole("alert").getByText("Not saved: The verdict is not stored.").waitFor();
  assert.equal(await note.inputValue(), "The cap was broken.");
  await page.evaluate(() => { location.hash = "#/drivers"; });
  const asking = page.getByRole("dialog", { name: "Leave without saving?" });
  await asking.getByRole("button", { name: "Cancel" }).click();
  await asking.waitFor({ state: "detached" });
  assert.equal(await note.inputValue(), "The cap was broken.");
  await page.unroute(isVerdict);
  await page.getByRole("button", { name: "It was one" }).click();
  await page.locator(".fuel-event-note").getByText("The cap was broken.").waitFor();
  await page.getByText("Not saved").waitFor({ state: "detached" });

  // what a colleague wrote meanwhile is what one goes on from
  await fleet.admin.put(`/v1/fuel/events/${drain.id}/verdict`, { outcome: "confirmed", note: "The lock was broken, too." });
  await page.locator(".fuel-event-note").getByText("The lock was broken, too.").waitFor();
  assert.equal(await note.inputValue(), "The lock was broken, too.");
  await visit(page, "#/drivers");
  assert.equal(await asking.count(), 0, "nothing is unsaved");
  assert.deepEqual(page.faults, []);
});

test("it prints on one page, without what is to be clicked", async () => {
  const { fleet, drain } = await drained();
  const page = await stage.page({ colorScheme: "dark" });
  await signIn(page, fleet);
  await visit(page, `#/fuel-event/${drain.id}`);
  await page.getByRole("img", { name: /Fuel in the tank/ }).locator("canvas").waitFor();
  await page.emulateMedia({ media: "print" });
  for (const name of ["Print", "It was one"]) assert.equal(await page.getByRole("button", { name, includeHidden: true }).isVisible(), false, name);
  assert.equal(await page.locator("header.top").isVisible(), false);
  assert.equal(await page.evaluate(() => getComputedStyle(document.querySelector(".fuel-event")).backgroundColor), "rgb(255, 255, 255)");
  const paper = (await page.pdf({ format: "A4" })).toString("latin1");
  assert.equal(paper.match(/\/Type\s*\/Page[^s]/g).length, 1);
  assert.deepEqual(page.faults, []);
});

test("a refuel or drain that is not there is said to be so", async () => {
  const fleet = await Fleet.make(stage.server);
  const page = await stage.page();
  await signIn(page, fleet);
  await visit(page, "#/fuel-event/01900000-0000-7000-8000-000000000000");
  await page.getByText("There is no such refuel or drain").waitFor();
});
