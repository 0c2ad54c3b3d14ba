// How dates, numbers and measures are written: the settings of whoever is signed in, else of the organization shown, else this
// browser's. state/conventions.ts keeps it up to date; format.ts and numbers.ts write by it.

import { signal } from "@preact/signals";

export interface Conventions {
  /** A language tag that the browser knows; undefined is the browser's own. */
  readonly locale: string | undefined;
  /** An IANA time zone that the browser knows; undefined is the computer's. */
  readonly timeZone: string | undefined;
  readonly isImperial: boolean;
}

/** The zone of this computer, for what is made here; undefined where the browser does not tell it. */
export function ownTimeZone(): string | undefined {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  return timeZone === "Etc/Unknown" ? undefined : timeZone;
}

export const conventions = signal<Conventions>({ locale: undefined, timeZone: undefined, isImperial: false });
