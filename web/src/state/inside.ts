// Who is inside which fence, and since when.

import { signal } from "@preact/signals";

import type { FeedLeft, FeedStay } from "../live/protocol";

/** A vehicle's stay that has not ended. */
export interface Stay {
  readonly vehicleId: string;
  readonly visitId: string;
  /** Milliseconds since 1970. */
  readonly enteredAt: number;
}

/** Stays by fence, then by vehicle. After changes `revision` is one more. */
export class Inside {
  readonly revision = signal(0);
  readonly #byFence = new Map<string, Map<string, Stay>>();
  #isChanged = false;

  enter({ geofenceId, vehicleId, visitId, enteredAt }: FeedStay): void {
    this.#isChanged = true;
    const stays = this.#byFence.get(geofenceId) ?? new Map<string, Stay>();
    this.#byFence.set(geofenceId, stays.set(vehicleId, { vehicleId, visitId, enteredAt: Date.parse(enteredAt) }));
  }

  leave({ geofenceId, vehicleId }: FeedLeft): void {
    this.#isChanged = true;
    const stays = this.#byFence.get(geofenceId);
    stays?.delete(vehicleId);
    if (stays?.size === 0) this.#byFence.delete(geofenceId);
  }

  clear(): void {
    this.#isChanged = true;
    this.#byFence.clear();
  }

  /** Tells those who follow, if there is anything to tell. */
  changed(): void {
    if (!this.#isChanged) return;
    this.#isChanged = false;
    this.revision.value = this.revision.peek() + 1;
  }

  /** The fences somebody is in. */
  fences(): IterableIterator<string> {
    return this.#byFence.keys();
  }

  /** The fences a vehicle is in, each with since when. */
  of(vehicleId: string): { readonly geofenceId: string; readonly enteredAt: number }[] {
    return [...this.#byFence].flatMap(([geofenceId, stays]) => {
      const stay = stays.get(vehicleId);
      return stay ? [{ geofenceId, enteredAt: stay.enteredAt }] : [];
    });
  }

  /** Who is in a fence. */
  stays(geofenceId: string): Stay[] {
    return [...(this.#byFence.get(geofenceId)?.values() ?? [])];
  }
}
