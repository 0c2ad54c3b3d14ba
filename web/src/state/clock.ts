// The server's clock, as far as it is known, once a second.

import { signal } from "@preact/signals";

let aheadMs = 0;

/** Now on the server, milliseconds since 1970; changes once a second. */
export const now = signal(Date.now());

/** How far this browser's clock is off, milliseconds; positive when the server is ahead. */
export const clockSkewMs = signal(0);

/** Takes over what the server says the time is. */
export function serverSays(time: string): void {
  aheadMs = Date.parse(time) - Date.now();
  clockSkewMs.value = aheadMs;
}

setInterval(() => { now.value = Date.now() + aheadMs; }, 1000);
