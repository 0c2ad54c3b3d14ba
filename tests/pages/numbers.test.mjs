// Numbers as people type them: key by key, below zero, with separators that could be meant for a point. And years of five digits.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Fleet, setUp, signIn, visit } from "./harness/index.mjs";
import { sources } from "./harness/source.mjs";

const stage = setUp();
const modules = sources("/src/parts/number_text.ts");

async function signedIn(address) {
  const fleet = await Fleet.make(stage.server);
  const page = await stage.page();
  await signIn(page, fleet);
  await visit(page, address);
  return { fleet, page };
}

const validity = (field) => field.evaluate((element) => element.validationMessage);

test("a number is read as it is meant, and one that could mean two is read as none", () => {
  const { numberOf, numberText, whyNoNumber } = modules["/src/parts/number_text.ts"];
  const reads = { whole: [["90", 90], [" 1000 ", 1000], ["+7", 7]], measure: [["1,5", 1.5], ["0,125", 0.125], ["12.25", 12.25], ["1.2340", 1.234], [".5", 0.5], ["1.", 1]], signed: [["-40", -40], ["\u221240", -40]], degrees: [["30.123", 30.123], ["-97,743", -97.743]] };
  for (const [kind, texts] of Object.entries(reads)) for (const [text, number] of texts) assert.equal(numberOf(text, kind), number, `${kind} ${text}`);
  const refuses = { whole: ["1,000", "1.000", "1 000", "1'000", "1\u00a0000", "2.5", "1e3", "Infinity", "0x10"], measure: ["1,000", "1.800", "999.999", "1,000,000", "1.234,5", "12 345", "1,2,3", "-"], signed: ["-1.000", "-"], degrees: ["-", "1.2.3", "north"] };
  for (const [kind, texts] of Object.entries(refuses)) for (const text of texts) assert.equal(numberOf(text, kind), NaN, `${kind} ${text}`);
  assert.equal(numberOf(" ", "whole"), null);
  for (const kind of Object.keys(reads)) for (const number of [0, 0.125, 1.234, -1.234, 1000, -97.743, 999.9995]) {
    if (kind !== "whole") assert.equal(numberOf(numberText(number, kind), kind), number, `${kind} ${number} is read as it is shown`);
  }
  assert.equal(whyNoNumber("1,000", "whole"), "Write it without separators: 1000.");
  assert.equal(whyNoNumber("1,234", "measure"), "This could be thousands or a fraction: write 1234 or 1,2340.");
  assert.equal(whyNoNumber("1.000.000", "degrees"), "Write it without separators: 1000000.");
  assert.equal(whyNoNumber("a week", "whole"), "This must be a whole number.");
});

test("a separator of thousands deletes no history, and a shorter retention is asked about", async () => {
  const { fleet, page } = await signedIn("#/organization");
  const days = async () => (await fleet.admin.get(`/v1/organizations/organization/${fleet.organization.id}`)).settings.retention?.positionsDays ?? null;
  await page.getByText("How long data is kept").click();
  const positions = page.getByLabel("Positions", { exact: true });
  const save = page.getByRole("button", { name: "Save" });
  const before = await days();
  for (const typed of ["1,000", "1.000", "1 000"]) {
    await positions.fill(typed);
    await save.click();
    assert.equal(await validity(positions), "Write it without separators: 1000.");
    assert.equal(await positions.inputValue(), typed);
  }
  assert.equal(await days(), before);

  await positions.fill("1000");
  await save.click();
  const dialog = page.getByRole("dialog", { name: "Keep data for a shorter time?" });
  await dialog.getByText("positions older than 1,000 days").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "detached" });
  assert.equal(await days(), before, "nothing is saved before it is meant");
  await save.click();
  await dialog.getByRole("button", { name: "Delete what is older" }).click();
  await page.getByText("Saved.").waitFor();
  assert.equal(await days(), 1000);

  await positions.fill("2000");
  await save.click();
  await page.waitForFunction(() => document.querySelector("main").ariaBusy === "false");
  assert.equal(await dialog.count(), 0, "a longer time deletes nothing");
  assert.deepEqual(page.faults, []);
});

test("a place below zero is typed key by key, and what is no number yet gives way to what the map says", async () => {
  const { fleet, page } = await signedIn("#/fences/new?at=1,2");
  const [latitude, longitude] = [page.getByLabel("Latitude"), page.getByLabel("Longitude")];
  await latitude.selectText();
  await latitude.pressSequentially("-33.8688");
  await longitude.selectText();
  await longitude.press("-");
  assert.equal(await longitude.inputValue(), "-");
  assert.equal(await validity(longitude), "This must be a number.");
  await page.getByRole("toolbar", { name: "Drawing" }).getByRole("button", { name: "circle" }).click();
  assert.equal(await longitude.inputValue(), "");
  assert.notEqual(await validity(longitude), "This must be a number.");
  await latitude.pressSequentially("-33.8688");
  await longitude.pressSequentially("-70.5");
  await page.getByLabel("Name", { exact: true }).fill("Below");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  const { data: [fence] } = await fleet.admin.get("/v1/geofences");
  assert.deepEqual(fence.shape.center, { latitude: -33.8688, longitude: -70.5 });
  assert.deepEqual(page.faults, []);
});

test("a year of five digits is said to be none at its field, and nothing is sent", async () => {
  const { page } = await signedIn("#/drivers/new");
  const why = "The year must have four digits.";
  const sent = [];
  page.on("request", (request) => { if (request.method() === "POST") sent.push(new URL(request.url()).pathname); });
  await page.getByLabel("First name").fill("Astrid");
  await page.getByLabel("Last name").fill("Lind");
  const born = page.getByLabel("Date of birth");
  await born.fill("12026-01-01");
  await page.getByRole("button", { name: "Save" }).click();
  assert.equal(await validity(born), why);
  assert.equal(await born.evaluate((element) => element === document.activeElement), true);
  await born.fill("1986-01-01");
  assert.equal(await validity(born), "");

  await visit(page, "#/replay?day=2026-99-99");
  await page.getByText("Choose a vehicle").waitFor();

  await visit(page, "#/fences/new?at=1,2");
  await page.getByText("In force from", { exact: true }).first().click();
  await page.getByRole("combobox", { name: "In force from" }).selectOption("Positions recorded from …");
  const from = page.locator("input[type=datetime-local]");
  await from.fill("12026-01-01T10:00");
  assert.equal(await validity(from), why);
  await from.fill("2026-01-01T10:00");
  assert.equal(await validity(from), "");

  assert.deepEqual(sent.filter((path) => path !== "/v1/geofences/dry-run"), []);
  assert.deepEqual(page.faults, []);
});
