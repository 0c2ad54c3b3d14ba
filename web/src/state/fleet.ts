// What is known of the organization shown: its master data by the interface, the rest live. The one place where the feed's
// words become state.

import { type Signal, computed, effect, signal, untracked } from "@preact/signals";

import { VEHICLES_LIMIT, all, api } from "../api/client";
import { reached } from "../api/reach";
import { isOperator, knowSelf, me } from "../api/session";
import type { ChangedResource, FuelEvent, Organization, ShownChange, TripEvent, User, VehicleOut } from "../api/schema";
import { type Fence, KEPT, isAlert, isKept, isTrip } from "../api/types";
import { LiveFeed } from "../live/feed";
import type { Said, Suspected } from "../live/protocol";
import { camera } from "./camera";
import { serverSays } from "./clock";
import { Events } from "./events";
import { Inside } from "./inside";
import { bring, needNothing } from "./needed";
import { notice } from "./notices";
import { once } from "./once";
import { VehicleTable } from "./vehicles";
import { leaveAddress, takeAddress } from "./whose";

const CHOSEN = "waypost.organization";
const EVENTS_AT_START = 200;
/** Changes of master data are shown together after so long. */
const GATHER_MS = 50;
/** Up to so many vehicles the page follows four times a second, beyond that once. */
const FEW_VEHICLES = 1000;

/** The organizations an operator may choose from; of others their own. */
export const organizations = signal<readonly Organization[]>([]);
/** The one shown. */
export const organization = signal<Organization | null>(null);
/** Whether the organization is found, so that the page knows what to show. */
export const isReady = signal(false);

/** Master data of vehicles by id. */
export const vehicles = signal<ReadonlyMap<string, VehicleOut>>(new Map());
/** Fences by id, with their shapes. */
export const fences = signal<ReadonlyMap<string, Fence>>(new Map());

export const positions = new VehicleTable();
export const inside = new Inside();
export const events = new Events();
/** Refuels and drains that are found and not certain yet, by vehicle. */
export const suspected = signal<ReadonlyMap<string, FuelEvent>>(new Map());
/** How often an alert was told, ended or taken back: who shows them asks for them then. */
export const alertsTold = signal(0);
/** The trip or stop told last. They are not kept: every vehicle makes them all day. */
export const newestTrip = signal<TripEvent | null>(null);
export const feed = new LiveFeed(hear);

const NO_EDITS: Readonly<Record<ChangedResource, number>> = {
  organization: 0, vehicle: 0, tracker: 0, geofence: 0, driver: 0, user: 0, systemUser: 0, apiKey: 0, assignment: 0, alert: 0,
};
/** How often things of a kind were changed, by anybody: what of them this page does not hold is read again. */
export const edits = signal(NO_EDITS);
/** How often the feed could not tell all that was changed meanwhile: whatever is held is read again. */
export const gaps = signal(0);

/** Ids of all vehicles, also of those that have not reported. */
export const fleetIds = computed(() => [...vehicles.value.keys()]);

/** Whether all vehicles and fences are here. A large fleet is many pages, and is shown before the last of them. */
export const isListed = signal(false);

/** A name that is not known yet; later the end of the id stands for one that no list has. */
const unnamed = (id: string): string => (isListed.value ? id.slice(-8) : "…");
/** The name of a vehicle. */
export const vehicleName = (id: string): string => vehicles.value.get(id)?.name ?? unnamed(id);
/** The name of a fence. */
export const fenceName = (id: string): string => fences.value.get(id)?.name ?? unnamed(id);

const organizationId = computed(() => organization.value?.id);
/** The organization that lists are asked for: operators must name it, others need not. */
export const scope = computed(() => ({ organizationId: organizationId.value }));

/** Asks for something of the organization shown; when another one is shown by the time of the answer, nothing is done with it. */
async function ofShown<T>(ask: () => Promise<T>, take: (found: T) => void): Promise<void> {
  const whose = organization.peek()?.id;
  const found = await ask();
  if (organization.peek()?.id === whose) take(found);
}

/** Who else takes in what the feed tells of master data. */
const followers = new Set<(taken: readonly ShownChange[]) => void>();

/** Tells what is changed of master data from now on, by anybody, until the returned function is called. */
export function followChanges(take: (taken: readonly ShownChange[]) => void): () => void {
  followers.add(take);
  return () => followers.delete(take);
}

/** Reads a list again. Where nothing of it is shown yet its first page is, at once; `begin` is told then how many there are. */
async function read<T extends { readonly id: string }>(
  held: Signal<ReadonlyMap<string, T>>, list: Parameters<typeof all<T>>[0], begin: (count: number) => void = () => {}, limit?: number,
): Promise<void> {
  const whose = organizationId.peek();
  const show = (found: readonly T[]) => { held.value = new Map(found.map((one) => [one.id, one])); };
  // what is told while the list is read may be newer
  const told: ShownChange[] = [];
  const end = followChanges((taken) => told.push(...taken));
  try {
    const found = await all(list, ({ data, pagination }) => {
      if (organizationId.peek() !== whose) return;
      if (held.peek().size === 0) show(data);
      begin(pagination.totalItems);
    }, limit);
    if (organizationId.peek() !== whose) return;
    show(found);
    putAll(told);
  } finally {
    end();
  }
}

