// A real server of its own for a test: free port, empty data directory, one superAdmin.

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../../..");
export const PASSWORD = "correct horse battery";
export const ADMIN = "root@example.org";
/** A letter that is not there by then will not come. */
const LETTER_MS = 60_000;

function binary() {
  const path = resolve(ROOT, process.env.WAYPOST_TEST_BINARY ?? "target/debug/waypost");
  if (!existsSync(path)) throw new Error(`there is no ${path}: cargo build, or name one in WAYPOST_TEST_BINARY`);
  return path;
}

/** WAYPOST_TEST_WEB_DIR=web/dist tests a build of the page that the binary does not have yet. */
function pageFlags() {
  const directory = process.env.WAYPOST_TEST_WEB_DIR;
  return directory ? ["--web-dir", resolve(ROOT, directory)] : [];
}

/** Variables named WAYPOST_… would be taken for settings, and the tests' own refused. */
const environment = () => ({ PATH: process.env.PATH, HOME: process.env.HOME, RUST_BACKTRACE: "1" });

/** A running server. */
export class Server {
  #child;
  #flags;
  #hasAdmin = true;
  log = "";

  /** Starts `waypost serve` with further flags: `await Server.start("--web-dir", "web/dist")`. */
  static async start(...flags) {
    const directory = await mkdtemp(join(tmpdir(), "waypost-pages-"));
    const server = new Server();
    server.directory = directory;
    server.dataDirectory = join(directory, "data");
    server.#flags = ["serve", "--data-dir", server.dataDirectory, "--rate-limit", "off", "--rate-limit-sign-in", "off", ...pageFlags(), ...flags];
    await server.#run("127.0.0.1:0");
    return server;
  }

  /** Starts `waypost serve` as a newcomer does, without an administrator; `setupPath` leads to where one is made. */
  static async fresh() {
    const server = new Server();
    server.#hasAdmin = false;
    server.directory = await mkdtemp(join(tmpdir(), "waypost-pages-"));
    server.dataDirectory = join(server.directory, "data");
    server.#flags = ["serve", "--data-dir", server.dataDirectory, ...pageFlags()];
    await server.#run("127.0.0.1:0");
    return server;
  }

  /** Starts `waypost demo`; `signInLink` is the address it prints. */
  static async demo() {
    const server = new Server();
    server.directory = await mkdtemp(join(tmpdir(), "waypost-pages-"));
    server.dataDirectory = join(server.directory, "demo");
    server.#flags = ["demo", "--data-dir", server.dataDirectory, ...pageFlags()];
    await server.#run("127.0.0.1:0");
    return server;
  }

  async #run(listen) {
    const admin = this.#hasAdmin ? { WAYPOST_ADMIN_EMAIL: ADMIN, WAYPOST_ADMIN_PASSWORD: PASSWORD } : {};
    const env = { ...environment(), ...admin };
    const child = spawn(binary(), [...this.#flags, "--listen", listen], { cwd: this.directory, env, stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    child.stderr.on("data", (text) => { this.log += text; });
    const ended = once(child, "exit").then(([code]) => { throw new Error(`the server ended with ${code}:\n${this.log}`); });
    const ready = new Promise((found) => {
      createInterface(child.stdout).on("line", (line) => {
        this.setupPath ??= /\/setup\/\S+/.exec(line)?.[0];
        const url = /(?:listens on|open) (http:\/\/[^\s/]+)(\/#token=\S+)?/.exec(line);
        if (url) this.url = url[1];
        if (url?.[2]) this.signInLink = url[1] + url[2];
        if (this.url && (this.#hasAdmin || this.setupPath)) found();
      });
    });
    await Promise.race([ready, ended]);
    ended.catch(() => {});
  }

  /** Ends the server; what it stored stays until `remove`. */
  async stop(signal = "SIGTERM") {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.kill(signal);
    await ended;
  }

  /** Starts it again on the same address and data. */
  async restart() {
    await this.stop();
    await this.#run(new URL(this.url).host);
  }

  /** Runs another command of the program on the server's data, and returns what it prints. Rejects where it fails, by what it says. */
  async command(...words) {
    const run = promisify(execFile);
    return (await run(binary(), [...words, "--data-dir", this.dataDirectory], { cwd: this.directory, env: environment() })).stdout;
  }

  /** Ends the server and deletes what it stored. */
  async remove() {
    await this.stop();
    await rm(this.directory, { recursive: true, force: true });
  }

  /**
   * The link in the letter to an address, once it is there: without an SMTP server letters are files.
   * `kind` is invite, verify, activate or reset.
   */
  async linkFor(recipient, kind) {
    const folder = join(this.dataDirectory, "mail");
    const last = performance.now() + LETTER_MS;
    for (;;) {
      for (const name of existsSync(folder) ? await readdir(folder) : []) {
        if (!name.endsWith(".eml")) continue;
        const letter = (await readFile(join(folder, name), "utf8")).replace(/=\r?\n/g, "").replace(/=3D/g, "=");
        const link = letter.match(/https?:\/\/\S+/g)?.find((address) => address.includes(`/${kind}/`));
        if (letter.includes(recipient) && link) return link;
      }
      if (performance.now() > last) throw new Error(`no letter of the kind ${kind} to ${recipient}:\n${this.log}`);
      await new Promise((again) => setTimeout(again, 50));
    }
  }
}
