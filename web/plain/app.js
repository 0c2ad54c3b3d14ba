// The plain dispatcher's page: signs in, follows the live feed, shows it. No build, no other host.

import { FleetMap } from "./map.js";

const SUBSCRIPTION = "page";
const EVENTS_SHOWN = 200;
const EVENTS_AT_START = 50;
/** Two heartbeats and a little: a connection silent for longer is dead, whatever the browser thinks. */
const SILENCE_MS = 35_000;
const element = (id) => document.getElementById(id);

// ---------------------------------------------------------------- signing in

/** The session: kept for this tab alone, so that a reload does not sign out. */
const session = {
  get: () => JSON.parse(sessionStorage.getItem("waypost") ?? "null"),
  set: (signedIn) => sessionStorage.setItem("waypost", JSON.stringify(signedIn)),
  end: () => sessionStorage.removeItem("waypost"),
};

class Problem extends Error {
  constructor(status, body) {
    super(body?.detail ?? body?.title ?? `The server answered ${status}.`);
    this.status = status;
  }
}

async function ask(method, path, body, token) {
  const headers = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (token) headers.Authorization = `Bearer ${token}`;
  const answer = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  const text = await answer.text();
  const json = text ? JSON.parse(text) : null;
  if (!answer.ok) throw new Problem(answer.status, json);
  return json;
}

let refreshing = null;

/** Asks as the one signed in; a token that has run out is refreshed, once for all who wait. */
async function call(method, path, body) {
  try {
    return await ask(method, path, body, session.get()?.accessToken);
  } catch (problem) {
    const refreshToken = session.get()?.refreshToken;
    if (problem.status !== 401 || !refreshToken) throw problem;
    refreshing ??= ask("POST", "/v1/auth/refresh", { refreshToken }).then(session.set).finally(() => { refreshing = null; });
    await refreshing;
    return ask(method, path, body, session.get()?.accessToken);
  }
}

async function signInByLink() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!token) return;
  // It works once: it must not stay in the address or the history.
  history.replaceState(null, "", location.pathname);
  try {
    session.set(await ask("POST", `/v1/auth/sign-in-link/${encodeURIComponent(token)}`, {}));
  } catch (problem) {
    if (problem.status === 401) problem.message = "This link was used or is too old. Sign in, or restart the demo for a new link.";
    throw problem;
  }
}

function showSignIn(problem) {
  element("dashboard").hidden = true;
  element("sign-out").hidden = true;
  element("sign-in").hidden = false;
  element("sign-in-problem").textContent = problem ?? "";
  connection("idle", "signed out");
}

element("sign-in-form").addEventListener("submit", async (submit) => {
  submit.preventDefault();
  try {
    const [email, password] = [element("email").value, element("password").value];
    session.set(await ask("POST", "/v1/auth/login", { email, password }));
    element("password").value = "";
    await showDashboard();
  } catch (problem) {
    showSignIn(problem.message);
  }
});

// A new link opened in the same tab changes only the hash: without this, nothing would happen.
addEventListener("hashchange", () => {
  if (location.hash.startsWith("#token=")) location.reload();
});

element("sign-out").addEventListener("click", async () => {
  const refreshToken = session.get()?.refreshToken;
  await call("POST", "/v1/auth/logout", { refreshToken }).catch(() => {});
  session.end();
  location.reload();
});

// ---------------------------------------------------------------- what is known

const fleet = {
  organization: null, // {id, name}, where it is known
  names: new Map(), // vehicle id -> name
  fences: new Map(), // fence id -> {id, name, shape}
  vehicles: new Map(), // vehicle id -> position
  inside: new Map(), // fence id -> Set of vehicle ids
  events: new Map(), // event id -> its row, newest first
};
const map = new FleetMap(element("map"));
let dirty = false;

/** All pages of a list of master data. */
async function all(path) {
  const data = [];
  for (let page = 1; ; page += 1) {
    const answer = await call("GET", `${path}&limit=200&page=${page}`);
    data.push(...answer.data);
    if (page >= (answer.pagination.totalPages ?? 1)) return data;
  }
}

/** Platform operators have no organization of their own: they see their newest active one. */
async function findOrganization() {
  const own = (await call("GET", "/v1/auth/me")).organizationId;
  if (own) return call("GET", `/v1/organizations/${own}`);
  const organizations = await all("/v1/organizations?sort=-createdAt");
  return organizations.find((organization) => organization.status === "active") ?? null;
}