const vehiclesOf = (page: { page: number; limit: number }) =>
  api.get("/v1/vehicles", { query: { ...page, ...scope.value, include: "none", sort: "name" } });
const readVehicles = (begin?: (count: number) => void) => read<VehicleOut>(vehicles, vehiclesOf, begin, VEHICLES_LIMIT);

/** Loads the master data of all vehicles again. */
const loadVehicles = once(() => readVehicles());

/** Loads the master data of one vehicle again: after it was changed. What goes wrong is told and not thrown: what was done is done. */
export const loadVehicle = (id: string) => ofShown(
  () => api.get("/v1/vehicles", { query: { ...scope.peek(), vehicleId: [id], include: "none" } }),
  ({ data: [data] }) => { vehicles.value = put(vehicles.peek(), [{ resourceId: id, data }]); },
).catch(notice);

/** Loads the fences again: after one was changed. */
export const loadFences = once(() =>
  read<Fence>(fences, (page) => api.get("/v1/geofences", { query: { ...page, ...scope.value, geometry: "full", sort: "name" } })));

const loadEvents = () => ofShown(
  () => api.get("/v1/events", { query: { ...scope.value, type: KEPT, limit: EVENTS_AT_START } }),
  ({ data }) => events.add(...data.filter(isKept)),
);

/** Shows another organization. */
export function choose(chosen: Organization): void {
  localStorage.setItem(CHOSEN, chosen.id);
  // its fleet is elsewhere
  camera.value = null;
  organization.value = chosen;
}

/** Finds what the one signed in may see: operators have no organization of their own and see an active one. */
export async function findOrganizations(): Promise<void> {
  const list = await all((page) => api.get("/v1/organizations", { query: { ...page, sort: "-createdAt" } }));
  const active = list.filter((one) => one.status === "active");
  organizations.value = active;
  const last = isOperator.value ? localStorage.getItem(CHOSEN) : null;
  organization.value = active.find((one) => one.id === last) ?? active[0] ?? null;
  isReady.value = true;
}

async function follow(shown: Organization): Promise<void> {
  // from before the lists, so that no change falls between them and the feed
  const { pagination } = await api.get("/v1/changes", { query: { organizationId: shown.id, after: "latest", limit: 1 } });
  if (organization.peek()?.id !== shown.id) return;
  // where everybody is need not wait for the names of all
  await loadLists(readVehicles((count) => feed.start(shown.id, count > FEW_VEHICLES ? 1000 : 250, pagination.endCursor ?? undefined)));
}

/** Loads all that the feed does not tell at its beginning. */
async function loadLists(reading = loadVehicles()): Promise<void> {
  const whose = organizationId.peek();
  await Promise.all([reading, loadFences(), loadEvents()]);
  if (organizationId.peek() !== whose) return;
  isListed.value = true;
  tell(positions.ids);
}

/** Asks for what could not be loaded, and for what may have changed meanwhile. */
async function catchUp(): Promise<void> {
  const shown = organization.peek();
  if (!me.peek()) return;
  if (!shown) await findOrganizations();
  else if (feed.connection.peek() === "off") await follow(shown);
  else await loadLists();
}

/** The server is found again, or did not do it before. */
export const tryAgain = (): Promise<void> => bring(catchUp, tryAgain);

/** Follows whoever is signed in, from now on. */
export function followSession(): void {
  // what happens then reads signals of its own, which must not start it again
  onChange(() => me.value?.id, (whose) => {
    feed.stop();
    needNothing();
    isReady.value = false;
    organization.value = null;
    if (!whose) {
      leaveAddress();
      return;
    }
    takeAddress(whose);
    void bring(findOrganizations, tryAgain);
  });
  onChange(() => reached.value, (times) => { if (times > 0) void tryAgain(); });
  onChange(() => organization.value?.id, (shown) => {
    feed.stop();
    forget();
    const found = shown ? organization.value : null;
    if (found) void bring(() => follow(found), tryAgain);
  });
}

function onChange<T>(read: () => T, act: (value: T) => void): void {
  const value = computed(read);
  effect(() => {
    const now = value.value;
    untracked(() => act(now));
  });
}

function forget(): void {
  needNothing();
  asked.clear();
  changed.length = 0;
  isListed.value = false;
  vehicles.value = new Map();
  fences.value = new Map();
  events.clear();
  suspected.value = new Map();
  positions.clear();
  positions.changed();
  inside.clear();
  inside.changed();
}

