// What is built and committed: that its compressed files are the others, compressed, and how much a first load takes.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { brotliDecompressSync } from "node:zlib";

const ASSETS = new URL("../../web/dist/assets/", import.meta.url);
const MOST_AT_FIRST_BYTES = 500_000;

test("every asset has a compressed twin of the same content, and all together are a first load", () => {
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
  assert.ok(bytes <= MOST_AT_FIRST_BYTES, `${bytes} bytes`);
});