/** A path within the organization shown. */
function within(path) {
  const scope = fleet.organization ? `&organizationId=${fleet.organization.id}` : "";
  return `${path}${scope}`;
}

async function loadNames() {
  for (const vehicle of await all(within("/v1/vehicles?sort=name"))) fleet.names.set(vehicle.id, vehicle.name);
}

async function loadFences() {
  for (const fence of await all(within("/v1/geofences?geometry=full"))) fleet.fences.set(fence.id, fence);
  map.setFences([...fleet.fences.values()]);
}

/** What happened before the feed began. */
async function loadEvents() {
  const { data } = await call("GET", within(`/v1/geofence-events?limit=${EVENTS_AT_START}`));
  data.forEach(showEvent);
}

const vehicleName = (id) => fleet.names.get(id) ?? id.slice(-8);
const fenceName = (id) => fleet.fences.get(id)?.name ?? id.slice(-8);

// ---------------------------------------------------------------- the live feed

let cursor = null;
let attempts = 0;

function connection(state, text) {
  element("connection").dataset.state = state;
  element("connection").textContent = text;
}

/** One connection after the other, each going on where the last one ended. */
async function follow() {
  connection("waiting", cursor ? "reconnecting …" : "connecting …");
  let ticket;
  try {
    ({ ticket } = await call("POST", "/v1/auth/ws-ticket", {}));
  } catch (problem) {
    if (problem.status === 401 || problem.status === 403) {
      session.end();
      showSignIn("The session has ended. Sign in again, or open the demo's new link.");
      return;
    }
    again();
    return;
  }
  const socket = new WebSocket(new URL("/v1/ws/live", location.href.replace(/^http/, "ws")));
  socket.addEventListener("open", () => {
    socket.send(JSON.stringify({ type: "authenticate", ticket }));
    const filter = fleet.organization ? { organizationId: fleet.organization.id } : {};
    const subscribe = { type: "subscribe", id: SUBSCRIPTION, topics: ["positions", "occupancy", "events"], filter, minIntervalMs: 250 };
    if (cursor) subscribe.cursor = cursor;
    socket.send(JSON.stringify(subscribe));
  });
  let silence = setTimeout(lost, SILENCE_MS);
  socket.addEventListener("message", (message) => {
    clearTimeout(silence);
    silence = setTimeout(lost, SILENCE_MS);
    take(JSON.parse(message.data));
  });
  socket.addEventListener("close", lost, { once: true });

  function lost() {
    clearTimeout(silence);
    socket.removeEventListener("close", lost);
    socket.close();
    again();
  }
}

function again() {
  attempts += 1;
  const seconds = Math.min(15, 2 ** Math.min(attempts, 4) / 2) * (0.5 + Math.random());
  connection("lost", `connection lost, next attempt in ${seconds.toFixed(0)} s`);
  setTimeout(follow, seconds * 1000);
}

const handlers = {
  subscribed(message) {
    attempts = 0;
    connection("live", message.mode === "resumed" ? "live, resumed without a gap" : "live");
  },
  snapshot(message) {
    if (message.part === 0) {
      fleet.vehicles.clear();
      fleet.inside.clear();
    }
    message.vehicles.forEach(place);
    message.occupancy.forEach(enter);
  },
  delta(message) {
    message.vehicles.forEach(place);
    for (const id of message.removes ?? []) fleet.vehicles.delete(id);
    message.occupancy.leave.forEach(leave);
    message.occupancy.enter.forEach(enter);
  },
  event(message) {
    showEvent(message.event);
  },
  reset() {
    connection("live", "live, started anew");
  },
  heartbeat(message) {
    cursor = message.cursors?.[SUBSCRIPTION] ?? cursor;
  },
  error(message) {
    connection("lost", message.detail);
  },
};

function take(message) {
  handlers[message.type]?.(message);
  if (message.cursor) cursor = message.cursor;
  dirty = true;
}

function place(vehicle) {
  if (!vehicle.position) return;
  if (!fleet.names.has(vehicle.vehicleId)) {
    fleet.names.set(vehicle.vehicleId, vehicleName(vehicle.vehicleId));
    loadNames().catch(() => {});
  }
  fleet.vehicles.set(vehicle.vehicleId, vehicle.position);
  map.move(vehicle.vehicleId, vehicle.position);
}

