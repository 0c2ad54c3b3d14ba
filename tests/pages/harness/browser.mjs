// A browser that remembers every request to another host and every error of the page, and takes pictures.

import { accessSync, constants, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const HERE = dirname(fileURLToPath(import.meta.url));
const PICTURES = resolve(process.env.WAYPOST_TEST_PICTURES ?? join(HERE, "../../../target/pages"));
/** How many times slower the page's processor is made: shows what only a fast machine does in time. */
const SLOWER = Number(process.env.WAYPOST_TEST_SLOWER ?? 1);
/** How long a page may take for anything: only a fault takes longer. */
export const PATIENCE_MS = 120_000 + 60_000 * SLOWER;
/** A map that draws shows nothing new for a while: so many pictures in a row are like the one before. */
const ALIKE = 3;
// What a browser would otherwise say to its maker.
const QUIET = ["--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

function program() {
  const folders = (process.env.PATH ?? "").split(delimiter);
  const found = [...folders, "/usr/bin"].map((folder) => join(folder, "chromium")).find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
  if (!found) throw new Error("chromium is not installed");
  return found;
}

/** Starts chromium; `flags` such as "--disable-gpu", "--disable-webgl" come after our own. */
export function launch(...flags) {
  return chromium.launch({ executablePath: program(), headless: true, chromiumSandbox: false, args: [...QUIET, ...flags] });
}

/**
 * A page of its own profile on a server. `page.foreign` has the requests that left the server, `page.faults` what
 * went wrong in the page. Options are those of a browser context: `{ colorScheme: "dark", viewport }`.
 */
export async function open(browser, server, options = {}) {
  const context = await browser.newContext({ baseURL: server.url, viewport: { width: 1280, height: 800 }, ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  if (SLOWER > 1) await (await context.newCDPSession(page)).send("Emulation.setCPUThrottlingRate", { rate: SLOWER });
  const own = new URL(server.url).host;
  page.foreign = [];
  page.faults = [];
  const note = (url) => {
    const { protocol, host } = new URL(url);
    if (!["data:", "blob:", "about:"].includes(protocol) && host !== own) page.foreign.push(url);
  };
  context.on("request", (request) => note(request.url()));
  page.on("websocket", (socket) => note(socket.url()));
  page.on("pageerror", (error) => page.faults.push(String(error.stack ?? error)));
  page.on("console", (message) => {
    // A refused request is told here too; the page shows those itself.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource")) page.faults.push(message.text());
  });
  return page;
}

/** Signs in by the form, and waits for the live feed. */
export async function signIn(page, { email, password }) {
  await page.goto("/");
  await page.getByLabel("E-mail").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await isLive(page);
}

/** Waits until the page follows the live feed. */
export async function isLive(page) {
  await page.locator("[data-connection=live]").waitFor();
}

/** Waits until the page has nothing to wait for from the server, and has drawn what it has: drawing may ask for more. */
export async function isSettled(page) {
  const isDrawn = () => page.evaluate(() => new Promise((tell) => {
    requestAnimationFrame(() => setTimeout(() => tell(document.querySelector("main").ariaBusy === "false")));
  }));
  do await page.locator("main[aria-busy=false]").waitFor();
  while (!(await isDrawn()));
}

/** Goes to a view, `#/fleet/ID?query`, and waits until it stands: what is found then is not of the view before. */
export async function visit(page, address) {
  const [view] = address.replace(/^#\//, "").split("?");
  await page.goto(`/${address}`);
  await page.locator(`main[data-view="${view}"]`).waitFor();
  await isLive(page);
  await isSettled(page);
}

/** Waits until the map is drawn, where there can be one. */
export async function hasMap(page) {
  await page.locator("[data-map=ready]").waitFor();
}

/**
 * A picture of the page: target/pages/NAME.png, or in the folder WAYPOST_TEST_PICTURES. Taken when the map is drawn, which is
 * when a few pictures are alike; of what always moves, it is the last of some.
 */
export async function picture(page, name) {
  mkdirSync(PICTURES, { recursive: true });
  let now = await page.screenshot();
  for (let [alike, more] = [0, 12]; alike < ALIKE && more > 0; more -= 1) {
    const before = now;
    now = await page.screenshot();
    alike = now.equals(before) ? alike + 1 : 0;
  }
  writeFileSync(join(PICTURES, `${name}.png`), now);
}
