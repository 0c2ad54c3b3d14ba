// The socket of the live feed, away from the thread that draws: megabytes of JSON a second are read here, and handed over as
// columns. Watches whether the other side still answers, also while the page is busy or hidden.

import { Numbering, buffersOf } from "./columns";
import { Patience } from "./patience";
import type { FeedVehicle, Numbered, Order, Report, Said, Suspected } from "./protocol";

/** Silence after which the server is asked whether it is there: at most so much of a cut's first second is lost. */
const ASK_AFTER_MS = 300;
/** A silent connection is given up: whatever the browser thinks, nobody is there. */
const DEAD_AFTER_MS = 10_000;
const LOOK_EVERY_MS = 50;
/** Of a time in which the worker did not run, no more counts as silence: what came in it is still to be read. */
const LONGEST_GAP_MS = 250;

const PING = JSON.stringify({ type: "ping" });
const numbering = new Numbering();
let end = () => {};

function report(told: Report, buffers: ArrayBuffer[] = []): void {
  postMessage(told, { transfer: buffers });
}

function open(connection: number, url: string, firstWords: readonly string[]): void {
  const socket = new WebSocket(url);
  let heardAt = performance.now();
  let lookedAt = heardAt;
  let silentMs = 0;
  let askedAt = 0;
  const patience = new Patience();
  let isSilent = false;
  const finish = (): void => {
    end();
    report({ connection, is: "closed" });
  };
  const look = setInterval(() => {
    const now = performance.now();
    silentMs += Math.min(LONGEST_GAP_MS, now - lookedAt);
    lookedAt = now;
    if (now - heardAt > DEAD_AFTER_MS) finish();
    else if (silentMs > ASK_AFTER_MS + patience.milliseconds && !isSilent) {
      isSilent = true;
      report({ connection, is: "silent" });
    } else if (silentMs > ASK_AFTER_MS && askedAt === 0 && socket.readyState === WebSocket.OPEN) {
      askedAt = now;
      socket.send(PING);
    }
  }, LOOK_EVERY_MS);
  end = () => {
    end = () => {};
    clearInterval(look);
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  };
  socket.onopen = () => firstWords.forEach((words) => socket.send(words));
  socket.onclose = finish;
  socket.onmessage = ({ data }: MessageEvent<string>) => {
    heardAt = performance.now();
    silentMs = 0;
    lookedAt = heardAt;
    if (isSilent) report({ connection, is: "heard" });
    isSilent = false;
    const said = JSON.parse(data) as Said<readonly FeedVehicle[]>;
    if (said.type === "pong" && askedAt > 0) {
      patience.learn(heardAt - askedAt);
      askedAt = 0;
    }
    tell(connection, said);
  };
}

/** Vehicles of which a refuel or drain is suspected, so that its end is told too. */
const suspects = new Set<string>();

function suspectedOf(vehicles: readonly FeedVehicle[]): Suspected[] {
  return vehicles.flatMap(({ vehicleId, fuel }) => {
    const event = fuel?.provisional ?? null;
    const isNews = event !== null || (fuel !== undefined && suspects.delete(vehicleId));
    if (event) suspects.add(vehicleId);
    return isNews ? [{ vehicleId, event }] : [];
  });
}

function tell(connection: number, said: Said<readonly FeedVehicle[]>): void {
  if (said.type !== "snapshot" && said.type !== "delta") {
    report({ connection, is: "said", said });
    return;
  }
  const vehicles: Numbered = numbering.columns(said.vehicles);
  const suspected = suspectedOf(said.vehicles);
  if (said.type === "delta") {
    // shown by a fix that was never stored, which was its only one
    const nowhere = said.vehicles.filter(({ position }) => position === null).map(({ vehicleId }) => vehicleId);
    report({ connection, is: "said", said: { ...said, vehicles, suspected, removes: [...said.removes ?? [], ...nowhere] } }, buffersOf(vehicles));
  } else {
    report({ connection, is: "said", said: { ...said, vehicles, suspected } }, buffersOf(vehicles));
  }
}

onmessage = ({ data }: MessageEvent<Order>) => {
  end();
  if (data.do === "open") open(data.connection, data.url, data.firstWords);
};
