// What went wrong, for people to read and dismiss.

import { signal } from "@preact/signals";

import { isSignedOut, sentence } from "../api/problem";

/** Sentences shown, oldest first. */
export const notices = signal<readonly string[]>([]);

/** Shows what went wrong; that the session is over is said by the sign-in view. */
export function notice(error: unknown): void {
  if (isSignedOut(error)) return;
  const text = sentence(error);
  if (!notices.value.includes(text)) notices.value = [...notices.value, text];
}

export function dismiss(text: string): void {
  notices.value = notices.value.filter((shown) => shown !== text);
}