function hear(said: Said): void {
  switch (said.type) {
    case "snapshot":
      if (said.part === 0) {
        positions.clear();
        inside.clear();
        suspected.value = new Map();
      }
      suspect(said.suspected);
      positions.put(said.vehicles);
      said.occupancy.forEach((stay) => inside.enter(stay));
      if (said.last) tell(positions.ids);
      break;
    case "delta":
      positions.put(said.vehicles);
      suspect(said.suspected);
      said.removes?.forEach((id) => positions.remove(id));
      said.occupancy.leave.forEach((left) => inside.leave(left));
      said.occupancy.enter.forEach((stay) => inside.enter(stay));
      tell(said.vehicles.newIds);
      break;
    case "event":
      if (isTrip(said.event)) newestTrip.value = said.event;
      else if (isAlert(said.event)) alertsTold.value += 1;
      else events.add(said.event);
      break;
    case "change":
      if (changed.push(said.change) === 1) setTimeout(takeChanges, GATHER_MS);
      break;
    case "reset":
      // what happened in between is in the lists, but not in the feed
      if (said.reason === "cursorExpired") {
        gaps.value += 1;
        edited(Object.keys(NO_EDITS) as ChangedResource[]);
        void bring(loadLists, tryAgain);
      }
      break;
    case "heartbeat":
    case "pong":
      serverSays(said.serverTime);
      break;
    case "error":
      notice(new Error(said.detail));
      break;
    case "subscribed":
    case "status":
      // of the connection, which has taken it in
      break;
  }
}

/** Changes of master data that are not shown yet: an import makes thousands. */
const changed: ShownChange[] = [];

function takeChanges(): void {
  const taken = changed.splice(0);
  edited(taken.map(({ resource }) => resource));
  const self = taken.findLast(({ resource, resourceId }) => resource === "user" && resourceId === me.peek()?.id);
  if (self?.data) knowSelf(self.data as unknown as User);
  const shown = taken.findLast(({ resource, resourceId }) => resource === "organization" && resourceId === organization.peek()?.id);
  if (shown?.data) organization.value = shown.data as unknown as Organization;
  for (const take of followers) take(taken);
  putAll(taken);
}

function putAll(taken: readonly ShownChange[]): void {
  vehicles.value = put(vehicles.peek(), taken.filter(({ resource }) => resource === "vehicle"));
  fences.value = put(fences.peek(), taken.filter(({ resource }) => resource === "geofence"));
  rename(taken.filter(({ resource }) => resource === "driver"));
}

function edited(resources: readonly ChangedResource[]): void {
  const counts = { ...edits.peek() };
  for (const resource of resources) counts[resource] += 1;
  edits.value = counts;
}

/** Vehicles tell the names of their drivers; a driver with another name does not make another vehicle. */
function rename(taken: readonly ShownChange[]): void {
  if (taken.length === 0) return;
  const people = new Map(taken.flatMap(({ resourceId, data }) => (data ? [[resourceId, data as unknown as Named] as const] : [])));
  const named = [...vehicles.peek().values()].flatMap((vehicle) => {
    const { driver } = vehicle;
    const known = driver && people.get(driver.id);
    return known ? [{ ...vehicle, driver: { ...driver, firstName: known.firstName, lastName: known.lastName } }] : [];
  });
  if (named.length > 0) vehicles.value = new Map([...vehicles.peek(), ...named.map((vehicle) => [vehicle.id, vehicle] as const)]);
}

interface Named {
  readonly firstName: string;
  readonly lastName: string;
}

/** A thing as it is now; one of which nothing is told is gone. */
export interface Changed {
  readonly resourceId: string;
  readonly data?: unknown;
}

/** What is held, as changes tell it. */
export function put<T>(held: ReadonlyMap<string, T>, taken: readonly Changed[]): ReadonlyMap<string, T> {
  if (taken.length === 0) return held;
  const now = new Map(held);
  for (const { resourceId, data } of taken) {
    if (data) now.set(resourceId, data as T);
    else now.delete(resourceId);
  }
  return now;
}

function suspect(news: readonly Suspected[]): void {
  if (news.length === 0) return;
  const now = new Map(suspected.peek());
  for (const { vehicleId, event } of news) {
    if (event) now.set(vehicleId, event);
    else now.delete(vehicleId);
  }
  suspected.value = now;
}

/** Tells those who follow; vehicles that came may be new to us. */
function tell(came: Iterable<string>): void {
  positions.changed();
  inside.changed();
  if (!isListed.peek()) return;
  if (isNew(came, vehicles.peek())) loadVehicles().catch(notice);
  if (isNew(inside.fences(), fences.peek())) loadFences().catch(notice);
}

/** Ids that were asked for because the feed named them: one that no list has is not asked for again and again. */
const asked = new Set<string>();

function isNew(ids: Iterable<string>, known: ReadonlyMap<string, unknown>): boolean {
  let found = false;
  for (const id of ids) {
    if (known.has(id) || asked.has(id)) continue;
    asked.add(id);
    found = true;
  }
  return found;
}
