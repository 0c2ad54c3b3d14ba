// The socket of the live feed, away from the thread that draws: megabytes of JSON a second are read here, and handed over as
// columns. Watches whether the other side still answers, also while the page is busy or hidden.

import { Numbering, buffersOf } from "./columns";
import type { FeedVehicle, Numbered, Order, Report, Said } from "./protocol";

/** Silence after which the server is asked whether it is there: at most so much of a cut's first second is lost. */
const ASK_AFTER_MS = 400;
/** Silence after which it is not, unless answers are known to take longer. */
const SILENT_AFTER_MS = 850;
/** Answers that take longer than this are no measure of the way, but of a server or a browser that was busy. */
const LONGEST_ANSWER_MS = 500;
/** A silent connection is given up: whatever the browser thinks, nobody is there. */
const DEAD_AFTER_MS = 10_000;
const LOOK_EVERY_MS = 100;

const PING = JSON.stringify({ type: "ping" });
const numbering = new Numbering();
let end = () => {};

function report(told: Report, buffers: ArrayBuffer[] = []): void {
  postMessage(told, { transfer: buffers });
}

function open(connection: number, url: string, firstWords: readonly string[]): void {
  const socket = new WebSocket(url);
  let heardAt = performance.now();
  let askedAt = 0;
  let answersTakeMs = 0;
  let isSilent = false;
  const finish = (): void => {
    end();
    report({ connection, is: "closed" });
  };
  const look = setInterval(() => {
    const silence = performance.now() - heardAt;
    if (silence > DEAD_AFTER_MS) finish();
    else if (silence > SILENT_AFTER_MS + 2 * answersTakeMs && !isSilent) {
      isSilent = true;
      report({ connection, is: "silent" });
    } else if (silence > ASK_AFTER_MS && askedAt === 0 && socket.readyState === WebSocket.OPEN) {
      askedAt = performance.now();
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
    if (isSilent) report({ connection, is: "heard" });
    isSilent = false;
    const said = JSON.parse(data) as Said<readonly FeedVehicle[]>;
    if (said.type === "pong" && askedAt > 0) {
      answersTakeMs = (answersTakeMs + Math.min(LONGEST_ANSWER_MS, heardAt - askedAt)) / 2;
      askedAt = 0;
    }
    tell(connection, said);
  };
}

function tell(connection: number, said: Said<readonly FeedVehicle[]>): void {
  if (said.type !== "snapshot" && said.type !== "delta") {
    report({ connection, is: "said", said });
    return;
  }
  const vehicles: Numbered = numbering.columns(said.vehicles);
  report({ connection, is: "said", said: { ...said, vehicles } }, buffersOf(vehicles));
}

onmessage = ({ data }: MessageEvent<Order>) => {
  end();
  if (data.do === "open") open(data.connection, data.url, data.firstWords);
};
