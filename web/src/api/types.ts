// Names for parts of the schema that it has no name for.

import type { Event, FuelRecord, PageOfGeofenceOut, PageOfOwnDriver } from "./schema";

/** A fence as lists have it; its shape is left out where `geometry=none` was asked for. */
export type Fence = PageOfGeofenceOut["data"][number];

/** A driver of whom the organization has a profile. */
export type Driver = PageOfOwnDriver["data"][number];

/** What the feed calls an event: of a fence, or of a tank. */
export type Happened = Event | FuelRecord;
export const isOfFuel = (event: Happened): event is FuelRecord => "volumeLiters" in event;
/** When it happened. */
export const happenedAt = (event: Happened): string => (isOfFuel(event) ? event.startedAt : event.occurredAt);
