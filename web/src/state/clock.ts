// The server's clock, as far as it is known, once a second.

import { computed, signal } from "@preact/signals";

/** A clock that is further off says wrong times of day to whoever reads them. */
const WORTH_A_WORD_MS = 5_000;

let aheadMs = 0;

/** Now on the server, milliseconds since 1970; changes once a second. */
export const now = signal(Date.now());

/** How far this browser's clock is off, milliseconds; positive when the server is ahead. */
export const clockSkewMs = signal(0);

/** The same where it is worth a word, else 0. */
export const wrongByMs = computed(() => (Math.abs(clockSkewMs.value) > WORTH_A_WORD_MS ? clockSkewMs.value : 0));

/** Whether it is: what was reckoned by it before is reckoned again. */
export const isWrong = computed(() => wrongByMs.value !== 0);

/** Takes over what the server says the time is. */
export function serverSays(time: string): void {
  aheadMs = Date.parse(time) - Date.now();
  now.value = Date.now() + aheadMs;
  clockSkewMs.value = aheadMs;
}

setInterval(() => { now.value = Date.now() + aheadMs; }, 1000);
