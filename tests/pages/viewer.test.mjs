// Who may not edit: no control for it, and an understandable answer where the server refuses.

import assert from "node:assert/strict";
import { test } from "node:test";

import { sample, setUp, signIn, visit } from "./harness/index.mjs";

let fleet;

const stage = setUp({ first: async ({ server }) => { fleet = await sample(server); } });

const EDITING = /^(New|Edit|Save|Delete|Import|Assign|Unassign|Lock|Unlock|Disable|Enable|Deactivate|Activate|Invite|Find by|Add a)/;

async function editingOn(page, address, text) {
  await visit(page, address);
  await page.getByText(text).first().waitFor();
  const controls = await page.locator("main").getByRole("button").or(page.locator("main").getByRole("link")).allTextContents();
  return { controls: controls.filter((word) => EDITING.test(word.trim())), fields: await page.locator("main form").count() };
}

test("a viewer sees everything and changes nothing", async () => {
  const page = await stage.page();
  await signIn(page, fleet.people.viewer);
  for (const [address, text] of [
    [`#/fences/${fleet.depot.id}`, "59.3195"],
    [`#/live/${fleet.buses[0].id}`, "Astrid Lind"],
    [`#/drivers/${fleet.driver.id}`, "SE-4711-08"],
    [`#/trackers/${fleet.buses[0].tracker.id}`, "Bus 2"],
    ["#/organization", "Free"],
  ]) {
    assert.deepEqual(await editingOn(page, address, text), { controls: [], fields: 0 }, address);
  }
  assert.equal(await page.getByRole("link", { name: "Users" }).count(), 0);
  for (const address of ["#/fences/new", "#/fleet/new", "#/drivers/new", "#/trackers/new"]) {
    assert.equal((await editingOn(page, address, /\d (fences|vehicles|drivers|trackers)/)).fields, 0, address);
  }
  await visit(page, "#/users");
  await page.getByText("Your role does not see Users").waitFor();
  assert.deepEqual(page.faults, []);
});

test("a dispatcher draws fences and assigns drivers, and no more", async () => {
  const page = await stage.page();
  await signIn(page, fleet.people.dispatcher);
  const offered = async (address, text) => (await editingOn(page, address, text)).controls;
  assert.deepEqual(await offered("#/fences", "Depot"), ["Import", "New fence"]);
  assert.deepEqual(await offered(`#/live/${fleet.buses[0].id}`, "BUS 002"), ["Assign driver", "Unassign"]);
  assert.deepEqual(await offered(`#/drivers/${fleet.driver.id}`, "SE-4711-08"), ["Assign vehicle", "Unassign"]);
  assert.deepEqual(await offered("#/users", "admin"), []);
  assert.deepEqual(page.faults, []);
});

test("who is not an administrator any more is told so, in words", async () => {
  const boss = await fleet.person("orgAdmin");
  const page = await stage.page();
  await signIn(page, boss);
  await visit(page, `#/fences/${fleet.depot.id}`);
  await page.getByLabel("Radius, metres").fill("333");
  const { data } = await fleet.admin.get(`/v1/users?q=${boss.email}`);
  await fleet.admin.put(`/v1/users/${data[0].id}`, { role: "viewer" });
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").filter({ hasText: "Not saved" }).filter({ hasText: /viewer|role|may/i }).waitFor();
  assert.equal((await fleet.admin.get(`/v1/geofences/${fleet.depot.id}`)).shape.radiusMeters, 350);
});
