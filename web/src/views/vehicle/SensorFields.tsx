// A vehicle's fuel sensor: what its number is, what that is in litres, and which numbers are none.

import { useState } from "preact/hooks";

import type { Sensor } from "../../api/schema";
import { labelled, metric, shown } from "../../format";
import { Field, NumberField, Row, SelectField, useFormDraft } from "../../parts/form";
import { strings } from "../../strings";

const OF = "/fuel/sensor";
const words = strings.manage.sensor;

type Point = NonNullable<Sensor["calibration"]>[number];

export function SensorFields() {
  const draft = useFormDraft();
  const sensor = draft.at(OF) as Sensor | null | undefined;
  const readsTank = sensor && sensor.kind !== "cumulative";
  // without a kind there is no sensor
  const put = (kind: string | null) => draft.put(OF, kind && { ...sensor, kind });
  return (
    <>
      <SelectField of={`${OF}/kind`} label={words.kind} options={words.kinds} hint={words.hints[sensor?.kind ?? "none"]} put={put} />
      {readsTank && <CalibrationField />}
      {sensor && <Row><NumberField of={`${OF}/minValid`} label={words.minValid} /><NumberField of={`${OF}/maxValid`} label={words.maxValid} /></Row>}
      {readsTank && <NumberField of={`${OF}/windowSeconds`} label={words.window} hint={words.windowHint} />}
    </>
  );
}

/** Points as text: one a line, the sensor's number and what is in the tank then. */
function CalibrationField() {
  const draft = useFormDraft();
  const of = `${OF}/calibration`;
  const points = (draft.at(of) ?? []) as Point[];
  const [typed, setTyped] = useState("");
  // what was typed stays as it was typed, while it means the points there are, or nothing yet
  const read = parsed(typed);
  const text = read.wrongLine || JSON.stringify(read.points) === JSON.stringify(points) ? typed : written(points);
  const input = (element: HTMLTextAreaElement) => {
    const { points, wrongLine } = parsed(element.value);
    setTyped(element.value);
    element.setCustomValidity(wrongLine ? words.calibrationWrong(wrongLine) : "");
    if (!wrongLine) draft.put(of, points);
  };
  return (
    <Field of={of} label={labelled(words.calibration, "volume")} hint={words.calibrationHint}>
      {(bound) => <textarea {...bound} rows={4} class="corners" spellcheck={false} value={text} onInput={(event) => input(event.currentTarget)} />}
    </Field>
  );
}

const written = (points: readonly Point[]): string =>
  points.map(({ raw, liters }) => `${raw} ${Number(shown("volume", liters).toFixed(2))}`).join("\n");

function parsed(text: string): { points: Point[]; wrongLine: number } {
  const points: Point[] = [];
  let wrongLine = 0;
  text.split("\n").forEach((line, index) => {
    if (line.trim() === "") return;
    const [raw, volume, ...rest] = line.trim().split(/[;\s]+/).map((number) => Number(number.replace(",", ".")));
    if (raw === undefined || volume === undefined || rest.length > 0 || Number.isNaN(raw + volume)) wrongLine ||= index + 1;
    else points.push({ raw, liters: Number(metric("volume", volume).toFixed(3)) });
  });
  return { points, wrongLine };
}
