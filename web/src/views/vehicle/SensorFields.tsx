// A vehicle's fuel sensor: what its number is, what that is in litres, and which numbers are none.

import { useState } from "preact/hooks";

import type { Sensor } from "../../api/schema";
import { labelled, metric, shown } from "../../format";
import { type Draft, Field, Row, SelectField, useFormDraft } from "../../parts/form";
import { NumberField } from "../../parts/NumberField";
import { numberOf, numberText } from "../../parts/number_text";
import { strings } from "../../strings";

const OF = "/fuel/sensor";
const CALIBRATION = `${OF}/calibration`;
const words = strings.manage.sensor;

type Point = NonNullable<Sensor["calibration"]>[number];

export function SensorFields() {
  const draft = useFormDraft();
  const kind = draft.at(`${OF}/kind`) as Sensor["kind"] | null | undefined;
  const readsTank = kind && kind !== "cumulative";
  // what a counter must not have is shown while it has it
  const hasCalibration = readsTank || (kind && pointsOf(draft).length > 0);
  return (
    <>
      <SelectField of={`${OF}/kind`} label={words.kind} options={words.kinds} hint={words.hints[kind ?? "none"]} />
      {hasCalibration && <CalibrationField />}
      {kind && <Row><NumberField of={`${OF}/minValid`} kind="signed" label={words.minValid} /><NumberField of={`${OF}/maxValid`} kind="signed" label={words.maxValid} /></Row>}
      {readsTank && <NumberField of={`${OF}/windowSeconds`} label={words.window} hint={words.windowHint} />}
    </>
  );
}

/** Points as text: one a line, the sensor's number and what is in the tank then. */
function CalibrationField() {
  const draft = useFormDraft();
  const points = pointsOf(draft);
  const [typed, setTyped] = useState("");
  // what was typed stays as it was typed, while it means the points there are, or nothing yet
  const read = parsed(typed);
  const text = read.wrongLine || JSON.stringify(read.points) === JSON.stringify(points) ? typed : written(points);
  const input = (element: HTMLTextAreaElement) => {
    const { points, wrongLine } = parsed(element.value);
    setTyped(element.value);
    element.setCustomValidity(wrongLine ? words.calibrationWrong(wrongLine) : "");
    if (!wrongLine) draft.put(CALIBRATION, points);
  };
  return (
    <Field of={CALIBRATION} label={labelled(words.calibration, "volume")} hint={words.calibrationHint}>
      {(bound) => <textarea {...bound} rows={4} class="corners" spellcheck={false} value={text} onInput={(event) => input(event.currentTarget)} />}
    </Field>
  );
}

const pointsOf = (draft: Draft) => (draft.at(CALIBRATION) ?? []) as Point[];

const written = (points: readonly Point[]): string =>
  points.map(({ raw, liters }) => `${numberText(raw, "signed")} ${Number(shown("volume", liters).toFixed(2))}`).join("\n");

function parsed(text: string): { points: Point[]; wrongLine: number } {
  const points: Point[] = [];
  let wrongLine = 0;
  text.split("\n").forEach((line, index) => {
    if (line.trim() === "") return;
    const [raw, volume, ...rest] = line.trim().split(/[;\s]+/).map((number) => numberOf(number, "signed") ?? NaN);
    if (raw === undefined || volume === undefined || rest.length > 0 || Number.isNaN(raw + volume)) wrongLine ||= index + 1;
    else points.push({ raw, liters: Number(metric("volume", volume).toFixed(3)) });
  });
  return { points, wrongLine };
}
