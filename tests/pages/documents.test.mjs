// A driver's documents and their files: entered, uploaded, downloaded, removed.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Fleet, isSettled, setUp, signIn, visit } from "./harness/index.mjs";

const PDF = Buffer.from(`%PDF-1.7\n${"licence ".repeat(40_000)}`);

const stage = setUp();

const part = (page) => page.getByRole("region", { name: "Documents", exact: true });

/** Chooses a file behind a button. */
async function choose(page, button, file) {
  const chooser = page.waitForEvent("filechooser");
  await part(page).getByRole("button", { name: button }).click();
  await (await chooser).setFiles(file);
}

test("a document is entered, its file uploaded, downloaded as it was, and removed", async () => {
  const fleet = await Fleet.make(stage.server);
  const driver = await fleet.admin.post("/v1/drivers", { firstName: "Astrid", lastName: "Lind" });
  const page = await stage.page({ acceptDownloads: true });
  await signIn(page, fleet);
  await page.getByRole("button", { name: /Manage/ }).click();
  await page.getByRole("link", { name: "Drivers", exact: true }).click();
  await page.getByRole("link", { name: "Astrid Lind" }).click();
  await part(page).getByText("No document is entered.").waitFor();
  await part(page).getByRole("button", { name: "Add document" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("What it is").selectOption("Medical certificate");
  await dialog.getByLabel("Number").fill("M-7");
  await dialog.getByLabel("Issued").fill("2026-05-02");
  await dialog.getByLabel("Expires").fill("2026-05-01");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.getByText(/^must not be before issuedAt/).waitFor();
  await dialog.getByLabel("Expires").fill("2030-05-01");
  await dialog.getByRole("button", { name: "Save" }).click();
  await part(page).getByText("Medical certificate M-7").waitFor();

  await choose(page, "Upload the file: Medical certificate M-7", { name: "scan.gif", mimeType: "image/gif", buffer: Buffer.from("GIF89a") });
  await page.getByText("begins like no PDF, JPEG or PNG").waitFor();
  await choose(page, "Upload the file: Medical certificate M-7", { name: "scan.pdf", mimeType: "application/pdf", buffer: PDF });
  const file = part(page).getByRole("button", { name: "Download the file: Medical certificate M-7" });
  assert.equal(await file.innerText(), "PDF, 320 kB");
  const download = page.waitForEvent("download");
  await file.click();
  assert.match((await download).suggestedFilename(), /, Medical certificate M-7\.pdf$/);
  assert.deepEqual(readFileSync(await (await download).path()), PDF);

  const viewer = await stage.page();
  await signIn(viewer, await fleet.person("viewer"));
  await visit(viewer, `#/drivers/${driver.id}`);
  await part(viewer).getByRole("button", { name: /^Download/ }).waitFor();
  assert.equal(await part(viewer).getByRole("button", { name: /Upload|Replace|Remove|Delete|Add/ }).count(), 0);

  await part(page).getByRole("button", { name: "Remove the file: Medical certificate M-7" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove file" }).click();
  await file.waitFor({ state: "detached" });
  await part(page).getByRole("button", { name: "Delete the document: Medical certificate M-7" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await part(page).getByText("No document is entered.").waitFor();
  await isSettled(page);
  for (const one of [page, viewer]) {
    assert.deepEqual(one.faults, []);
    assert.deepEqual(one.foreign, []);
  }
});

test("what a colleague entered meanwhile stays, with its file, whatever is added or removed beside it", async () => {
  const fleet = await Fleet.make(stage.server);
  const { id } = await fleet.admin.post("/v1/drivers", { firstName: "Astrid", lastName: "Lind", documents: [{ type: "license", number: "L-1" }] });
  const path = `/v1/drivers/${id}`;
  const colleague = async (number) => {
    const { documents } = await fleet.admin.get(path);
    const { documents: now } = await fleet.admin.put(path, { documents: [...documents, { type: "hazmat", number }] });
    const added = now.find((document) => document.number === number);
    const headers = { "Content-Type": "application/pdf", Authorization: `Bearer ${fleet.admin.token}` };
    assert.ok((await fetch(`${stage.server.url}${path}/documents/${added.id}/file`, { method: "PUT", headers, body: PDF })).ok);
  };
  const page = await stage.page();
  await signIn(page, fleet);
  await visit(page, `#/drivers/${id}`);
  // the colleague is faster by as much as it takes to send the change
  const numbers = [];
  await page.route(`**${path}*`, async (route) => {
    const number = route.request().method() === "PUT" && numbers.shift();
    if (number) await colleague(number);
    await route.continue();
  });
  const kept = async () => (await fleet.admin.get(path)).documents.map(({ number, file }) => [number, file?.bytes ?? 0]).sort();

  numbers.push("H-2");
  await part(page).getByRole("button", { name: "Add document" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Number").fill("L-4");
  await dialog.getByRole("button", { name: "Save" }).click();
  await dialog.waitFor({ state: "detached" });
  assert.deepEqual(await kept(), [["H-2", PDF.length], ["L-1", 0], ["L-4", 0]]);
  await part(page).getByText("Driving licence L-4").waitFor();

  numbers.push("H-3");
  await part(page).getByRole("button", { name: "Delete the document: Driving licence L-1" }).click();
  await dialog.getByRole("button", { name: "Delete" }).click();
  await dialog.waitFor({ state: "detached" });
  assert.deepEqual(await kept(), [["H-2", PDF.length], ["H-3", PDF.length], ["L-4", 0]]);
  await part(page).getByText("Dangerous goods permit H-3").waitFor();
  assert.deepEqual(page.faults, []);
});
