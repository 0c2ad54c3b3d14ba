// The plain dispatcher's page: signs in, follows the live feed, shows it. No build, no other host.

import { FleetMap } from "./map.js";

const SUBSCRIPTION = "page";
const EVENTS_SHOWN = 200;
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
  session.set(await ask("POST", `/v1/auth/sign-in-link/${encodeURIComponent(token)}`, {}));
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

element("sign-out").addEventListener("click", async () => {
  const refreshToken = session.get()?.refreshToken;
  await call("POST", "/v1/auth/logout", { refreshToken }).catch(() => {});
  session.end();
  location.reload();
});

// ---------------------------------------------------------------- what is known

const fleet = {
  organizationId: null,
  names: new Map(), // vehicle id -> name
  fences: new Map(), // fence id -> {id, name, shape}
  vehicles: new Map(), // vehicle id -> position
  inside: new Map(), // fence id -> Set of vehicle ids
  events: 0,
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
  const own = session.get()?.organizationId ?? (await call("GET", "/v1/auth/me")).organizationId;
  if (own) return own;
  const organizations = await all("/v1/organizations?sort=-createdAt");
  return organizations.find((organization) => organization.status === "active")?.id ?? null;
}

async function loadNames() {
  const scope = fleet.organizationId ? `organizationId=${fleet.organizationId}` : "";
  for (const vehicle of await all(`/v1/vehicles?${scope}`)) fleet.names.set(vehicle.id, vehicle.name);
}

async function loadFences() {
  const scope = fleet.organizationId ? `&organizationId=${fleet.organizationId}` : "";
  for (const fence of await all(`/v1/geofences?geometry=full${scope}`)) fleet.fences.set(fence.id, fence);
  map.setFences([...fleet.fences.values()]);
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
      showSignIn(problem.message);
      return;
    }
    again();
    return;
  }
  const socket = new WebSocket(new URL("/v1/ws/live", location.href.replace(/^http/, "ws")));
  socket.addEventListener("open", () => {
    socket.send(JSON.stringify({ type: "authenticate", ticket }));
    const filter = fleet.organizationId ? { organizationId: fleet.organizationId } : {};
    const subscribe = { type: "subscribe", id: SUBSCRIPTION, topics: ["positions", "occupancy", "events"], filter, minIntervalMs: 250 };
    if (cursor) subscribe.cursor = cursor;
    socket.send(JSON.stringify(subscribe));
  });
  socket.addEventListener("message", (message) => take(JSON.parse(message.data)));
  socket.addEventListener("close", again);
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
    fleet.events += 1;
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
    fleet.names.set(vehicle.vehicleId, vehicle.vehicleId.slice(-8));
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

function showEvent(event) {
  const what = event.status === "retracted" ? `${event.type} taken back` : event.type;
  const line = row([[clock(event.occurredAt)], [event.vehicleName], [what, event.type], [event.geofenceName]]);
  const list = element("events");
  list.prepend(line);
  while (list.childElementCount > EVENTS_SHOWN) list.lastElementChild.remove();
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
}

function showInside() {
  const rows = [...fleet.inside].filter(([, ids]) => ids.size > 0)
    .map(([id, ids]) => [fenceName(id), [...ids].map((vehicle) => [vehicleName(vehicle)]).sort(byName).join(", ")])
    .sort(byName);
  element("inside").replaceChildren(...rows.map(([fence, vehicles]) => row([[fence], [vehicles]])));
  element("inside-count").textContent = `${rows.length} of ${fleet.fences.size} fences`;
}

function show() {
  if (dirty) {
    dirty = false;
    showVehicles();
    showInside();
    element("events-count").textContent = fleet.events;
    map.setOccupied(new Set([...fleet.inside].filter(([, ids]) => ids.size > 0).map(([id]) => id)));
  }
  setTimeout(show, 500);
}

async function showDashboard() {
  fleet.organizationId = await findOrganization();
  element("sign-in").hidden = true;
  element("sign-out").hidden = false;
  element("dashboard").hidden = false;
  element("organization").textContent = session.get()?.organizationName ?? "";
  map.setNames(vehicleName);
  await Promise.all([loadNames(), loadFences()]);
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
