// Which views there are, in the order of the navigation; the first is shown at `/`.

import type { FunctionComponent } from "preact";

import { strings } from "../strings";
import { may } from "../api/permissions";
import { lazy } from "../parts/lazy";
import { LiveView } from "./LiveView";
import { OwnView } from "./OwnView";
import { ReplayView } from "./replay/ReplayView";
import { DriversView } from "./drivers/DriversView";
import { FencesView } from "./fences/FencesView";
import { OrganizationView } from "./organization/OrganizationView";
import { ProgramsView } from "./programs/ProgramsView";
import { TrackersView } from "./trackers/TrackersView";
import { UsersView } from "./users/UsersView";
import { VehiclesView } from "./vehicles-admin/VehiclesView";
import { WebhooksView } from "./webhooks/WebhooksView";

const SharesView = lazy(async () => (await import("./shares/SharesView")).SharesView);

export interface View {
  /** The first part of its address: `#/live`. */
  readonly path: string;
  readonly title: string;
  /** Whether the one signed in gets to see it. */
  readonly isOffered: () => boolean;
  /** Where the navigation has it: among what is looked at every day, in the menu, or nowhere, as it is linked elsewhere. */
  readonly place: "daily" | "menu" | "none";
  /** Takes the parts of the address after `path`. */
  readonly component: FunctionComponent<{ parts: readonly string[] }>;
}

const FuelEventView = lazy<{ parts: readonly string[] }>(async () => (await import("./fuel-event/FuelEventView")).FuelEventView);

export const VIEWS: readonly View[] = [
  { path: "live", title: strings.live.title, isOffered: () => true, place: "daily", component: LiveView },
  { path: "replay", title: strings.replay.title, isOffered: () => true, place: "daily", component: ReplayView },
  { path: "fences", title: strings.manage.fences.title, isOffered: () => true, place: "daily", component: FencesView },
  { path: "fleet", title: strings.manage.vehicles.title, isOffered: () => true, place: "menu", component: VehiclesView },
  { path: "drivers", title: strings.manage.drivers.title, isOffered: () => true, place: "menu", component: DriversView },
  { path: "trackers", title: strings.manage.trackers.title, isOffered: () => true, place: "menu", component: TrackersView },
  { path: "shares", title: strings.manage.shares.title, isOffered: () => may("share"), place: "menu", component: SharesView },
  { path: "users", title: strings.manage.users.title, isOffered: () => may("listUsers"), place: "menu", component: UsersView },
  { path: "programs", title: strings.manage.programs.title, isOffered: () => may("manageSystemUsers"), place: "menu", component: ProgramsView },
  { path: "webhooks", title: strings.manage.webhooks.title, isOffered: () => may("manageWebhooks"), place: "menu", component: WebhooksView },
  { path: "organization", title: strings.manage.organization.title, isOffered: () => true, place: "menu", component: OrganizationView },
  { path: "fuel-event", title: strings.events.evidence, isOffered: () => true, place: "none", component: FuelEventView },
  { path: "me", title: strings.manage.users.own, isOffered: () => true, place: "none", component: OwnView },
];
