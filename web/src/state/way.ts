// The trip or stop whose way the map shows in place of where the vehicle is.

import { signal } from "@preact/signals";

export interface Way {
  readonly vehicleId: string;
  /** The trip's or stop's id. */
  readonly id: string;
  readonly kind: "trip" | "stop";
  /** Milliseconds since 1970; null for the end of what goes on. */
  readonly from: number;
  readonly to: number | null;
}

export const way = signal<Way | null>(null);

/** Shows another way, or none; the same one again changes nothing. */
export function showWay(next: Way | null): void {
  if (JSON.stringify(next) !== JSON.stringify(way.peek())) way.value = next;
}
