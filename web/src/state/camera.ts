// Where somebody last looked on a map: the next map begins there.

import { signal } from "@preact/signals";

import type { Place } from "../api/schema";

export interface Camera extends Place {
  readonly zoom: number;
}

/** Where the last map was; null before the first one was seen. */
export const camera = signal<Camera | null>(null);
