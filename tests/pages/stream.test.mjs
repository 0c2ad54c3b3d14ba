// Server-Sent Events as clients follow them that connect again by themselves: a browser's own EventSource, signed in by a ticket, and the
// package of npm. Through cuts, restarts and a database that is away neither misses a change or hears it twice.

import assert from "node:assert/strict";
import { after, test } from "node:test";

import { EventSource } from "eventsource";

import { Fleet, Server, Wire, eventually, setUp } from "./harness/index.mjs";
import { Postgres } from "./harness/postgres.mjs";

const CENTER = { latitude: 59.33, longitude: 18.06 };
const [OPEN, CLOSED] = [1, 2];

let database = null;
/** The way of the server to its database. */
let way = null;
const stage = setUp({ start: async () => {
  database = await Postgres.start();
  way = database && await Wire.to(database);
  return Server.start(...(way ? Postgres.settingBy(way) : []));
} });
after(async () => {
  await way?.close();
  await database?.remove();
});

/** Notes what a stream tells. As text, it does so in a browser. */
const follow = (stream) => {
  const told = { changes: [], said: [], get state() { return stream.readyState; } };
  stream.addEventListener("change", ({ data }) => told.changes.push(JSON.parse(data).change.sequence));
  for (const name of ["subscribed", "status", "problem", "reset"]) stream.addEventListener(name, ({ data }) => told.said.push(JSON.parse(data)));
  return told;
};

/** Each follows changes of master data after a cursor, and tells what it was told so far. */
const CLIENTS = {
  "a browser's EventSource": async (server, { client }, cursor) => {
    const page = await stage.page({ server });
    await page.goto("/");
    const { ticket } = await client.post("/v1/auth/ws-ticket");
    const address = `/v1/events/stream?topics=changes&cursor=${cursor}&ticket=${ticket}`;
    await page.evaluate(`window.told = (${follow})(new EventSource(${JSON.stringify(address)}))`);
    return { told: () => page.evaluate(() => ({ ...window.told })) };
  },
  "npm's eventsource": async (server, { client }, cursor) => {
    const signedIn = (address, request) => fetch(address, { ...request, headers: { ...request.headers, Authorization: `Bearer ${client.token}` } });
    const stream = new EventSource(`${server.url}/v1/events/stream?topics=changes&cursor=${cursor}`, { fetch: signedIn });
    const told = follow(stream);
    return { told: async () => ({ ...told }), close: () => stream.close() };
  },
};

for (const [name, start] of Object.entries(CLIENTS)) {
  test(`${name} hears every change once, until its session ends`, async () => {
    const { server } = stage;
    const fleet = await Fleet.make(server);
    const person = await fleet.person("dispatcher");
    const wire = await Wire.to(server);
    const { pagination: { endCursor } } = await person.client.get("/v1/changes?after=latest&limit=1");
    const [direct, wired] = [await start(server, person, endCursor), await start(wire, person, endCursor)];
    let made = 0;
    const edit = () => fleet.circle(`Fence ${++made}`, CENTER);
    const allHear = () => eventually(async () => {
      const { data } = await person.client.get(`/v1/changes?resource=geofence&limit=200&after=${endCursor}`);
      assert.equal(data.length, made);
      const numbers = data.map(({ sequence }) => sequence);
      for (const { told } of [direct, wired]) {
        const { changes } = await told();
        assert.deepEqual(changes.filter((number) => number >= numbers[0]), numbers);
        assert.equal(new Set(changes).size, changes.length, `${changes}`);
      }
    });
    const saysAway = async ({ told }, before) => {
      const { said } = await told();
      assert.ok(said.slice(before).some(({ type, storing }) => type === "status" && !storing), JSON.stringify(said));
    };
    const count = async ({ told }) => (await told()).said.length;
    await edit();
    await allHear();

    // The cable is pulled, and put in again.
    wire.cut();
    await edit();
    await edit();
    wire.mend();
    await edit();
    await allHear();

    // Asked to stop, and killed; what is committed just before may not have been told.
    for (const signal of ["SIGTERM", "SIGKILL"]) {
      await edit();
      await server.stop(signal);
      await server.restart();
      await edit();
      await allHear();
    }

    if (way) {
      // Who connects while the database does not answer is told so, and let in later.
      way.cut();
      await eventually(async () => assert.equal((await fetch(`${server.url}/readyz`)).status, 503));
      let before = await count(wired);
      wire.mend();
      await eventually(() => saysAway(wired, before));
      way.mend();
      await edit();
      await allHear();
      // And while a server that was started again waits for it.
      await server.stop("SIGKILL");
      way.cut();
      before = await count(direct);
      const back = server.restart();
      await eventually(() => saysAway(direct, before));
      way.mend();
      await back;
      await edit();
      await allHear();
    }

    const states = async () => Promise.all([direct, wired].map(async ({ told }) => (await told()).state));
    assert.deepEqual(await states(), [OPEN, OPEN]);
    const { said } = await direct.told();
    assert.ok(said.every(({ type }) => type !== "reset"), JSON.stringify(said));
    const { data: [self] } = await fleet.admin.get(`/v1/users?q=${person.email}`);
    await fleet.admin.put(`/v1/users/${self.id}`, { status: "disabled" });
    await eventually(async () => assert.deepEqual(await states(), [CLOSED, CLOSED]));
    await eventually(async () => assert.ok((await direct.told()).said.some(({ code }) => code === "sessionEnded")));
    const heard = await Promise.all([direct, wired].map(({ told }) => told()));
    await edit();
    assert.deepEqual(await Promise.all([direct, wired].map(({ told }) => told())), heard, "nothing more is told");
    [direct, wired].forEach(({ close }) => close?.());
    await wire.close();
  });
}
