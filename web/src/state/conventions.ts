// Whose settings say how dates, numbers and measures are written: one's own, else those of the organization shown.

import { effect } from "@preact/signals";

import { me } from "../api/session";
import { conventions } from "../conventions";
import { organization } from "./fleet";

/** The server knows more tags and zones than a browser may. */
function known<T>(value: T | null | undefined, check: (value: T) => unknown): T | undefined {
  try {
    if (value != null) check(value);
    return value ?? undefined;
  } catch {
    return undefined;
  }
}

const isLocale = (locale: string) => new Intl.NumberFormat(locale);
const isZone = (timeZone: string) => new Intl.DateTimeFormat("en", { timeZone });

/** Keeps the conventions up to date, from now on. */
export function followConventions(): void {
  effect(() => {
    const settings = organization.value?.settings;
    conventions.value = {
      locale: known(me.value?.locale, isLocale) ?? known(settings?.locale, isLocale),
      timeZone: known(me.value?.timezone, isZone) ?? known(settings?.timezone, isZone),
      isImperial: settings?.units === "imperial",
    };
  });
}
