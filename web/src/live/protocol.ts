// The words of `/v1/ws/live`, as src/feed/protocol.rs has them.

import type { Event, Motion, Timestamp } from "../api/schema";

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
  readonly organizationId: string;
  readonly position: FeedFix | null;
  readonly motion: Motion;
  readonly geofenceIds: readonly string[];
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

/** What the server says. */
export type Said =
  | { readonly type: "subscribed"; readonly id: string; readonly mode: "resumed" | "snapshot"; readonly cursor: string }
  | { readonly type: "snapshot"; readonly id: string; readonly part: number; readonly last: boolean; readonly vehicles: readonly FeedVehicle[]; readonly occupancy: readonly FeedStay[] }
  | {
      readonly type: "delta";
      readonly id: string;
      readonly vehicles: readonly FeedVehicle[];
      readonly removes?: readonly string[];
      readonly occupancy: { readonly enter: readonly FeedStay[]; readonly leave: readonly FeedLeft[] };
    }
  | { readonly type: "event"; readonly id: string; readonly cursor: string; readonly event: Event }
  | { readonly type: "reset"; readonly id: string; readonly reason: "slowReader" | "cursorExpired" }
  | { readonly type: "heartbeat"; readonly serverTime: Timestamp; readonly cursors: Readonly<Record<string, string>> }
  | { readonly type: "error"; readonly id?: string; readonly code: string; readonly detail: string };
