// Names for parts of the schema that it has no name for.

import type { AlertEvent, ConnectionEvent, Event, FuelRecord, OverspeedEvent, PageOfGeofenceOut, PageOfOwnDriver, RecordKind, TripEvent } from "./schema";

/** A fence as lists have it; its shape is left out where `geometry=none` was asked for. */
export type Fence = PageOfGeofenceOut["data"][number];

/** A driver of whom the organization has a profile. */
export type Driver = PageOfOwnDriver["data"][number];

/** What the page keeps of events: of a fence, of a tank, of a limit of speed, or of who is heard of. */
export type Happened = Event | FuelRecord | OverspeedEvent | ConnectionEvent;
/** What the feed calls an event: also trips, stops and alerts, of which the page keeps none. */
export type Told = Happened | TripEvent | AlertEvent;
export const isOfFuel = (event: Happened): event is FuelRecord => "volumeLiters" in event;
export const isOverspeed = (event: Told): event is OverspeedEvent => event.type === "overspeed";
export const isConnection = (event: Told): event is ConnectionEvent => "heardAt" in event;
export const isAlert = (event: Told): event is AlertEvent => event.type === "alert";
export const isTrip = (event: Told): event is TripEvent => event.type === "trip" || event.type === "stop";
/** When it happened. */
export const happenedAt = (event: Happened): string => ("occurredAt" in event ? event.occurredAt : event.startedAt);
/** The types of it, in the words of the list. */
export const KEPT: readonly RecordKind[] = ["entry", "exit", "dwell", "refuel", "drain", "overspeed", "online", "stale", "offline"];
export const isKept = (event: Told): event is Happened => !isTrip(event) && !isAlert(event);
