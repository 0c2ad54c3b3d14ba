// What has just happened, newest first.

import { signal } from "@preact/signals";

import { type Happened, happenedAt } from "../api/types";

const MOST = 1000;
/** However many events come, people read no faster. */
const SHOW_EVERY_MS = 250;

/** An event and when it happened, milliseconds since 1970. */
interface Timed {
  readonly event: Happened;
  readonly at: number;
}

/** The newest events by when they happened; each once, in its newest revision. */
export class Events {
  readonly list = signal<readonly Happened[]>([]);
  #known = new Map<string, Timed>();
  #timer = 0;

  /** Takes in events, also ones that are known: shown together with what else comes in the same quarter of a second. */
  add(...events: readonly Happened[]): void {
    for (const event of events) {
      if ((this.#known.get(event.id)?.event.revision ?? 0) > event.revision) continue;
      this.#known.set(event.id, { event, at: Date.parse(happenedAt(event)) });
    }
    this.#timer ||= window.setTimeout(() => this.#show(), SHOW_EVERY_MS);
  }

  clear(): void {
    this.#known.clear();
    this.list.value = [];
  }

  #show(): void {
    this.#timer = 0;
    const newest = [...this.#known.values()].sort((a, b) => b.at - a.at || b.event.sequence - a.event.sequence).slice(0, MOST);
    this.#known = new Map(newest.map((timed) => [timed.event.id, timed]));
    this.list.value = newest.map(({ event }) => event);
  }
}
