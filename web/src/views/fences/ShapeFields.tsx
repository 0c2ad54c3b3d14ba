// A fence's shape in numbers, for the keyboard and for whoever knows them; and the tools of the map.

import type { Signal } from "@preact/signals";

import type { Place, ShapeSpec } from "../../api/schema";
import { corners } from "../../map/draw/rings";
import { areaOf } from "../../map/area";
import type { Desk } from "../../map/draw/session";
import type { Tool } from "../../map/draw/shape_drawing";
import { placeOf } from "../../map/place_text";
import { measure } from "../../format";
import { Row, useFormDraft } from "../../parts/form";
import { MeasureField, NumberField } from "../../parts/NumberField";
import { strings } from "../../strings";
import { CornersField } from "./CornersField";

const words = strings.manage.fences;
const draw = strings.manage.draw;
const FIRST_RADIUS_METERS = 200;

/** Takes the last step of drawing back, or does it again: the corner that was set last, else the whole shape. */
export function stepShape(desk: Desk, isBack: boolean): void {
  if (desk.step(isBack)) return;
  const shape = isBack ? desk.history.undo() : desk.history.redo();
  if (!shape) return;
  desk.take(shape);
  // nothing is there to be changed: it is drawn again
  if (shape.type === "circle" && shape.center.latitude === null) desk.tool.value = "circle";
  else if (shape.type === "polygon" && shape.vertices.length === 0) desk.tool.value = "polygon";
  else desk.tool.value = "select";
}

export function ShapeFields({ desk, isNew }: { desk: Desk; isNew: boolean }) {
  const { tool, history } = desk;
  const draft = useFormDraft();
  const shape = draft.at("/shape") as ShapeSpec;
  const begin = (type: "circle" | "polygon") => {
    draft.put("/shape", type === "circle"
      ? { type, center: { latitude: null, longitude: null }, radiusMeters: FIRST_RADIUS_METERS }
      : { type, vertices: [], holes: [] });
    tool.value = type;
  };
  const paste = (event: ClipboardEvent) => {
    const place = placeOf(event.clipboardData?.getData("text") ?? "");
    if (!place) return;
    event.preventDefault();
    draft.put("/shape/center", place);
  };
  const isPolygon = shape.type === "polygon";
  const area = areaOf(shape);
  const hasCorners = isPolygon && shape.vertices.length > 2;
  return (
    <fieldset class="shape">
      <legend>{words.shape}</legend>
      <div class="tools" role="toolbar" aria-label={draw.tools}>
        <button type="button" aria-pressed={shape.type === "circle"} onClick={() => begin("circle")}>◯ {isNew ? draw.circle : words.circle}</button>
        <button type="button" aria-pressed={isPolygon} onClick={() => begin("polygon")}>⬠ {isNew ? draw.polygon : words.polygon}</button>
        {hasCorners && <Toggle tool={tool} of="hole" label={draw.hole} />}
        {hasCorners && <Toggle tool={tool} of="remove" label={draw.remove} />}
        <span class="undo">
          <button type="button" aria-label={draw.undo} title={draw.undo} disabled={!history.canUndo.value && tool.value === "select"} onClick={() => stepShape(desk, true)}>↶</button>
          <button type="button" aria-label={draw.redo} title={draw.redo} disabled={!history.canRedo.value && tool.value === "select"} onClick={() => stepShape(desk, false)}>↷</button>
        </span>
      </div>
      {shape.type === "circle" && (
        <>
          <div onPaste={paste}>
            <Row>
              <NumberField of="/shape/center/latitude" kind="degrees" label={words.latitude} hint={words.pasteHint} required />
              <NumberField of="/shape/center/longitude" kind="degrees" label={words.longitude} required />
            </Row>
          </div>
          <MeasureField of="/shape/radiusMeters" quantity="length" label={words.radius} required />
        </>
      )}
      {isPolygon && <CornersField />}
      {isPolygon && <Holes holes={shape.holes ?? []} />}
      {shape.type === "multiPolygon" && <p class="quiet">{words.parts(shape.polygons.length, corners(shape))}</p>}
      {area > 0 && <p class="quiet">{words.area} {measure("area", area)}</p>}
      <Refused />
    </fieldset>
  );
}

function Toggle({ tool, of, label }: { tool: Signal<Tool>; of: Tool; label: string }) {
  return <button type="button" aria-pressed={tool.value === of} onClick={() => { tool.value = tool.value === of ? "select" : of; }}>{label}</button>;
}

function Holes({ holes }: { holes: readonly (readonly Place[])[] }) {
  const draft = useFormDraft();
  return (
    <div class="tools">
      {holes.map((_, index) => (
        <button key={index} type="button" onClick={() => draft.put("/shape/holes", holes.filter((_, other) => other !== index))}>{draw.removeHole(index + 1)}</button>
      ))}
    </div>
  );
}

/** What is wrong with the shape as such, or with a corner: where no single field shows it. */
function Refused() {
  const draft = useFormDraft();
  draft.shown.add("/shape");
  const own = ["/shape/center/latitude", "/shape/center/longitude", "/shape/radiusMeters"];
  const wrong = [...draft.refused.value].filter(([at]) => at.startsWith("/shape") && !own.includes(at));
  return (
    <>
      {wrong.map(([at, detail]) => <p key={at} class="wrong" data-pointer={at}>{placeIn(at)}{detail}</p>)}
    </>
  );
}

/** `/shape/vertices/3` is corner 4, `/shape/holes/0/2` corner 3 of hole 1. */
function placeIn(pointer: string): string {
  const [, hole, corner] = /holes\/(\d+)(?:\/(\d+))?/.exec(pointer) ?? [];
  if (hole) return `${words.holeAt(Number(hole) + 1, corner === undefined ? undefined : Number(corner) + 1)}: `;
  const [, vertex] = /vertices\/(\d+)/.exec(pointer) ?? [];
  return vertex ? `${words.cornerAt(Number(vertex) + 1)}: ` : "";
}
