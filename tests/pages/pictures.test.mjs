// Pictures of every view, light and dark: target/pages/*.png, or docs/pictures with `npm run pictures` here.

import assert from "node:assert/strict";
import { test } from "node:test";

import { picture, setUpSample, signIn, views, visit, webhookViews } from "./harness/index.mjs";

const { stage, shown } = setUpSample();

for (const scheme of ["light", "dark"]) {
  test(`pictures, ${scheme}`, async () => {
    const page = await stage.page({ colorScheme: scheme, locale: "en-GB", viewport: { width: 1200, height: 720 } });
    await page.goto("/");
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    await picture(page, `sign-in-${scheme}`);
    await signIn(page, shown.fleet);
    for (const [name, address, heading] of [...views(shown.fleet), ...webhookViews(shown.hooks)]) {
      await visit(page, address);
      await page.getByRole("heading", { name: heading }).first().waitFor();
      await page.locator("[data-map=loading]").waitFor({ state: "detached" });
      await picture(page, `${name}-${scheme}`);
    }
    assert.deepEqual(page.foreign, []);
    assert.deepEqual(page.faults, []);
  });
}
