// What has just happened, newest first.

import { signal } from "@preact/signals";

import type { Event } from "../api/schema";

const MOST = 1000;

/** The newest events by when they happened; each once, in its newest revision. */
export class Events {
  readonly list = signal<readonly Event[]>([]);
  #waiting: Event[] = [];
  #frame = 0;

  /** Takes in events, also ones that are known: shown together with what else comes before the next picture. */
  add(...events: readonly Event[]): void {
    this.#waiting.push(...events);
    this.#frame ||= requestAnimationFrame(() => this.#merge());
  }

  clear(): void {
    this.#waiting = [];
    this.list.value = [];
  }

  #merge(): void {
    this.#frame = 0;
    const newest = new Map<string, Event>();
    for (const event of [...this.list.value, ...this.#waiting]) {
      if ((newest.get(event.id)?.revision ?? 0) <= event.revision) newest.set(event.id, event);
    }
    this.#waiting = [];
    this.list.value = [...newest.values()].sort(newestFirst).slice(0, MOST);
  }
}

function newestFirst(a: Event, b: Event): number {
  return Date.parse(b.occurredAt) - Date.parse(a.occurredAt) || b.sequence - a.sequence;
}
