// Axe on every view, light and dark: no serious or critical finding.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";

import { Server, isLive, isSettled, launch, open, sample, signIn, views } from "./harness/index.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

let server, browser, fleet;

before(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  fleet = await sample(server);
});
after(async () => {
  await browser?.close();
  await server?.remove();
});

/** What axe finds on the page as it is, with where. */
async function findings(page) {
  // the page's policy allows no script of ours: evaluated, it is not one of the page's
  await page.evaluate(AXE);
  const { violations, passes } = await page.evaluate(() => globalThis.axe.run());
  assert.ok(passes.length > 5, "axe looked at something");
  return violations
    .filter(({ impact }) => impact === "serious" || impact === "critical")
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html, any }) => `${html.slice(0, 160)} ${any[0]?.message ?? ""}`).join(" | ")}`);
}

for (const colorScheme of ["light", "dark"]) {
  test(`no serious finding, ${colorScheme}`, { timeout: 180_000 }, async () => {
    const page = await open(browser, server, { colorScheme, locale: "en-GB" });
    await page.goto("/");
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    assert.deepEqual(await findings(page), [], "sign-in");
    await signIn(page, fleet);
    for (const [name, address, heading] of views(fleet)) {
      await page.goto(`/${address}`);
      await isLive(page);
      await page.getByRole("heading", { name: heading }).first().waitFor();
      await page.locator("[data-map=loading]").waitFor({ state: "detached" });
      await isSettled(page);
      assert.deepEqual(await findings(page), [], name);
    }
    await page.goto(`/#/drivers/${fleet.driver.id}`);
    await page.getByRole("button", { name: "Unlock" }).click();
    await page.getByRole("dialog").waitFor();
    assert.deepEqual(await findings(page), [], "dialog");
    assert.deepEqual(page.faults, []);
    await page.context().close();
  });
}
