// A polygon's corners as text: one a line, an empty line begins a hole.

import { useState } from "preact/hooks";

import type { Place, ShapeSpec } from "../../api/schema";
import { useFormDraft } from "../../parts/form";
import { strings } from "../../strings";
import { useId } from "preact/hooks";

const words = strings.manage.fences;
/** A text of more lines nobody reads, and it takes long to type in. */
const MOST_LINES = 2000;

type Polygon = Extract<ShapeSpec, { type: "polygon" }>;

export function CornersField() {
  const draft = useFormDraft();
  const id = useId();
  const shape = draft.at("/shape") as Polygon;
  const [typed, setTyped] = useState("");
  // what was typed stays as it was typed, while it means the corners there are, or nothing yet
  const now = parsed(typed);
  const text = now.wrongLine || same(now.shape, shape) ? typed : written(shape);
  const number = [shape.vertices, ...(shape.holes ?? [])].reduce((sum, ring) => sum + ring.length, 0);
  const input = (element: HTMLTextAreaElement) => {
    const read = parsed(element.value);
    setTyped(element.value);
    element.setCustomValidity(read.wrongLine ? words.cornersWrong(read.wrongLine) : "");
    if (!read.wrongLine) draft.put("/shape", read.shape);
  };
  if (number > MOST_LINES) return <p class="quiet">{words.cornersCount(number)}</p>;
  return (
    <div class="field">
      <label for={id}>{words.corners} <span class="quiet">{number > 0 && words.cornersCount(number)}</span></label>
      <textarea id={id} rows={6} class="corners" spellcheck={false} required aria-describedby={`${id}-hint`} value={text} onInput={(event) => input(event.currentTarget)} />
      <p class="hint" id={`${id}-hint`}>{words.cornersHint}</p>
    </div>
  );
}

function written({ vertices, holes = [] }: Polygon): string {
  return [vertices, ...holes].map((ring) => ring.map(({ latitude, longitude }) => `${latitude}, ${longitude}`).join("\n")).join("\n\n");
}

const same = (a: Polygon, b: Polygon) => JSON.stringify([a.vertices, a.holes]) === JSON.stringify([b.vertices, b.holes ?? []]);

function parsed(text: string): { shape: Polygon; wrongLine: number } {
  const rings: Place[][] = [[]];
  let wrongLine = 0;
  text.split("\n").forEach((line, index) => {
    if (line.trim() === "") {
      if (rings.at(-1)?.length) rings.push([]);
      return;
    }
    const [latitude, longitude, ...rest] = line.trim().split(/[,;\s]+/).map(Number);
    if (latitude === undefined || longitude === undefined || rest.length > 0 || Number.isNaN(latitude + longitude)) wrongLine ||= index + 1;
    else rings.at(-1)?.push({ latitude, longitude });
  });
  const [vertices = [], ...holes] = rings.filter((ring, index) => index === 0 || ring.length > 0);
  return { shape: { type: "polygon", vertices, holes }, wrongLine };
}
