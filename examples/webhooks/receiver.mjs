// Receives webhooks and keeps a table of geofence events that stays right when late data revises or retracts them.
//
//     WAYPOST_SECRET=whsec_… node receiver.mjs TABLE [PORT]
//
// TABLE is a file of JSON. Answers 204 once an event is in it, so that an answer means stored. Signatures are verified by the library
// standardwebhooks.
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { Webhook } from "standardwebhooks";

const [file, port = "8000"] = process.argv.slice(2);
const webhook = new Webhook(process.env.WAYPOST_SECRET);
const MOST_BYTES = 5_000_000;

let table = {};
try {
  table = JSON.parse(readFileSync(file, "utf8"));
} catch (error) {
  if (error.code !== "ENOENT") throw error;
}

/** Puts an event into the table, unless a newer revision of it is there: events may come twice. */
function keep({ type, data }) {
  if (!type.startsWith("geofence.") || data.revision <= (table[data.id]?.revision ?? 0)) return;
  const { revision, status, type: kind, vehicleName: vehicle, geofenceName: geofence, occurredAt } = data;
  table[data.id] = { revision, status, kind, vehicle, geofence, occurredAt };
  writeFileSync(`${file}.new`, JSON.stringify(table));
  renameSync(`${file}.new`, file);
}

const server = createServer(async (request, response) => {
  const parts = [];
  let bytes = 0;
  for await (const part of request) {
    bytes += part.length;
    if (bytes > MOST_BYTES) return request.destroy();
    parts.push(part);
  }
  let event;
  try {
    event = webhook.verify(Buffer.concat(parts).toString("utf8"), request.headers);
  } catch {
    response.writeHead(401).end();
    return;
  }
  keep(event);
  response.writeHead(204).end();
});
server.listen(Number(port), "127.0.0.1", () => console.log(`listening on ${server.address().port}`));
