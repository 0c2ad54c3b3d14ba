// A dispatcher without a socket: every entry and exit and every change of master data once, as Server-Sent Events. The npm package
// connects again by itself and says where it was (Last-Event-ID), so that nothing is missed or told twice.
//
// WAYPOST_URL, WAYPOST_EMAIL, WAYPOST_PASSWORD, WAYPOST_ORGANIZATION, WAYPOST_UNTIL_EVENTS: as in dispatcher.mjs.
import { EventSource } from "eventsource";

const url = process.env.WAYPOST_URL ?? "http://127.0.0.1:8080";
const until = Number(process.env.WAYPOST_UNTIL_EVENTS ?? Infinity);
let events = 0;

async function signIn() {
  const answer = await fetch(`${url}/v1/auth/login`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ email: process.env.WAYPOST_EMAIL, password: process.env.WAYPOST_PASSWORD }),
    signal: AbortSignal.timeout(20_000),
  });
  if (!answer.ok) throw new Error(`sign-in: ${answer.status} ${await answer.text()}`);
  return (await answer.json()).accessToken;
}

let token = await signIn();

/** An access token lives for minutes, a stream for days: whoever connects again may need a new one. */
async function authorized(address, request) {
  const ask = () => fetch(address, { ...request, headers: { ...request.headers, Authorization: `Bearer ${token}` } });
  const answer = await ask();
  if (answer.status !== 401) return answer;
  token = await signIn();
  return ask();
}

const query = new URLSearchParams({ topics: "events,changes" });
if (process.env.WAYPOST_ORGANIZATION) query.set("organizationId", process.env.WAYPOST_ORGANIZATION);
const stream = new EventSource(`${url}/v1/events/stream?${query}`, { fetch: authorized });

const on = (name, told) => stream.addEventListener(name, (message) => told(JSON.parse(message.data)));
on("subscribed", ({ mode }) => console.log(`subscribed: ${mode}`));
on("status", ({ storing }) => console.log(storing ? "the server stores again" : "the server's database is away"));
on("problem", ({ code, detail }) => console.error(`stream: ${code}: ${detail}`));
on("change", ({ change }) => console.log(`${change.kind}: ${change.resource} ${change.data?.name ?? change.resourceId}`));
on("event", ({ event }) => {
  // Trips, stops and connections come on the same topic.
  if (!event.geofenceId) return;
  console.log(`${event.type}: ${event.vehicleName} ${event.geofenceName ?? ""} at ${event.occurredAt ?? event.startedAt}`);
  events += 1;
  if (events >= until) stream.close();
});
stream.addEventListener("error", ({ code, message }) => {
  console.error(`stream: ${message ?? "cut"}`);
  // Any status but 200 ends it for good, such as 403.
  if (code) process.exitCode = 1;
});
