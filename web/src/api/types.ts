// Names for parts of the schema that it has no name for.

import type { PageOfGeofenceOut, PageOfKeptDriver } from "./schema";

/** A fence as lists have it; its shape is left out where `geometry=none` was asked for. */
export type Fence = PageOfGeofenceOut["data"][number];

/** A driver whom the organization keeps. */
export type Driver = PageOfKeptDriver["data"][number];
