// Pictures of every view, light and dark: target/pages/*.png, or docs/pictures with `npm run pictures` here.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import {
  Receiver, Server, TO_THIS_COMPUTER, picture, sample, samplePending, sampleWebhooks, setUp, signIn, views, visit, webhookViews,
} from "./harness/index.mjs";

let fleet;
let hooks;
let receiver;

const stage = setUp({
  start: () => Server.start(...TO_THIS_COMPUTER),
  first: async ({ server }) => {
    receiver = await Receiver.start();
    fleet = await sample(server);
    await samplePending(fleet);
    hooks = await sampleWebhooks(fleet, receiver);
  },
});
after(() => receiver.close());

for (const scheme of ["light", "dark"]) {
  test(`pictures, ${scheme}`, async () => {
    const page = await stage.page({ colorScheme: scheme, locale: "en-GB", viewport: { width: 1200, height: 720 } });
    await page.goto("/");
    await page.getByRole("button", { name: "Sign in" }).waitFor();
    await picture(page, `sign-in-${scheme}`);
    await signIn(page, fleet);
    for (const [name, address, heading] of [...views(fleet), ...webhookViews(hooks)]) {
      await visit(page, address);
      await page.getByRole("heading", { name: heading }).first().waitFor();
      await page.locator("[data-map=loading]").waitFor({ state: "detached" });
      await picture(page, `${name}-${scheme}`);
    }
    assert.deepEqual(page.foreign, []);
    assert.deepEqual(page.faults, []);
  });
}