function enter({ geofenceId, vehicleId }) {
  if (!fleet.inside.has(geofenceId)) fleet.inside.set(geofenceId, new Set());
  fleet.inside.get(geofenceId).add(vehicleId);
  if (!fleet.fences.has(geofenceId)) {
    fleet.fences.set(geofenceId, { id: geofenceId, name: geofenceId.slice(-8), shape: null });
    loadFences().catch(() => {});
  }
}

function leave({ geofenceId, vehicleId }) {
  fleet.inside.get(geofenceId)?.delete(vehicleId);
}

// ---------------------------------------------------------------- showing it

const clock = (instant) => new Date(instant).toLocaleTimeString();
const plural = (count, one) => `${count} ${one}${count === 1 ? "" : "s"}`;

function row(cells) {
  const line = document.createElement("tr");
  for (const [text, className] of cells) {
    const cell = document.createElement("td");
    cell.textContent = text;
    if (className) cell.className = className;
    line.append(cell);
  }
  return line;
}

/** Fixes come a little out of order, events too: each goes where its time belongs. */
function showEvent(event) {
  fleet.events.get(event.id)?.remove();
  const what = event.status === "retracted" ? `${event.type} taken back` : event.type;
  const line = row([[clock(event.occurredAt)], [event.vehicleName], [what, event.type], [event.geofenceName]]);
  line.dataset.occurredAt = event.occurredAt;
  const list = element("events");
  let next = list.firstElementChild;
  while (next && next.dataset.occurredAt > event.occurredAt) next = next.nextElementSibling;
  list.insertBefore(line, next);
  fleet.events.set(event.id, line);
  element("events-empty").hidden = true;
  if (list.childElementCount > EVENTS_SHOWN) forget(list.lastElementChild);
}

function forget(line) {
  line.remove();
  for (const [id, shown] of fleet.events) if (shown === line) fleet.events.delete(id);
}

function byName(a, b) {
  return a[0].localeCompare(b[0], undefined, { numeric: true });
}

function showVehicles() {
  const rows = [...fleet.vehicles].map(([id, at]) => [vehicleName(id), at]).sort(byName);
  element("vehicles").replaceChildren(...rows.map(([name, at]) => row([
    [name],
    [clock(at.recordedAt)],
    [at.speedKmh === undefined ? "" : at.speedKmh.toFixed(0), "number"],
    [`${at.latitude.toFixed(5)}, ${at.longitude.toFixed(5)}`],
  ])));
  element("vehicles-count").textContent = rows.length;
  element("vehicles-empty").hidden = rows.length > 0;
}

function showInside() {
  const rows = [...fleet.inside].filter(([, ids]) => ids.size > 0)
    .map(([id, ids]) => [fenceName(id), [...ids].map((vehicle) => [vehicleName(vehicle)]).sort(byName).join(", "), ids.size])
    .sort(byName);
  element("inside").replaceChildren(...rows.map(([fence, vehicles, count]) => {
    const line = row([[fence], [count, "number"], [vehicles, "names"]]);
    line.title = `${fence}: ${vehicles}`;
    return line;
  }));
  element("inside-count").textContent = `${rows.length} of ${plural(fleet.fences.size, "fence")}`;
  element("inside-empty").hidden = rows.length > 0;
}

function show() {
  if (dirty) {
    dirty = false;
    showVehicles();
    showInside();
    map.setOccupied(new Set([...fleet.inside].filter(([, ids]) => ids.size > 0).map(([id]) => id)));
  }
  setTimeout(show, 500);
}

async function showDashboard() {
  fleet.organization = await findOrganization();
  element("sign-in").hidden = true;
  element("sign-out").hidden = false;
  element("dashboard").hidden = false;
  element("organization").textContent = fleet.organization?.name ?? "";
  map.setNames(vehicleName);
  await Promise.all([loadNames(), loadFences(), loadEvents()]);
  show();
  await follow();
}

try {
  await signInByLink();
  if (session.get()) await showDashboard();
  else showSignIn();
} catch (problem) {
  if (problem.status === 401 || problem.status === 403) session.end();
  showSignIn(problem.message);
}
