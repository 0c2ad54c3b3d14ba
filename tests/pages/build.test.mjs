// What is built and committed: that its compressed files are the others, compressed. How much of it a first load takes:
// load.test.mjs.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { brotliDecompressSync } from "node:zlib";

const ASSETS = new URL("../../web/dist/assets/", import.meta.url);

test("every asset has a compressed twin of the same content", () => {
  const names = readdirSync(ASSETS);
  const assets = names.filter((name) => !name.endsWith(".br"));
  assert.deepEqual(names.filter((name) => name.endsWith(".br")).sort(), assets.map((name) => `${name}.br`).sort());
  let bytes = 0;
  for (const name of assets) {
    const compressed = readFileSync(new URL(`${name}.br`, ASSETS));
    assert.ok(brotliDecompressSync(compressed).equals(readFileSync(new URL(name, ASSETS))), name);
    bytes += compressed.length;
  }
  console.log(`all assets of the page, compressed: ${(bytes / 1000).toFixed(0)} kB`);
});
