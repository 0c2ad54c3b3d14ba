// Pictures of every view, light and dark: target/pages/*.png, or docs/pictures with `npm run pictures` here, which makes those of a tablet
// and a phone too.

import assert from "node:assert/strict";
import { test } from "node:test";

import { picture, setUpSample, signIn, views, visit, webhookViews } from "./harness/index.mjs";

const { stage, shown } = setUpSample();

const DESK = { width: 1200, height: 720 };
const SMALL = [
  ["tablet", "light", { width: 1024, height: 768 }],
  ["phone", "light", { width: 390, height: 844 }],
];
const shapes = [["light", "light", DESK], ["dark", "dark", DESK], ...(process.env.WAYPOST_TEST_PICTURES ? SMALL : [])];

for (const [shape, colorScheme, viewport] of shapes) {
  test(`pictures, ${shape}`, async () => {
    const page = await stage.page({ colorScheme, locale: "en-GB", viewport, hasTouch: shape === "phone" });
    await page.goto("/");
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    await picture(page, `sign-in-${shape}`);
    await signIn(page, shown.fleet);
    for (const [name, address, heading] of [...views(shown.fleet), ...webhookViews(shown.hooks)]) {
      await visit(page, address);
      // on a phone what is open hides the list, and its heading
      await page.getByRole("heading", { name: heading, includeHidden: true }).first().waitFor({ state: "attached" });
      await page.locator("[data-map=loading]").waitFor({ state: "detached" });
      // coasts and fences are cut into tiles after the first drawing
      await page.waitForFunction(() => document.querySelector(".map")?.fleetMap?.map.loaded() ?? true);
      await picture(page, `${name}-${shape}`);
    }
    assert.deepEqual(page.foreign, []);
    assert.deepEqual(page.faults, []);
  });
}
