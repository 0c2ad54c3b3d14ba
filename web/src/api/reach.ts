// Whether the server can be reached: once a request could not, it is asked until it can be again, and whoever shows what the
// server said asks anew.

import { signal } from "@preact/signals";

import { Problem } from "./problem";

const PAUSE_MS = 2000;
/** An answer that takes longer is none. */
const WITHIN_MS = 5000;
/** What a proxy says while the server behind it is away, and the server while its store is. */
const AWAY = [502, 503, 504];

/** How often the server was found again. Read it where something is asked, and it is asked again then. */
export const reached = signal(0);

let isLost = false;
let pause = 0;

/** Whether something was refused because the server, or its store, is away; `fetch` throws a TypeError then. One that is busy is there. */
export const isAway = (error: unknown): boolean =>
  error instanceof TypeError || (error instanceof Problem && AWAY.includes(error.status) && error.code !== "busy");

/** The server could not be reached: from now on it is looked for. */
export function lose(): void {
  if (isLost) return;
  isLost = true;
  pause = window.setTimeout(look, PAUSE_MS);
}

async function look(): Promise<void> {
  clearTimeout(pause);
  const isThere = await fetch("/readyz", { cache: "no-store", signal: AbortSignal.timeout(WITHIN_MS) }).then(({ ok }) => ok, () => false);
  clearTimeout(pause);
  if (!isLost) return;
  if (isThere) {
    isLost = false;
    reached.value += 1;
  } else pause = window.setTimeout(look, PAUSE_MS);
}

addEventListener("online", () => { if (isLost) void look(); });
