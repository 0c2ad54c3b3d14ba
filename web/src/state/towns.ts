// The names of the world's towns, once they are loaded: 160 kB that nothing waits for.

import { signal } from "@preact/signals";

type Towns = typeof import("../map/towns");

/** Null until they are here. */
export const towns = signal<Towns | null>(null);

/** Loads them, if they are not here; without the server there are none, and the next one who asks tries again. */
export async function loadTowns(): Promise<Towns | null> {
  towns.value ??= await import("../map/towns").catch(() => null);
  return towns.value;
}
