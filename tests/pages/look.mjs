// Looks at a running server from outside, in a browser: until the page follows the live feed and has a text. Fails if it asks another
// host or has a fault of its own.
//
//   node look.mjs LINK TEXT                  by a link that signs in
//   node look.mjs URL TEXT EMAIL PASSWORD    by the form

import assert from "node:assert/strict";

import { launch, open, isLive, signIn } from "./harness/browser.mjs";

const [link, text, email, password] = process.argv.slice(2);
const browser = await launch();
try {
  const page = await open(browser, { url: link });
  if (email) await signIn(page, { email, password });
  else await page.goto(link);
  await isLive(page);
  // Also where it is to be chosen.
  await page.getByText(text).first().waitFor({ state: "attached" });
  assert.deepEqual([page.foreign, page.faults], [[], []]);
} finally {
  await browser.close();
}
