// The words of `/v1/ws/live`, as src/feed/protocol.rs has them, and what our worker makes of them.

import type { Connection, FuelEvent, Motion, ShownChange, Timestamp } from "../api/schema";
import type { Told } from "../api/types";

export interface FeedFix {
  readonly recordedAt: Timestamp;
  readonly receivedAt: Timestamp;
  readonly latitude: number;
  readonly longitude: number;
  readonly speedKmh?: number;
  readonly headingDegrees?: number;
}

export interface FeedVehicle {
  readonly vehicleId: string;
  readonly position: FeedFix | null;
  readonly motion: Motion;
  /** Whether it is heard of, by the server's clock; told whenever that changes. */
  readonly state: Connection;
  /** Of vehicles that report fuel. */
  readonly fuel?: { readonly provisional?: FuelEvent };
}

/** A refuel or drain of a vehicle that is found and not certain yet; null when there is none any more. */
export interface Suspected {
  readonly vehicleId: string;
  readonly event: FuelEvent | null;
}

export interface FeedStay {
  readonly geofenceId: string;
  readonly vehicleId: string;
  readonly visitId: string;
  readonly enteredAt: Timestamp;
}

export interface FeedLeft {
  readonly geofenceId: string;
  readonly vehicleId: string;
}

/** In the order of the numbers in `Columns.motions`. */
export const MOTIONS: readonly Motion[] = ["unknown", "stopped", "moving"];

/** In the order of the numbers in `Columns.connections`. */
export const CONNECTIONS: readonly Connection[] = ["online", "stale", "offline"];

/** Vehicles with their newest fixes as columns of one length; unknown numbers are NaN. */
export interface Columns {
  readonly longitudes: Float64Array<ArrayBuffer>;
  readonly latitudes: Float64Array<ArrayBuffer>;
  readonly speedsKmh: Float32Array<ArrayBuffer>;
  readonly headingsDegrees: Float32Array<ArrayBuffer>;
  /** Milliseconds since 1970. */
  readonly recordedAt: Float64Array<ArrayBuffer>;
  readonly receivedAt: Float64Array<ArrayBuffer>;
  /** Places in MOTIONS. */
  readonly motions: Uint8Array<ArrayBuffer>;
  /** Places in CONNECTIONS. */
  readonly connections: Uint8Array<ArrayBuffer>;
}

/** Columns whose vehicles have numbers instead of ids: sent from the worker as they are, without a copy. */
export interface Numbered extends Columns {
  readonly numbers: Uint32Array<ArrayBuffer>;
  /** Ids of numbers that were not used before, which go on from the highest. */
  readonly newIds: readonly string[];
}

/** Columns by id. */
export interface Fixes extends Columns {
  readonly ids: readonly string[];
  /** Those of them that this connection or an earlier one never named. */
  readonly newIds: readonly string[];
}

/** What the server says; `V` is what lists of vehicles have become. */
export type Said<V = Fixes> =
  | { readonly type: "subscribed"; readonly id: string; readonly mode: "resumed" | "snapshot"; readonly cursor: string }
  | { readonly type: "snapshot"; readonly id: string; readonly part: number; readonly last: boolean; readonly vehicles: V; readonly suspected: readonly Suspected[]; readonly occupancy: readonly FeedStay[] }
  | {
      readonly type: "delta";
      readonly id: string;
      readonly vehicles: V;
      readonly suspected: readonly Suspected[];
      readonly removes?: readonly string[];
      readonly occupancy: { readonly enter: readonly FeedStay[]; readonly leave: readonly FeedLeft[] };
    }
  | { readonly type: "event"; readonly id: string; readonly cursor: string; readonly event: Told }
  | { readonly type: "change"; readonly id: string; readonly cursor: string; readonly change: ShownChange }
  | { readonly type: "reset"; readonly id: string; readonly reason: "slowReader" | "cursorExpired" }
  | { readonly type: "heartbeat"; readonly serverTime: Timestamp; readonly cursors: Readonly<Record<string, string>>; readonly storing: boolean }
  | { readonly type: "status"; readonly storing: boolean }
  | { readonly type: "pong"; readonly serverTime: Timestamp }
  | { readonly type: "error"; readonly id?: string; readonly code: string; readonly detail: string };

/** What the page tells its worker. */
export type Order =
  | { readonly do: "open"; readonly connection: number; readonly url: string; readonly firstWords: readonly string[] }
  | { readonly do: "close" };

/** What the worker tells the page, of which of its connections. */
export type Report = { readonly connection: number } & (
  | { readonly is: "said"; readonly said: Said<Numbered> }
  /** Nothing was heard for longer than an answer takes; `heard` ends it. */
  | { readonly is: "silent" }
  | { readonly is: "heard" }
  | { readonly is: "closed" }
);
