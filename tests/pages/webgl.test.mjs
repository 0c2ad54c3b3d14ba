// A browser that cannot draw the map: everything else works, and the page says why there is none.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Fleet, picture, setUp, signIn } from "./harness/index.mjs";

const stage = setUp({ flags: ["--disable-3d-apis"] });

test("without WebGL2 the lists work and say why there is no map", async () => {
  const fleet = await Fleet.make(stage.server);
  await fleet.circle("Depot", { latitude: 59.33, longitude: 18.06 }, 300);
  const bus = await fleet.vehicle("Bus 7");
  const page = await stage.page();
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
