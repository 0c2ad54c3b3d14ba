// A newcomer by clicks alone: sign up, the letters' links, in; the first vehicle. And the first administrator of a server.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Client, PASSWORD, Server, isLive, setUp } from "./harness/index.mjs";

const stage = setUp();

test("whoever signs up is led by two letters to the page, signed in, and on to a vehicle", async () => {
  const page = await stage.page({ timezoneId: "America/Lima" });
  await page.goto("/");
  await page.getByRole("link", { name: "Create an organization" }).click();
  const form = page.getByRole("form", { name: "Create an organization" });
  await form.getByLabel("Name of the organization").fill("Nora's buses");
  await form.getByLabel("First name").fill("Nora");
  await form.getByLabel("Last name").fill("Berg");
  await form.getByLabel("Your e-mail").fill("nora@example.org");
  await form.getByRole("button", { name: "Create" }).click();
  await page.getByText("Open the link in the letter to nora@example.org").waitFor();

  await page.goto(new URL(await stage.server.linkFor("nora@example.org", "activate")).pathname);
  assert.equal(await page.locator("link[rel=icon]").getAttribute("href"), "/favicon.svg", "a browser asks for no other");
  await page.getByRole("button", { name: "Activate" }).click();
  await page.getByText("(you, if you signed up)").waitFor();
  await page.getByText("its link asks for a password").waitFor();

  await page.goto(new URL(await stage.server.linkFor("nora@example.org", "invite")).pathname);
  await page.getByLabel(/^Password/).fill(PASSWORD);
  await page.getByRole("button", { name: "Accept" }).click();
  await isLive(page);
  assert.equal(new URL(page.url()).hash.includes("token"), false, "the token is not left in the address");
  await page.getByText("Nora's buses").waitFor();
  // nobody was asked for it
  await page.goto("/#/organization");
  assert.equal(await page.getByLabel("Time zone").inputValue(), "America/Lima");
  const audit = page.getByRole("region", { name: "Who changed what" });
  await audit.getByText("Nora Berg accepted the invitation", { exact: true }).waitFor();
  await audit.getByText("Whoever signed up made the organization").waitFor();
  assert.equal(await audit.getByText("anonymous").count(), 0);
  await page.goto("/#/live");

  await page.getByRole("link", { name: "New vehicle" }).click();
  const vehicle = page.getByRole("form", { name: "New vehicle" });
  await vehicle.getByLabel("Name", { exact: true }).fill("Bus 1");
  await vehicle.getByLabel("Tracker's own id").fill("phone-1");
  await vehicle.getByRole("button", { name: "Save" }).click();
  await page.getByRole("dialog").getByText("Use a phone").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  await page.getByRole("region", { name: "Vehicles", exact: true }).getByText("Waiting for the first position of Bus 1").waitFor();
  assert.deepEqual(page.faults, []);
  assert.deepEqual(page.foreign, []);
});

test("a forgotten password is set anew, and signs in", async () => {
  const page = await stage.page();
  await page.goto("/");
  await page.getByLabel("E-mail").fill("nora@example.org");
  await page.getByRole("button", { name: "Forgot password" }).click();
  await page.getByText("a letter with a link is on its way").waitFor();
  await page.goto(new URL(await stage.server.linkFor("nora@example.org", "reset")).pathname);
  await page.getByLabel(/^Password/).fill(`${PASSWORD} again`);
  await page.getByRole("button", { name: "Change it" }).click();
  await isLive(page);
});

const isActivation = ({ pathname }) => pathname.startsWith("/v1/organizations/activate/");
const FAILED = {
  status: 500, contentType: "application/problem+json", body: JSON.stringify({ status: 500, code: "internal", title: "It failed", detail: "It did not work." }),
};

/** A server of its own and its first administrator on the page, signed in. */
async function firstAdministrator(t) {
  const server = await Server.fresh();
  t.after(() => server.remove());
  const page = await stage.page({ server });
  await page.goto(server.setupPath);
  await page.getByLabel("E-mail").fill("root@example.org");
  await page.getByLabel(/^Password/).fill(PASSWORD);
  await page.getByRole("button", { name: "Make it" }).click();
  await page.getByRole("heading", { name: "The first organization" }).waitFor();
  return { server, page };
}

/** Writes what an organization and its first administrator are called. */
async function fill(form) {
  await form.getByLabel("Name", { exact: true }).fill("Ida's buses");
  await form.getByLabel("Contact e-mail").fill("office@example.org");
  await form.getByLabel("First name").fill("Ida");
  await form.getByLabel("Last name").fill("Holm");
  await form.getByLabel("E-mail", { exact: true }).fill("ida@example.org");
}

