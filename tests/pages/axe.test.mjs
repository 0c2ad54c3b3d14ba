// Axe on every view, light and dark: no finding of any level.

import assert from "node:assert/strict";
import { test } from "node:test";

import { findings, setUpSample, signIn, views, visit, webhookViews } from "./harness/index.mjs";

const { stage, shown } = setUpSample();

for (const colorScheme of ["light", "dark"]) {
  test(`no finding, ${colorScheme}`, async () => {
    const page = await stage.page({ colorScheme, locale: "en-GB" });
    await page.goto("/");
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    assert.deepEqual(await findings(page), [], "sign-in");
    await page.getByRole("link", { name: "Create an organization" }).click();
    await page.getByRole("form").waitFor();
    assert.deepEqual(await findings(page), [], "sign-up");
    await signIn(page, shown.fleet);
    for (const [name, address, heading] of [...views(shown.fleet), ...webhookViews(shown.hooks)]) {
      await visit(page, address);
      await page.getByRole("heading", { name: heading }).first().waitFor();
      await page.locator("[data-map=loading]").waitFor({ state: "detached" });
      assert.deepEqual(await findings(page), [], name);
    }
    await visit(page, `#/live/${shown.fleet.buses[1].id}`);
    await page.locator(".reported").waitFor();
    await page.locator(".day-list li[data-part=trip] button").first().click();
    await page.getByRole("button", { name: "Where it is now" }).waitFor();
    assert.deepEqual(await findings(page), [], "the way of a trip");
    await visit(page, `#/live?at=${new Date(Date.now() - 60_000).toISOString()}`);
    await page.getByRole("slider", { name: "Time of day" }).waitFor();
    assert.deepEqual(await findings(page), [], "Live as it was");
    await visit(page, "#/webhooks/new");
    await page.getByText("Changes of master data").click();
    await page.getByText("Only some vehicles or fences").click();
    await page.getByRole("button", { name: "Add Bus 2", exact: true }).click();
    await page.getByLabel("Address").fill("nowhere");
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByRole("alert").getByText("Not saved").waitFor();
    assert.deepEqual(await findings(page), [], "a form with what is wrong");
    for (const [address, control] of [[`#/shares/new?vehicle=${shown.fleet.buses[1].id}`, "combobox"], ["#/me", "checkbox"]]) {
      await visit(page, address);
      await page.getByRole(control).first().waitFor();
      assert.deepEqual(await findings(page), [], address);
    }
    await visit(page, "#/replay");
    await page.getByRole("combobox", { name: "Vehicle" }).click();
    await page.getByRole("listbox").getByRole("option").first().waitFor();
    assert.deepEqual(await findings(page), [], "one is found");
    const endsAt = new Date(Date.now() + 3_600_000).toISOString();
    const share = await shown.fleet.admin.post("/v1/shares", { vehicleIds: [shown.fleet.buses[1].id], endsAt });
    const guest = await stage.page({ colorScheme });
    await guest.goto(`/s/${share.token}`);
    await guest.getByRole("listitem").waitFor();
    await guest.locator("[data-map=loading]").waitFor({ state: "detached" });
    assert.deepEqual(await findings(guest), [], "a link to vehicles");
    await visit(page, "#/trackers");
    await page.getByRole("button", { name: "Add 356307042441013" }).click();
    await page.getByRole("dialog").waitFor();
    assert.deepEqual(await findings(page), [], "a new device");
    await visit(page, `#/drivers/${shown.fleet.driver.id}`);
    await page.getByRole("button", { name: "Unlock" }).click();
    await page.getByRole("dialog").waitFor();
    assert.deepEqual(await findings(page), [], "dialog");
    assert.deepEqual(page.faults, []);
  });
}
