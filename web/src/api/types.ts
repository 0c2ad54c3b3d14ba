// Names for parts of the schema that it has no name for.

import type { ConnectionEvent, Event, FuelRecord, OverspeedEvent, PageOfGeofenceOut, PageOfOwnDriver, TripEvent } from "./schema";

/** A fence as lists have it; its shape is left out where `geometry=none` was asked for. */
export type Fence = PageOfGeofenceOut["data"][number];

/** A driver of whom the organization has a profile. */
export type Driver = PageOfOwnDriver["data"][number];

/** What the feed calls an event: of a fence, of a tank, of a limit of speed, of who is heard of, or of a trip or stop. */
export type Happened = Event | FuelRecord | OverspeedEvent | ConnectionEvent | TripEvent;
export const isOfFuel = (event: Happened): event is FuelRecord => "volumeLiters" in event;
export const isOverspeed = (event: Happened): event is OverspeedEvent => event.type === "overspeed";
export const isConnection = (event: Happened): event is ConnectionEvent => "heardAt" in event;
export const isTrip = (event: Happened): event is TripEvent => event.type === "trip" || event.type === "stop";
/** When it happened. */
export const happenedAt = (event: Happened): string => ("occurredAt" in event ? event.occurredAt : event.startedAt);
