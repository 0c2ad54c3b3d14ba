import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";

import { feature } from "topojson-client";
import { defineConfig, type Plugin } from "vite";

const require = createRequire(import.meta.url);

/** `virtual:land`: the world's land (Natural Earth, public domain) as GeoJSON, to a hundredth of a degree. */
function land(): Plugin {
  const name = "virtual:land";
  const own = `\0${name}`;
  return {
    name,
    resolveId: (id) => (id === name ? own : undefined),
    load(id) {
      if (id !== own) return undefined;
      const topology = JSON.parse(readFileSync(require.resolve("world-atlas/land-110m.json"), "utf8"));
      const round = (key: string, value: unknown) => (typeof value === "number" ? Math.round(value * 100) / 100 : value);
      const text = JSON.stringify(feature(topology, topology.objects.land), round);
      return `export default JSON.parse(${JSON.stringify(text)});`;
    },
  };
}

/** `virtual:land-50m`: the same, finer, as the arcs of a topology, which are half the bytes. */
function finerLand(): Plugin {
  const name = "virtual:land-50m";
  const own = `\0${name}`;
  return {
    name,
    resolveId: (id) => (id === name ? own : undefined),
    load(id) {
      if (id !== own) return undefined;
      const text = readFileSync(require.resolve("world-atlas/land-50m.json"), "utf8");
      return `export default JSON.parse(${JSON.stringify(text)});`;
    },
  };
}

/** A compressed twin beside every script and style, so that the server need not compress them at each load. */
function compressed(): Plugin {
  return {
    name: "compressed",
    writeBundle({ dir = "dist" }) {
      const folder = join(dir, "assets");
      for (const name of readdirSync(folder)) {
        const text = readFileSync(join(folder, name));
        const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: text.length };
        writeFileSync(join(folder, `${name}.br`), brotliCompressSync(text, { params }));
      }
    },
  };
}

export default defineConfig({
  // The same file name whatever folder it is built in: names follow from contents.
  build: {
    target: "es2023",
    outDir: "dist",
    emptyOutDir: true,
    sourcemap: false,
    // MapLibre is one file of a megabyte, loaded after the page stands.
    chunkSizeWarningLimit: 1200,
    // A script or a picture inside a page would be refused by the page's own policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  plugins: [land(), finerLand(), compressed()],
});
