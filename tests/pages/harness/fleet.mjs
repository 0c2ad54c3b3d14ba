// What a test puts into a server, all of it through the interface: organizations, people, vehicles, fences, fixes.

import { randomUUID } from "node:crypto";

import { ADMIN, PASSWORD } from "./server.mjs";

const MOST_TIMES = 100;
const AGAIN_AFTER_MS = 200;

/** Sends until it is taken: a server that is too busy for a moment refuses (503), or has just closed the connection it was sent on. */
async function sent(address, request) {
  for (let times = 1; ; times += 1) {
    const answer = await fetch(address, request).catch((failure) => {
      if (times === MOST_TIMES) throw failure;
    });
    if (answer && (answer.status !== 503 || times === MOST_TIMES)) return answer;
    await answer?.body?.cancel();
    await new Promise((again) => setTimeout(again, AGAIN_AFTER_MS));
  }
}

let number = 0;

/** A time zone in which it is about noon: what happened in the last hours there, and what will in the next, is of one day. */
export function noonZone() {
  const hours = 12 - new Date().getUTCHours();
  // the names of these zones count westward
  return `Etc/GMT${hours > 0 ? "-" : "+"}${Math.abs(hours)}`;
}

/** Somebody who is signed in. */
export class Client {
  constructor(url, token) {
    this.url = url;
    this.token = token;
  }

  static async signIn(server, email = ADMIN, password = PASSWORD) {
    const stranger = new Client(server.url);
    return new Client(server.url, (await stranger.post("/v1/auth/login", { email, password })).accessToken);
  }

  get(path) { return this.#ask("GET", path); }
  post(path, body) { return this.#ask("POST", path, body ?? {}); }
  put(path, body) { return this.#ask("PUT", path, body); }
  delete(path) { return this.#ask("DELETE", path); }

  async #ask(method, path, body) {
    const headers = body === undefined ? {} : { "Content-Type": "application/json" };
    if (this.token) headers.Authorization = `Bearer ${this.token}`;
    // sent again, it is done once
    if (method === "POST" && this.token) headers["Idempotency-Key"] = randomUUID();
    const answer = await sent(this.url + path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text ? JSON.parse(text) : null;
  }
}

/** An active organization with its orgAdmin. */
export class Fleet {
  /** `email` and `password` sign its orgAdmin in on the page. */
  static async make(server, name = `Fleet ${++number}`) {
    const fleet = new Fleet();
    fleet.server = server;
    fleet.name = name;
    fleet.email = `admin${++number}@example.org`;
    fleet.password = PASSWORD;
    const root = await Client.signIn(server);
    const admin = { email: fleet.email, firstName: "Ada", lastName: "Admin" };
    fleet.organization = await root.post("/v1/organizations", { name, contactEmail: fleet.email, admin });
    await root.put(`/v1/organizations/activate/${fleet.organization.id}`, {});
    fleet.admin = await fleet.#accept(fleet.email);
    return fleet;
  }

  /** Changes conventions of the organization: units, time zone, language tag. */
  set(settings) {
    return this.admin.put(`/v1/organizations/organization/${this.organization.id}`, { settings });
  }

  /** A further person: `role` is orgAdmin, dispatcher or viewer. Signs in with `email` and `password`. */
  async person(role) {
    const email = `${role.toLowerCase()}${++number}@example.org`;
    await this.admin.post("/v1/users", { email, role, firstName: "Some", lastName: "Body" });
    const client = await this.#accept(email);
    return { email, password: PASSWORD, client };
  }

  async #accept(email) {
    const token = (await this.server.linkFor(email, "invite")).split("/invite/")[1];
    const signedIn = await new Client(this.server.url).post(`/v1/auth/accept-invite/${token}`, { password: PASSWORD });
    return new Client(this.server.url, signedIn.accessToken);
  }

  /** A vehicle with a tracker that reports over HTTP. */
  async vehicle(name = `Bus ${++number}`, more = {}) {
    const made = await this.admin.post("/v1/vehicles", { name, tracker: { uniqueId: `tracker-${++number}` }, tracking: { maxSpeedKmh: null }, ...more });
    return new Vehicle(this.server.url, made);
  }

  /** Many vehicles at once. */
  async vehicles(count) {
    const made = [];
    const makeSome = async () => {
      while (made.length < count) {
        const place = made.length;
        made.push(null);
        made[place] = await this.vehicle(`Bus ${place + 1}`);
      }
    };
    await Promise.all(Array.from({ length: 8 }, makeSome));
    return made;
  }

  /** A program that reports for all trackers of the organization. */
  async gateway() {
    const email = `gateway${++number}@example.org`;
    await this.admin.post("/v1/system-users", { name: "Gateway", email, password: PASSWORD, scopes: ["positions:ingest"] });
    const token = (await this.server.linkFor(email, "verify")).split("/verify/")[1];
    const stranger = new Client(this.server.url);
    await stranger.post(`/v1/system-users/verify-email/${token}`);
    return new Client(this.server.url, (await stranger.post("/v1/system-users/login", { email, password: PASSWORD })).accessToken);
  }

  /** A fence around a point, in force for whatever was recorded when: a bus may have entered it an hour ago. */
  circle(name, { latitude, longitude }, radiusMeters = 200, more = {}) {
    const shape = { type: "circle", center: { latitude, longitude }, radiusMeters };
    const rules = { exitMarginMeters: 0, minInsideSeconds: 0, minOutsideSeconds: 0 };
    return this.admin.post("/v1/geofences", { name, shape, rules, effectiveFrom: null, ...more });
  }
}

/** A vehicle whose tracker the test drives. */
export class Vehicle {
  #tracker;

  constructor(url, { id, name, tracker }) {
    Object.assign(this, { id, name, tracker });
    this.#tracker = new Client(url, tracker.token);
  }

  /** Reports one position, recorded now unless it says otherwise; done once it is committed. */
  at(latitude, longitude, more = {}) {
    return this.report([{ latitude, longitude, recordedAt: new Date().toISOString(), ...more }]);
  }

  /** Reports positions; at most 500. */
  report(items) {
    return this.#tracker.post("/v1/positions", { items });
  }
}
