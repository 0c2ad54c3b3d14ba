// What the tests of a file stand on, and waiting for what happens elsewhere.

import { after, afterEach, before } from "node:test";

import { PATIENCE_MS, launch, open } from "./browser.mjs";
import { Server } from "./server.mjs";

const AGAIN_AFTER_MS = 50;

/** A server and a browser of a file's tests. */
class Stage {
  server = null;
  browser = null;

  /** A page of its own profile; `server` is another one, or a wire to it, the rest are options of a browser context. */
  page({ server = this.server, ...options } = {}) {
    return open(this.browser, server, options);
  }
}

/**
 * Sets up a server (unless `start` says otherwise) and a browser with these `flags` before the first test, then does what `first`
 * says, and takes all of it down after the last. What a test opened is closed after it: pages of earlier tests would slow the next.
 */
export function setUp({ start = () => Server.start(), flags = [], first = () => {} } = {}) {
  const stage = new Stage();
  before(async () => {
    [stage.server, stage.browser] = await Promise.all([start(), launch(...flags)]);
    await first(stage);
  });
  afterEach(() => Promise.all(stage.browser?.contexts().map((context) => context.close()) ?? []));
  after(async () => {
    await stage.browser?.close();
    await stage.server?.remove();
  });
  return stage;
}

/** Does something that asserts until it goes through, and resolves to what it returns; what it says last is the failure. */
export async function eventually(check) {
  const last = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await check();
    } catch (failure) {
      if (performance.now() > last) throw failure;
    }
    await new Promise((again) => setTimeout(again, AGAIN_AFTER_MS));
  }
}