test("a server's first administrator makes the account, is signed in, and makes the first organization", async (t) => {
  const { page } = await firstAdministrator(t);
  const form = page.getByRole("form", { name: "The first organization" });
  await fill(form);
  await form.getByRole("button").click();
  // it is active at once: its first vehicle can be made
  await page.getByRole("link", { name: "New vehicle" }).click();
  await page.getByRole("form", { name: "New vehicle" }).getByLabel("Name", { exact: true }).fill("Bus 1");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "Bus 1" }).waitFor();
  assert.deepEqual(page.faults, []);
});

test("where the first organization is made and its activation fails, that is what is tried again, also by who signs in anew", async (t) => {
  const { page } = await firstAdministrator(t);
  const form = page.getByRole("form", { name: "The first organization" });
  await fill(form);
  const made = [];
  page.on("request", (request) => { if (request.method() === "POST" && new URL(request.url()).pathname === "/v1/organizations") made.push(request.postData()); });
  await page.route(isActivation, (route) => route.fulfill(FAILED));
  await form.getByRole("button", { name: "Create and activate" }).click();
  await form.getByText("Ida's buses exists but is not active.").waitFor();
  await form.getByText("Not saved: It did not work.").waitFor();
  assert.equal(await form.getByLabel("Name", { exact: true }).isDisabled(), true, "what is made is not written any more");
  await form.getByRole("button", { name: "Activate" }).click();
  await form.getByText("Not saved: It did not work.").waitFor();
  assert.equal(made.length, 1);

  await page.getByRole("banner").getByRole("button", { name: "Sign out" }).click();
  const password = page.getByLabel("Password", { exact: true });
  await password.or(page.getByRole("dialog")).first().waitFor();
  assert.equal(await page.getByRole("dialog").count(), 0, "all that was written is stored");
  await page.getByLabel("E-mail").fill("root@example.org");
  await password.fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.unroute(isActivation);
  const awaited = page.getByRole("form", { name: "Ida's buses" });
  await awaited.getByText("Ida's buses exists but is not active. Contact e-mail: office@example.org").waitFor();
  assert.equal(await page.getByRole("heading", { name: "The first organization" }).count(), 0, "it is not the first");
  assert.equal(await awaited.getByRole("checkbox").count(), 0, "no program made it");

  // it is active, and the list of those that are fails
  const isList = ({ pathname }) => pathname === "/v1/organizations";
  await page.route(isList, (route) => route.fulfill(FAILED));
  await awaited.getByRole("button", { name: "Activate" }).click();
  await page.getByText("Some data could not be loaded; Waypost keeps trying. It did not work.").waitFor();
  await page.unroute(isList);
  await page.getByRole("link", { name: "New vehicle" }).waitFor();
  assert.equal(made.length, 1);
  assert.deepEqual(page.faults, []);
});

test("who activates an organization that a program made sees which, and lets it in only by saying so", async (t) => {
  const { server, page } = await firstAdministrator(t);
  const founder = "founder@programs.example.org";
  const stranger = new Client(server.url);
  await stranger.post("/v1/system-users", { name: "Founder", email: founder, password: PASSWORD });
  await stranger.post(`/v1/system-users/verify-email/${(await server.linkFor(founder, "verify")).split("/verify/")[1]}`);
  const program = new Client(server.url, (await stranger.post("/v1/system-users/login", { email: founder, password: PASSWORD })).accessToken);
  const root = await Client.signIn(server, "root@example.org");
  const organization = (slug) => ({
    name: "Buses", slug, contactEmail: `${slug}@example.org`, admin: { email: `${slug}@example.org`, firstName: "Ida", lastName: "Holm" },
  });
  await program.post("/v1/organizations", organization("one"));
  await root.post("/v1/organizations", organization("two"));

  await page.reload();
  const other = page.getByRole("form", { name: "two@example.org" });
  await other.waitFor();
  assert.equal(await other.getByRole("checkbox").count(), 0, "nobody waits there");
  const form = page.getByRole("form", { name: "one@example.org" });
  await form.getByText("otherwise it is left out for good").waitFor();
  const box = form.getByRole("checkbox", { name: `Let ${founder} in` });
  assert.equal(await box.isChecked(), false, "that is for somebody to say");
  await page.route(isActivation, (route) => route.fulfill(FAILED));
  const activation = () => page.waitForRequest((request) => isActivation(new URL(request.url())));
  const unsaid = activation();
  await form.getByRole("button", { name: "Activate" }).click();
  assert.equal(new URL((await unsaid).url()).search, "");
  await form.getByText("Not saved: It did not work.").waitFor();
  await page.unroute(isActivation);

  await box.check();
  const said = activation();
  await form.getByRole("button", { name: "Activate" }).click();
  assert.equal(new URL((await said).url()).search, "?letFounderIn=true");
  await page.getByRole("link", { name: "New vehicle" }).waitFor();
  assert.ok((await program.get("/v1/auth/me")).organizationId, "it is in");
  assert.deepEqual(page.faults, []);
});
