// What went wrong, for people to read and dismiss.

import { effect, signal } from "@preact/signals";

import { isSignedOut, sentence } from "../api/problem";
import { isAway, reached } from "../api/reach";

/** Sentences shown, oldest first. */
export const notices = signal<readonly string[]>([]);
/** Those of them that say no more than that the server is away. */
const ofAway = new Set<string>();

/** Shows what went wrong; that the session is over is said by the sign-in view. */
export function notice(error: unknown): void {
  if (isSignedOut(error)) return;
  const text = sentence(error);
  if (isAway(error)) ofAway.add(text);
  if (!notices.value.includes(text)) notices.value = [...notices.value, text];
}

export function dismiss(text: string): void {
  notices.value = notices.value.filter((shown) => shown !== text);
}

// what was asked in vain is asked again then
effect(() => {
  if (reached.value === 0) return;
  notices.value = notices.peek().filter((shown) => !ofAway.has(shown));
  ofAway.clear();
});
