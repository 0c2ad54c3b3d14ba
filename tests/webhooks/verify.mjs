// Has npm's standardwebhooks and svix judge what tests/webhooks/keep.py kept; fails if one of them judges otherwise than it must.
//
//     node tests/webhooks/verify.mjs FILE FORMER_SECRET NEW_SECRET
//
// What has one signature was sent before the secret was replaced; what has two, after it.
import assert from "node:assert";
import { readFileSync } from "node:fs";
import * as standardwebhooks from "standardwebhooks";
import * as svix from "svix";

const libraries = { standardwebhooks, svix };

/** Whether a library takes a delivery for one that is signed by a secret. */
function takes({ Webhook, WebhookVerificationError }, secret, body, headers) {
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch (error) {
    if (error instanceof WebhookVerificationError) return false;
    throw error;
  }
}

const [file, former, recent] = process.argv.slice(2);
const counts = { 1: 0, 2: 0 };
for (const line of readFileSync(file, "utf8").trimEnd().split("\n")) {
  const delivery = JSON.parse(line);
  const body = Buffer.from(delivery.body, "base64").toString("utf8");
  const headers = Object.fromEntries(Object.entries(delivery.headers).map(([name, value]) => [name.toLowerCase(), value]));
  const signatures = headers["webhook-signature"].split(" ").length;
  counts[signatures] += 1;
  const later = String(Number(headers["webhook-timestamp"]) + 1);
  for (const [name, library] of Object.entries(libraries)) {
    const told = [former, recent].map((secret) => takes(library, secret, body, headers));
    assert.deepEqual(told, [true, signatures === 2], `${name}: ${line}`);
    const forged = [
      [`${body} `, headers],
      [body, { ...headers, "webhook-id": "another" }],
      [body, { ...headers, "webhook-timestamp": later }],
    ];
    assert(!forged.some((one) => takes(library, former, ...one)), `${name} takes what was forged of ${line}`);
  }
}
assert(counts[1] > 0 && counts[2] > 0, JSON.stringify(counts));
const names = Object.keys(libraries).join(" and ");
console.log(`webhooks: ${names} of npm take ${counts[1]} deliveries with one signature and ${counts[2]} with two`);
