// A dispatcher: who is where, who is inside which geofence, and every entry and exit once, over the live feed.
//
// WAYPOST_URL: the server. WAYPOST_EMAIL, WAYPOST_PASSWORD: a user of the organization; an operator also sets
// WAYPOST_ORGANIZATION. WAYPOST_UNTIL_EVENTS: end after so many events (for the test).
import WebSocket from "ws";

const url = process.env.WAYPOST_URL ?? "http://127.0.0.1:8080";
const organizationId = process.env.WAYPOST_ORGANIZATION;
const until = Number(process.env.WAYPOST_UNTIL_EVENTS ?? Infinity);
// The server says something at least every 15 s (feedHeartbeatInterval).
const SILENCE_MS = 60_000;
const LONGEST_PAUSE_MS = 30_000;

/** Where to go on: from the last event, or from what the server says when nothing happens. */
let cursor;
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

/** Watches until the socket closes; says why it did. */
async function watch() {
  const token = await signIn();
  const socket = new WebSocket(url.replace(/^http/, "ws") + "/v1/ws/live", { headers: { Authorization: `Bearer ${token}` } });
  return new Promise((resolve) => {
    let silence;
    const alive = () => {
      clearTimeout(silence);
      silence = setTimeout(() => socket.terminate(), SILENCE_MS);
    };
    alive();
    socket.on("open", () => {
      const filter = organizationId ? { organizationId } : {};
      socket.send(JSON.stringify({ type: "subscribe", id: "all", topics: ["positions", "occupancy", "events"], filter, cursor }));
    });
    socket.on("message", (text) => {
      alive();
      hear(JSON.parse(text), socket);
    });
    socket.on("error", (error) => console.error(`dispatcher: ${error.message}`));
    socket.on("close", (code) => {
      clearTimeout(silence);
      resolve(code);
    });
  });
}

function hear(message, socket) {
  // A heartbeat names the cursor of each subscription: where to go on if nothing happens for long.
  cursor = message.cursor ?? message.cursors?.all ?? cursor;
  if (message.type === "subscribed") {
    console.log(`subscribed: ${message.mode ?? "anew"}`);
  } else if (message.type === "reset") {
    // Too much was missed to be told one by one: a snapshot follows.
    console.log("the feed begins anew");
  } else if (message.type === "event") {
    const { event } = message;
    // Trips, stops and connections come on the same topic.
    if (!event.geofenceId) return;
    console.log(`${event.type}: ${event.vehicleName} ${event.geofenceName ?? ""} at ${event.occurredAt ?? event.startedAt}`);
    events += 1;
    if (events >= until) socket.close(1000);
  } else if (message.type === "error") {
    console.error(`dispatcher: ${message.code}: ${message.detail}`);
  }
}

for (let failures = 0; events < until; ) {
  const before = events;
  try {
    const code = await watch();
    console.log(`closed: ${code}`);
  } catch (error) {
    console.error(`dispatcher: ${error.message}`);
  }
  if (events >= until) break;
  failures = events > before ? 0 : failures + 1;
  const pause = Math.min(2 ** failures * 500, LONGEST_PAUSE_MS) * (0.5 + Math.random());
  await new Promise((resolve) => setTimeout(resolve, pause));
}
