// The pipe from a tracker to a dispatcher's eyes.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Fleet, Server, launch, open, picture, signIn } from "./harness/index.mjs";

let server, browser;

before(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
});
after(async () => {
  await browser?.close();
  await server?.remove();
});

test("a vehicle appears, enters a fence and is seen everywhere, without a word to another host", async () => {
  const fleet = await Fleet.make(server, "Ferries");
  const depot = await fleet.circle("Depot", { latitude: 59.33, longitude: 18.06 }, 300);
  const bus = await fleet.vehicle("Bus 7");
  const page = await open(browser, server);
  await signIn(page, fleet);
  const vehicles = page.getByRole("region", { name: "Vehicles" });
  await vehicles.getByText("No vehicle has reported yet").waitFor();

  const began = Date.now() - 120_000;
  const outside = { latitude: 59.34, longitude: 18.06, speedKmh: 40, headingDegrees: 180 };
  await bus.report([{ ...outside, recordedAt: new Date(began).toISOString() }]);
  await vehicles.getByText("Bus 7").waitFor();

  await bus.report([{ ...outside, latitude: 59.33, recordedAt: new Date(began + 60_000).toISOString() }]);
  await page.getByRole("region", { name: "Inside now" }).getByText("Bus 7").waitFor();
  await page.getByRole("region", { name: "Events" }).getByText("Depot").waitFor();
  const inside = await fleet.admin.get(`/v1/geofence-events/geofence/${depot.id}/vehicles`);
  assert.deepEqual(inside.data.map((stay) => stay.vehicle.name), ["Bus 7"]);

  await page.locator("[data-map=ready]").waitFor();
  await picture(page, "live-light");
  assert.deepEqual(page.foreign, []);
  assert.deepEqual(page.faults, []);
});
