// From when on a change of a fence holds.

import { useState } from "preact/hooks";

import { dayAndTime, instantOf } from "../../format";
import { Field, timeHint, useFormDraft } from "../../parts/form";
import { TimeInput, isTime } from "../../parts/TimeInput";
import { strings } from "../../strings";

const words = strings.manage.fences;

type Choice = "now" | "always" | "at";

const choiceOf = (from: unknown): Choice => (from === undefined ? "now" : from === null ? "always" : "at");

/** `now` is from when on the present version holds; null is always. */
export function EffectiveField({ now, isNew }: { now: string | null | undefined; isNew: boolean }) {
  const draft = useFormDraft();
  const [choice, choose] = useState(() => choiceOf(draft.at("/effectiveFrom")));
  const [typed, setTyped] = useState("");
  const pick = (picked: Choice) => {
    choose(picked);
    setTyped("");
    draft.put("/effectiveFrom", picked === "always" ? null : undefined);
  };
  const write = (text: string) => {
    setTyped(text);
    draft.put("/effectiveFrom", isTime(text) ? new Date(instantOf(text)).toISOString() : undefined);
  };
  return (
    <>
      {!isNew && <p class="quiet">{now ? dayAndTime(now) : words.effectiveAlways}</p>}
      <Field of="/effectiveFrom" label={words.effectiveFrom} hint={choice === "at" ? timeHint(words.effectiveHint) : words.effectiveHint}>
        {(bound) => (
          <select {...bound} value={choice} onChange={(event) => pick(event.currentTarget.value as Choice)}>
            <option value="now">{words.effectiveNow}</option>
            <option value="always">{words.effectiveAlways}</option>
            <option value="at">{words.effectiveAt}</option>
          </select>
        )}
      </Field>
      {choice === "at" && <TimeInput type="datetime-local" required aria-label={words.effectiveFrom} value={typed} onText={write} />}
    </>
  );
}
