// A browser that cannot draw the map: everything else works, and the page says why there is none.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { Fleet, Server, launch, open, picture, signIn } from "./harness/index.mjs";

let server, browser;

before(async () => {
  [server, browser] = await Promise.all([Server.start(), launch("--disable-3d-apis")]);
});
after(async () => {
  await browser?.close();
  await server?.remove();
});

test("without WebGL2 the lists work and say why there is no map", async () => {
  const fleet = await Fleet.make(server);
  await fleet.circle("Depot", { latitude: 59.33, longitude: 18.06 }, 300);
  const bus = await fleet.vehicle("Bus 7");
  const page = await open(browser, server);
  await signIn(page, fleet);
  await page.locator("[data-map=missing]").waitFor();
  await page.getByText("WebGL2 is missing or switched off").waitFor();
  await bus.at(59.33, 18.06);
  for (const name of ["Vehicles", "Inside now", "Events"]) await page.getByRole("region", { name, exact: true }).getByText("Bus 7").waitFor();
  await page.getByRole("region", { name: "Vehicles" }).getByRole("link", { name: "Bus 7" }).click();
  await page.getByText("Replay the day").click();
  await page.locator("[data-replay=ready]").waitFor();
  await page.getByText("WebGL2 is missing or switched off").waitFor();
  await page.getByText("Entered Depot").waitFor();
  await picture(page, "without-webgl");
  assert.deepEqual(page.foreign, []);
});
