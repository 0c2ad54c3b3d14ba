// Axe on every view, light and dark: no finding of any level.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";

import { sample, setUp, signIn, views, visit } from "./harness/index.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let fleet;

const stage = setUp({ first: async ({ server }) => { fleet = await sample(server); } });

/** What axe finds on the page as it is, with where. */
async function findings(page) {
  // the page's policy allows no script of ours: evaluated, it is not one of the page's
  await page.evaluate(AXE);
  const { violations, passes } = await page.evaluate(() => globalThis.axe.run());
  assert.ok(passes.length > 5, "axe looked at something");
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html, any }) => `${html.slice(0, 160)} ${any[0]?.message ?? ""}`).join(" | ")}`);
}

for (const colorScheme of ["light", "dark"]) {
  test(`no finding, ${colorScheme}`, async () => {
    const page = await stage.page({ colorScheme, locale: "en-GB" });
    await page.goto("/");
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    assert.deepEqual(await findings(page), [], "sign-in");
    await signIn(page, fleet);
    for (const [name, address, heading] of views(fleet)) {
      await visit(page, address);
      await page.getByRole("heading", { name: heading }).first().waitFor();
      await page.locator("[data-map=loading]").waitFor({ state: "detached" });
      assert.deepEqual(await findings(page), [], name);
    }
    await visit(page, `#/drivers/${fleet.driver.id}`);
    await page.getByRole("button", { name: "Unlock" }).click();
    await page.getByRole("dialog").waitFor();
    assert.deepEqual(await findings(page), [], "dialog");
    assert.deepEqual(page.faults, []);
  });
}
