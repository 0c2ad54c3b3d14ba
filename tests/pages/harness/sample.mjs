// A small fleet with something in every view: what pictures are taken of and axe looks at.

import { after } from "node:test";

import { Fleet } from "./fleet.mjs";
import { Receiver, TO_THIS_COMPUTER } from "./receiver.mjs";
import { Server } from "./server.mjs";
import { setUp } from "./stage.mjs";

const DAY_MS = 86_400_000;
const SLUSSEN = { latitude: 59.3195, longitude: 18.0722 };

/** The views, by the name of their pictures: their addresses, and what is there once they stand. */
export const views = (sample) => [
  ["live", "#/live", "Events"],
  ["vehicle", `#/live/${sample.buses[1].id}`, "Bus 3"],
  ["replay", `#/replay/${sample.buses[1].id}`, "What happened"],
  ["fences", "#/fences", "Fences"],
  ["fence-edit", `#/fences/${sample.depot.id}`, "Depot"],
  ["fence-new", "#/fences/new", "New fence"],
  ["vehicles", "#/fleet", "Vehicles"],
  ["vehicle-new", "#/fleet/new", "New vehicle"],
  ["drivers", `#/drivers/${sample.driver.id}`, "Astrid Lind"],
  ["driver-new", "#/drivers/new", "New driver"],
  ["trackers", `#/trackers/${sample.buses[0].tracker.id}`, "Trackers"],
  ["users", "#/users/new", "Invite user"],
  ["programs", "#/programs/new", "New program"],
  ["organization", "#/organization", "Who changed what"],
];

/** The views of webhooks, once there are some. */
export const webhookViews = ([hook]) => [
  ["webhooks", `#/webhooks/${hook.id}`, "Arrivals for the warehouse"],
  ["webhook-new", "#/webhooks/new", "New webhook"],
];

/** A stage with a sample in which every view has something; once it is set up, `shown` has its fleet and its webhooks. */
export function setUpSample() {
  const shown = {};
  let receiver;
  const stage = setUp({
    start: () => Server.start(...TO_THIS_COMPUTER),
    first: async ({ server }) => {
      receiver = await Receiver.start();
      shown.fleet = await sample(server);
      await samplePending(shown.fleet);
      shown.hooks = await sampleWebhooks(shown.fleet, receiver);
    },
  });
  after(() => receiver.close());
  return { stage, shown };
}

/** Devices that report to a sample and are no trackers of it. */
async function samplePending(fleet) {
  const gateway = await fleet.gateway();
  const fixes = (ident, count) => Array.from({ length: count }, (_, at) => ({
    ident, timestamp: Date.now() / 1000 - 60 * (count - at), "position.latitude": SLUSSEN.latitude, "position.longitude": SLUSSEN.longitude,
  }));
  await gateway.post("/in/flespi", [...fixes("356307042441013", 12), { ident: "jane/phone" }]);
}

/** Webhooks of a sample: the first with a failure in its log, the second is sent everything, the third is off. */
async function sampleWebhooks({ admin, buses }, receiver) {
  const made = (path, description, eventTypes, more = {}) =>
    admin.post("/v1/webhooks", { url: `${receiver.url}/${path}`, description, eventTypes, ...more });
  const vehicleIds = buses.slice(0, 2).map(({ id }) => id);
  const types = ["geofence.*", "fuel.refuel", "change.vehicle.updated"];
  const hook = await made("arrivals", "Arrivals for the warehouse", types, { vehicleIds });
  const tried = async (status, body) => {
    receiver.answer = { status, body };
    await admin.post(`/v1/webhooks/${hook.id}/test`);
  };
  await tried(500, '{"error": "the queue is full", "retry": true}');
  await tried(200, '{"taken": true}');
  const second = await made("billing", "Billing", ["*"]);
  const third = await made("old", "Former receiver", ["fuel.*"], { enabled: false });
  return [hook, second, third];
}

