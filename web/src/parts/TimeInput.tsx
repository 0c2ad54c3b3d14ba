// Inputs of a day, or of a time of one. A year of more than four digits is one here as little as at the server, though browsers take it.

import { useLayoutEffect, useRef } from "preact/hooks";

import { isDay } from "../format";
import { strings } from "../strings";

/** With a last day, a browser asks for no more digits than it has. */
const LAST = { date: "9999-12-31", "datetime-local": "9999-12-31T23:59" };

interface TimeProps {
  readonly type: keyof typeof LAST;
  readonly value: string;
  /** Takes what is written, and what is no time as it is: with that a form is not sent. */
  readonly onText: (text: string) => void;
  readonly id?: string;
  readonly required?: boolean;
  readonly "aria-label"?: string;
  readonly "aria-invalid"?: true;
  readonly "aria-describedby"?: string;
}

/** Whether a text of such an input, which is not empty, names a time. */
export const isTime = (text: string): boolean => isDay(text.split("T")[0] ?? "");

export function TimeInput({ type, value, onText, ...input }: TimeProps) {
  const element = useRef<HTMLInputElement>(null);
  const wrong = value === "" || isTime(value) ? "" : strings.manage.form.year;
  useLayoutEffect(() => element.current?.setCustomValidity(wrong), [wrong]);
  return <input {...input} ref={element} type={type as "date"} max={LAST[type]} autocomplete="off" value={value} onInput={(event) => onText(event.currentTarget.value)} />;
}

interface DayProps {
  readonly label: string;
  readonly day: string;
  readonly last: string;
  readonly onPick: (day: string) => void;
}

/** Picks a day up to the last one that there is something of; of another one the browser says at the field why it is not taken. */
export function DayInput({ label, day, last, onPick }: DayProps) {
  const pick = (field: HTMLInputElement) => {
    if (isDay(field.value) && field.value <= last) onPick(field.value);
    else field.reportValidity();
  };
  return <input type="date" aria-label={label} value={day} max={last} onChange={(event) => pick(event.currentTarget)} />;
}
