// One connection to the live feed after the other, each going on where the last one ended. Knows what is said, not what
// it means: that is for whoever listens.

import { signal } from "@preact/signals";

import { api } from "../api/client";
import { isSignedOut } from "../api/problem";
import type { Fixes, Numbered, Order, Report, Said } from "./protocol";

/**
 * live: what is shown is what is. stale: connected, but the server does not answer.
 * reconnecting: what is shown is from before. off: nobody follows.
 */
export type Connection = "off" | "connecting" | "live" | "stale" | "reconnecting";

const SUBSCRIPTION = "page";
const LONGEST_PAUSE_MS = 15_000;

/** Follows the feed of one organization from `start` to `stop`. */
export class LiveFeed {
  readonly connection = signal<Connection>("off");
  /** Since when what is shown is not what is, by this browser's clock; 0 while it is. */
  readonly oldSince = signal(0);
  /** Whether the server stores what trackers report. If not, positions go on, and all else is as of the last commit. */
  readonly storing = signal(true);
  readonly #hear: (said: Said) => void;
  #worker: Worker | null = null;
  /** Vehicles by the worker's number. */
  readonly #ids: string[] = [];
  #organizationId: string | undefined;
  #intervalMs = 1000;
  #cursor: string | undefined;
  #attempts = 0;
  /** Counts connections; what the worker tells of earlier ones is passed over. */
  #number = 0;
  #isOpen = false;
  #pause = 0;
  /** Counts attempts to connect; only the newest may go on. */
  #attempt = 0;

  constructor(hear: (said: Said) => void) {
    this.#hear = hear;
  }

  /** Begins anew: `intervalMs` lies between two deltas at least, 0 to 60,000; of the log, what follows the cursor is told. */
  start(organizationId: string, intervalMs: number, cursor: string | undefined): void {
    this.stop();
    this.#organizationId = organizationId;
    this.#intervalMs = intervalMs;
    this.#cursor = cursor;
    this.#attempts = 0;
    addEventListener("online", this.#again);
    addEventListener("offline", this.#cut);
    void this.#connect();
  }

  /** Ends it; nothing is heard any more. */
  stop(): void {
    removeEventListener("online", this.#again);
    removeEventListener("offline", this.#cut);
    this.#drop();
    this.#be("off");
  }

  #be(connection: Connection): void {
    this.connection.value = connection;
    const isOld = connection === "stale" || connection === "reconnecting";
    this.oldSince.value = isOld ? this.oldSince.peek() || Date.now() : 0;
  }

  async #connect(): Promise<void> {
    this.#be(this.#attempts === 0 ? "connecting" : "reconnecting");
    this.#attempt += 1;
    const attempt = this.#attempt;
    let ticket: string;
    try {
      ({ ticket } = await api.post("/v1/auth/ws-ticket", { query: { organizationId: this.#organizationId } }));
    } catch (problem) {
      if (attempt !== this.#attempt) return;
      // nobody is signed in any more: the sign-in view takes over
      if (isSignedOut(problem)) this.stop();
      else this.#wait();
      return;
    }
    if (attempt !== this.#attempt) return;
    this.#isOpen = true;
    this.#number += 1;
    const filter = { organizationId: this.#organizationId };
    const subscription = {
      type: "subscribe", id: SUBSCRIPTION, topics: ["positions", "occupancy", "events", "fuel", "changes"], filter,
      minIntervalMs: this.#intervalMs, ...(this.#cursor ? { cursor: this.#cursor } : {}),
    };
    this.#order({
      do: "open", connection: this.#number, url: new URL("/v1/ws/live", location.href.replace(/^http/, "ws")).href,
      firstWords: [{ type: "authenticate", ticket }, subscription].map((words) => JSON.stringify(words)),
    });
  }

  #order(order: Order): void {
    if (!this.#worker) {
      this.#worker = new Worker(new URL("./socket.worker.ts", import.meta.url), { type: "module" });
      this.#worker.onmessage = ({ data }: MessageEvent<Report>) => this.#told(data);
    }
    this.#worker.postMessage(order);
  }

  #told(report: Report): void {
    // ids are numbered once, whichever connection brought them
    const said = report.is === "said" ? this.#named(report.said) : null;
    if (!this.#isOpen || report.connection !== this.#number) return;
    if (said) this.#take(said);
    else if (report.is === "closed") this.#lost();
    else if (report.is === "silent" && this.connection.peek() === "live") this.#be("stale");
    else if (report.is === "heard" && this.connection.peek() === "stale") this.#be("live");
  }

  #named(said: Said<Numbered>): Said {
    if (said.type !== "snapshot" && said.type !== "delta") return said;
    const { numbers, ...columns } = said.vehicles;
    this.#ids.push(...columns.newIds);
    const vehicles: Fixes = { ...columns, ids: Array.from(numbers, (number) => this.#ids[number] ?? "") };
    return { ...said, vehicles };
  }

  #take(said: Said): void {
    if (said.type === "subscribed") {
      this.#attempts = 0;
      // otherwise it is told next
      this.storing.value = true;
    }
    if (said.type === "status" || said.type === "heartbeat") this.storing.value = said.storing;
    // a snapshot is only whole with its last part
    if (said.type === "snapshot" && said.last) this.#be("live");
    this.#hear(said);
    // after it was taken in: a cursor must not run ahead of what is shown
    if (said.type === "subscribed" || said.type === "event" || said.type === "change") this.#cursor = said.cursor;
    if (said.type === "heartbeat") this.#cursor = said.cursors[SUBSCRIPTION] ?? this.#cursor;
  }

  #lost(): void {
    this.#drop();
    this.#wait();
  }

  /** Longer after each attempt, and never all browsers at once: the server may just have started again. */
  #wait(): void {
    this.#attempts += 1;
    this.#be("reconnecting");
    const longest = Math.min(LONGEST_PAUSE_MS, 500 * 2 ** Math.min(this.#attempts, 5));
    clearTimeout(this.#pause);
    this.#pause = window.setTimeout(() => void this.#connect(), longest * (0.5 + Math.random() / 2));
  }

  /** The browser has a network again. */
  readonly #again = (): void => {
    if (this.#isOpen) return;
    clearTimeout(this.#pause);
    void this.#connect();
  };

  /** The browser's network is gone, which its socket may not notice for minutes. */
  readonly #cut = (): void => this.#lost();

  /** Ends the connection, and what was on its way to become one. */
  #drop(): void {
    clearTimeout(this.#pause);
    this.#attempt += 1;
    if (this.#isOpen) this.#order({ do: "close" });
    this.#isOpen = false;
  }
}
