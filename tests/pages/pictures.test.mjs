// Pictures of every view, light and dark: target/pages/*.png, or docs/pictures with `npm run pictures` here.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Server, isLive, isSettled, launch, open, picture, sample, signIn, views } from "./harness/index.mjs";

let server, browser, fleet;

before(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  fleet = await sample(server);
});
after(async () => {
  await browser?.close();
  await server?.remove();
});

for (const scheme of ["light", "dark"]) {
  test(`pictures, ${scheme}`, { timeout: 120_000 }, async () => {
    const page = await open(browser, server, { colorScheme: scheme, locale: "en-GB", viewport: { width: 1200, height: 720 } });
    await page.goto("/");
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    await picture(page, `sign-in-${scheme}`);
    await signIn(page, fleet);
    for (const [name, address, heading] of views(fleet)) {
      await page.goto(`/${address}`);
      await isLive(page);
      await page.getByRole("heading", { name: heading }).first().waitFor();
      await page.locator("[data-map=loading]").waitFor({ state: "detached" });
      await isSettled(page);
      await picture(page, `${name}-${scheme}`);
    }
    assert.deepEqual(page.foreign, []);
    assert.deepEqual(page.faults, []);
    await page.context().close();
  });
}
