// Modules of web/src by themselves, without a browser: for what follows from what it is given.

import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { after, before } from "node:test";

const ROOT = fileURLToPath(new URL("../../../web/", import.meta.url));
const require = createRequire(`${ROOT}package.json`);

/** The modules of these paths, `/src/format.ts`, once the first test of the file begins: `modules[path]` has what one exports. */
export function sources(...paths) {
  const modules = {};
  let vite;
  before(async () => {
    const { createServer } = await import(pathToFileURL(require.resolve("vite")));
    vite = await createServer({
      root: ROOT, configFile: false, appType: "custom", logLevel: "warn", optimizeDeps: { noDiscovery: true },
      server: { middlewareMode: true, hmr: false, ws: false, watch: null },
    });
    const { setInterval } = globalThis;
    // a clock that a module starts keeps no test from ending
    globalThis.setInterval = (...asked) => setInterval(...asked).unref();
    for (const path of paths) modules[path] = await vite.ssrLoadModule(path);
    globalThis.setInterval = setInterval;
  });
  after(() => vite?.close());
  return modules;
}
