// A private PostgreSQL of a test's own.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { chown, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const DEBIAN = "/usr/lib/postgresql";
const USER = "waypost";
const PASSWORD = "of-a-test";

/** The folder with `initdb` and `postgres`: the newest of Debian's, else one of the search path. */
function programs() {
  const packaged = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a)).map((version) => join(DEBIAN, version, "bin")) : [];
  return [...packaged, ...(process.env.PATH ?? "").split(":")].find((folder) => existsSync(join(folder, "initdb")));
}

/** PostgreSQL does not run as root. */
function user() {
  if (process.getuid() !== 0) return {};
  const accounts = readFileSync("/etc/passwd", "utf8").split("\n").map((line) => line.split(":"));
  const [, , uid, gid] = ["postgres", "nobody"].map((name) => accounts.find(([known]) => known === name)).find(Boolean);
  return { uid: Number(uid), gid: Number(gid) };
}

async function freePort() {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address();
  listener.close();
  await once(listener, "close");
  return port;
}

/** `url` is where it listens, as a `Wire` takes it. */
export class Postgres {
  #child;
  #directory;

  /** Starts one; null where it is not installed and WAYPOST_TEST_REQUIRE does not name it. */
  static async start() {
    const folder = programs();
    if (!folder) {
      if ((process.env.WAYPOST_TEST_REQUIRE ?? "").split(",").includes("postgresql")) throw new Error("postgresql is not installed");
      return null;
    }
    const [postgres, whose, port] = [new Postgres(), user(), await freePort()];
    postgres.#directory = await mkdtemp(join(tmpdir(), "waypost-pages-"));
    const [data, secret] = [join(postgres.#directory, "data"), join(postgres.#directory, "password")];
    await writeFile(secret, PASSWORD);
    if (whose.uid) await Promise.all([postgres.#directory, secret].map((path) => chown(path, whose.uid, whose.gid)));
    const options = { ...whose, cwd: postgres.#directory, env: { PATH: process.env.PATH, LC_ALL: "C" } };
    const cluster = [`--username=${USER}`, "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync"];
    execFileSync(join(folder, "initdb"), [...cluster, "--pgdata", data, "--pwfile", secret], { ...options, stdio: "pipe" });
    const listen = ["-D", data, "-h", "127.0.0.1", "-p", String(port), "-k", ""];
    postgres.#child = spawn(join(folder, "postgres"), listen, { ...options, stdio: ["ignore", "ignore", "pipe"] });
    let log = "";
    await new Promise((ready, failed) => {
      postgres.#child.stderr.on("data", (text) => {
        log += text;
        if (log.includes("ready to accept connections")) ready();
      });
      postgres.#child.once("exit", () => failed(new Error(`PostgreSQL ended:\n${log}`)));
    });
    postgres.url = `http://127.0.0.1:${port}`;
    return postgres;
  }

  /** What a server is told of it, by way of a wire. */
  static settingBy(wire) {
    return ["--database-url", `postgres://${USER}:${PASSWORD}@${new URL(wire.url).host}/postgres`];
  }

  /** Ends it and deletes what it stored. */
  async remove() {
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGINT");
    await ended;
    await rm(this.#directory, { recursive: true, force: true });
  }
}
