// One connection to the live feed after the other, each going on where the last one ended. Knows what is said, not what
// it means: that is for whoever listens.

import { signal } from "@preact/signals";

import { api } from "../api/client";
import { isSignedOut } from "../api/problem";
import type { Said } from "./protocol";

/**
 * live: what is shown is what is. stale: connected, but nothing heard for longer than a heartbeat takes.
 * reconnecting: what is shown is from before. off: nobody follows.
 */
export type Connection = "off" | "connecting" | "live" | "stale" | "reconnecting";

const SUBSCRIPTION = "page";
/** A heartbeat comes every 15 s, unless the server is set otherwise. */
const STALE_AFTER_MS = 20_000;
/** Two heartbeats and a little: a connection silent for longer is dead, whatever the browser thinks. */
const DEAD_AFTER_MS = 35_000;
const LONGEST_PAUSE_MS = 15_000;

/** Follows the feed of one organization from `start` to `stop`. */
export class LiveFeed {
  readonly connection = signal<Connection>("off");
  readonly #hear: (said: Said) => void;
  #isOn = false;
  #organizationId: string | undefined;
  #intervalMs = 1000;
  #cursor: string | undefined;
  #attempts = 0;
  #socket: WebSocket | null = null;
  #pause = 0;
  #watch = 0;
  #heardAt = 0;

  constructor(hear: (said: Said) => void) {
    this.#hear = hear;
  }

  /** Begins anew: `intervalMs` lies between two deltas at least, 0 to 60,000. */
  start(organizationId: string, intervalMs: number): void {
    this.stop();
    this.#isOn = true;
    this.#organizationId = organizationId;
    this.#intervalMs = intervalMs;
    this.#cursor = undefined;
    this.#attempts = 0;
    addEventListener("online", this.#again);
    addEventListener("offline", this.#cut);
    void this.#connect();
  }

  /** Ends it; nothing is heard any more. */
  stop(): void {
    this.#isOn = false;
    removeEventListener("online", this.#again);
    removeEventListener("offline", this.#cut);
    this.#drop();
    this.connection.value = "off";
  }

  async #connect(): Promise<void> {
    this.connection.value = this.#attempts === 0 ? "connecting" : "reconnecting";
    const organizationId = this.#organizationId;
    let ticket: string;
    try {
      ({ ticket } = await api.post("/v1/auth/ws-ticket"));
    } catch (problem) {
      // nobody is signed in any more: the sign-in view takes over
      if (isSignedOut(problem)) this.stop();
      else if (this.#isOn && organizationId === this.#organizationId) this.#wait();
      return;
    }
    if (!this.#isOn || organizationId !== this.#organizationId || this.#socket) return;
    const socket = new WebSocket(new URL("/v1/ws/live", location.href.replace(/^http/, "ws")));
    this.#socket = socket;
    this.#heardAt = performance.now();
    this.#watch = window.setInterval(() => this.#look(), 1000);
    socket.onopen = () => {
      const filter = { organizationId };
      socket.send(JSON.stringify({ type: "authenticate", ticket }));
      socket.send(JSON.stringify({
        type: "subscribe", id: SUBSCRIPTION, topics: ["positions", "occupancy", "events"], filter,
        minIntervalMs: this.#intervalMs, ...(this.#cursor ? { cursor: this.#cursor } : {}),
      }));
    };
    socket.onmessage = (message: MessageEvent<string>) => this.#take(JSON.parse(message.data) as Said);
    socket.onclose = () => this.#lost();
  }

  #take(said: Said): void {
    this.#heardAt = performance.now();
    if (said.type === "subscribed") this.#attempts = 0;
    // a snapshot is only whole with its last part
    if ((said.type === "snapshot" && said.last) || this.connection.value === "stale") this.connection.value = "live";
    this.#hear(said);
    // after it was taken in: a cursor must not run ahead of what is shown
    if (said.type === "subscribed" || said.type === "event") this.#cursor = said.cursor;
    if (said.type === "heartbeat") this.#cursor = said.cursors[SUBSCRIPTION] ?? this.#cursor;
  }

  #look(): void {
    const silence = performance.now() - this.#heardAt;
    if (silence > DEAD_AFTER_MS) this.#lost();
    else if (silence > STALE_AFTER_MS && this.connection.value === "live") this.connection.value = "stale";
  }

  #lost(): void {
    this.#drop();
    this.#wait();
  }

  /** Longer after each attempt, and never all browsers at once: the server may just have started again. */
  #wait(): void {
    this.#attempts += 1;
    this.connection.value = "reconnecting";
    const longest = Math.min(LONGEST_PAUSE_MS, 500 * 2 ** Math.min(this.#attempts, 5));
    clearTimeout(this.#pause);
    this.#pause = window.setTimeout(() => void this.#connect(), longest * (0.5 + Math.random() / 2));
  }

  /** The browser has a network again. */
  readonly #again = (): void => {
    if (this.#socket) return;
    clearTimeout(this.#pause);
    void this.#connect();
  };

  /** The browser's network is gone, which its socket may not notice for minutes. */
  readonly #cut = (): void => this.#lost();

  #drop(): void {
    clearTimeout(this.#pause);
    clearInterval(this.#watch);
    const socket = this.#socket;
    this.#socket = null;
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  }
}
