// Numbers as people read them where they are.

import { computed } from "@preact/signals";

import { conventions } from "./conventions";

const upTo = computed(() => {
  const { locale } = conventions.value;
  return [0, 1, 2].map((digits) => new Intl.NumberFormat(locale, { maximumFractionDigits: digits }));
});

/** A number with up to so many digits behind the point. */
export const decimal = (value: number, digits: 0 | 1 | 2): string => upTo.value[digits]?.format(value) ?? String(value);

/** A number without a fraction. */
export const whole = (value: number): string => decimal(value, 0);

/** How many of something. */
export const count = (number: number, one: string, many = `${one}s`): string => `${whole(number)} ${number === 1 ? one : many}`;
