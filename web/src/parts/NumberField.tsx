// A field of a number, and one of a measure in the units in force.

import { useLayoutEffect, useRef, useState } from "preact/hooks";

import { type Quantity, labelled, metric, shown } from "../format";
import { Field, type FieldProps, useFormDraft } from "./form";
import { type NumberKind, numberOf, numberText, whyNoNumber } from "./number_text";

interface NumberProps extends FieldProps {
  readonly required?: boolean;
  readonly kind?: NumberKind;
  /** The number as the field shows it, where that is another than the member's; and back. */
  readonly written?: (value: number) => number;
  readonly meant?: (shown: number) => number;
}

/** What was typed, and the member's value from then on. */
interface Typed {
  readonly text: string;
  readonly value: number | null;
}

/** Keyboards of numbers on a phone may have no minus. */
const INPUT_MODES = { whole: "numeric", measure: "decimal", signed: "text", degrees: "text" } as const satisfies Record<NumberKind, string>;

const same = (value: number): number => value;

/** A number as people write it; empty is null. */
export function NumberField({ required = false, kind = "measure", written = same, meant = same, ...field }: NumberProps) {
  const draft = useFormDraft();
  const element = useRef<HTMLInputElement>(null);
  const [typed, setTyped] = useState<Typed | null>(null);
  const value = (draft.at(field.of) ?? null) as number | null;
  const said = (text: string): number | null => {
    const number = numberOf(text, kind);
    return number === null ? null : meant(number);
  };
  // what was typed stays as it was typed, until the value is set from elsewhere: `1.` is on its way to 1.5, `-` to -97
  const number = typed && said(typed.text);
  const isTyped = typed !== null && typed.value === value && (Number.isNaN(number) || number === value);
  const text = isTyped ? typed.text : value === null ? "" : numberText(written(value), kind);
  const wrong = isTyped ? whyNoNumber(text, kind) : "";
  useLayoutEffect(() => element.current?.setCustomValidity(wrong), [wrong]);
  useLayoutEffect(() => { if (!isTyped) setTyped(null); }, [isTyped]);
  const input = (now: string) => {
    const meansNow = said(now);
    const isNumber = !Number.isNaN(meansNow);
    setTyped({ text: now, value: isNumber ? meansNow : value });
    if (isNumber) draft.put(field.of, meansNow);
  };
  return (
    <Field {...field}>
      {(bound) => (
        <input
          {...bound} ref={element} inputMode={INPUT_MODES[kind]} autocomplete="off" required={required} value={text}
          onInput={(event) => input(event.currentTarget.value)}
        />
      )}
    </Field>
  );
}

/** A metric number, written in the units in force. */
export function MeasureField({ of, quantity, label, ...field }: FieldProps & { readonly quantity: Quantity; readonly required?: boolean }) {
  const written = (value: number) => Number(shown(quantity, value).toFixed(2));
  return <NumberField of={of} label={labelled(label, quantity)} written={written} meant={(value) => Number(metric(quantity, value).toFixed(6))} {...field} />;
}