/** An organization of buses around Slussen, one of them in the depot. */
export async function sample(server, name = "Söder Bussar") {
  const fleet = await Fleet.make(server, name);
  const { admin } = fleet;
  const day = (days) => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10);
  const depot = await fleet.circle("Depot", SLUSSEN, 350, { color: "#0B6E4F", category: "Depot" });
  const square = (south, west, height, width) => [[south, west], [south, west + width], [south + height, west + width], [south + height, west]]
    .map(([latitude, longitude]) => ({ latitude, longitude }));
  await admin.post("/v1/geofences", {
    name: "Gamla stan", color: "#8A5A00", effectiveFrom: null, description: "No coaches between 10 and 18.",
    shape: { type: "polygon", vertices: square(59.3222, 18.066, 0.0045, 0.011), holes: [square(59.3237, 18.0695, 0.0012, 0.003)] },
  });
  await fleet.circle("Medborgarplatsen", { latitude: 59.3146, longitude: 18.0738 }, 160, { category: "Stop" });
  const buses = [];
  for (const [index, plate] of ["BUS 002", "BUS 003", "BUS 053", "BUS 401"].entries()) {
    buses.push(await fleet.vehicle(`Bus ${[2, 3, 53, 401][index]}`, { category: "bus", plate: { number: plate, country: "SE" }, make: "Volvo", model: "7900", year: 2022, fuel: { kind: "diesel", tankCapacityLiters: 220 } }));
  }
  const driver = await admin.post("/v1/drivers", {
    firstName: "Astrid", lastName: "Lind", lock: false, employeeCode: "A-17", phone: "+46 8 123 45", email: "astrid@example.org",
    license: { number: "SE-4711-08", country: "SE", categories: ["B", "D"], issuedAt: "2015-05-02", expiresAt: day(900) },
  });
  await admin.post("/v1/drivers", { firstName: "Nils", lastName: "Åkerman", lock: false, license: { number: "SE-1203-11", country: "SE", categories: ["D"], expiresAt: day(12) } });
  await admin.post("/v1/drivers", { firstName: "Vera", lastName: "Ek", status: "suspended" });
  await admin.post(`/v1/drivers/${driver.id}/lock`, { reason: "Summer timetable" });
  await admin.post(`/v1/drivers/${driver.id}/assign-vehicle`, { vehicleId: buses[0].id });
  const people = { dispatcher: await fleet.person("dispatcher"), viewer: await fleet.person("viewer") };
  await admin.post("/v1/users", { email: "new@example.org", role: "viewer", firstName: "Nora", lastName: "Ny" });
  await drive(buses);
  return Object.assign(fleet, { depot, buses, driver, people });
}

/** The last quarter of an hour: the first bus stops in the depot, the others have passed it so many minutes ago. */
const PASSED_MINUTES_AGO = [5, 6, 9, 4];

/** What the second bus says beside where it is. */
const REPORTED = {
  ignition: true, odometerKm: 184_302.4, accuracyMeters: 4,
  attributes: { alarm: "tamper", externalVolts: 27.6, satellites: 12, coolantCelsius: 84, temperatureCelsius: [4.5, -18], inputs: [true, false], doors: "front" },
};

async function drive(buses) {
  for (const [index, bus] of buses.entries()) {
    const items = Array.from({ length: 16 }, (_, minute) => {
      const ahead = 15 - minute - PASSED_MINUTES_AGO[index];
      const isThere = ahead <= 0 && index === 0;
      const way = isThere ? 0 : ahead;
      return {
        recordedAt: new Date(Date.now() - (15 - minute) * 60_000).toISOString(),
        latitude: SLUSSEN.latitude + way * 0.0005 * (1 - index), longitude: SLUSSEN.longitude - way * 0.0008 * (2 - index),
        ...(index === 1 ? REPORTED : {}),
        speedKmh: isThere ? 0 : 28 + index, headingDegrees: [118, 90, 0, 328][index],
      };
    });
    await bus.report(items);
  }
}
