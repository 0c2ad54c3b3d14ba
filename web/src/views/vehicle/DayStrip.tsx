// The day from left to right: trips, stops, silence; fences beneath and times too fast above. One stop of the Tab key, and
// arrow keys within.

import { dayOf, hour, instantOf } from "../../format";
import { strings } from "../../strings";
import { whatOf, whenOf } from "./DayList";
import type { Day, Part } from "./day";

const MARKS = ["00:00", "06:00", "12:00", "18:00"] as const;
const words = strings.vehicleDay;

interface Props {
  readonly day: Day;
  readonly parts: readonly Part[];
  /** Now, if it lies in the day. */
  readonly at: number | null;
  readonly label: string;
  readonly chosen: string | null;
  readonly pick: (part: string | null) => void;
}

export function DayStrip({ day, parts, at, label, chosen, pick }: Props) {
  const place = placesOf(day);
  const records = parts.filter(({ record }) => record !== null);
  const reachable = records.find(({ record }) => record?.id === chosen) ?? records[0];
  return (
    <div class="strip">
      <div class="strip-over" aria-hidden="true">
        {day.overspeeds.map(({ id, startedAt }) => <i key={id} style={{ insetInlineStart: place(Date.parse(startedAt), 0).insetInlineStart }} />)}
      </div>
      <div class="strip-parts" role="group" aria-label={label} onKeyDown={walk}>
        {parts.map((part) => (part.record ? (
          <button
            key={part.record.id} type="button" data-part={part.kind} aria-pressed={part.record.id === chosen} tabIndex={part === reachable ? 0 : -1}
            title={words.part(part.kind, whenOf(part, day), whatOf(part))} aria-label={words.part(part.kind, whenOf(part, day), whatOf(part))}
            style={place(part.from, part.to)} onClick={() => pick(part.record?.id ?? null)}
          />
        ) : <span key={part.from} data-part="silence" title={words.part("silence", whenOf(part, day), "")} style={place(part.from, part.to)} />))}
        {at !== null && <i class="strip-now" style={{ insetInlineStart: place(at, at).insetInlineStart }} />}
      </div>
      <div class="strip-fences" aria-hidden="true">
        {day.visits.map(({ id, enteredAt, exitedAt, geofenceName }) => (
          <span key={id} title={geofenceName} style={place(Date.parse(enteredAt), exitedAt ? Date.parse(exitedAt) : at ?? day.to)} />
        ))}
      </div>
      <div class="strip-hours quiet" aria-hidden="true">
        {MARKS.map((mark) => instantOf(`${day.day}T${mark}`)).filter((time) => dayOf(time) === day.day)
          .map((time) => <span key={time} style={{ insetInlineStart: place(time, time).insetInlineStart }}>{hour(time)}</span>)}
      </div>
      <ul class="strip-legend quiet" aria-hidden="true">
        {(["trip", "stop", "silence"] as const).filter((kind) => parts.some((part) => part.kind === kind)).map((kind) => <li key={kind} data-part={kind}>{words.legend[kind]}</li>)}
        {day.visits.length > 0 && <li data-part="fence">{words.legend.fence}</li>}
        {day.overspeeds.length > 0 && <li data-part="over">{words.legend.over}</li>}
      </ul>
    </div>
  );
}

/** Where a time lies on the strip, cut at its ends. */
function placesOf({ from, to }: Day) {
  const share = (at: number) => (100 * (Math.min(to, Math.max(from, at)) - from)) / (to - from);
  return (start: number, end: number) => ({ insetInlineStart: `${share(start).toFixed(3)}%`, inlineSize: `${Math.max(0, share(end) - share(start)).toFixed(3)}%` });
}

const STEPS: Readonly<Record<string, (place: number, count: number) => number>> = {
  ArrowLeft: (place) => place - 1,
  ArrowRight: (place) => place + 1,
  Home: () => 0,
  End: (_, count) => count - 1,
};

/** Arrow keys, Home and End move the focus along the strip. */
function walk(event: KeyboardEvent): void {
  const step = Object.hasOwn(STEPS, event.key) ? STEPS[event.key] : undefined;
  if (!step) return;
  event.preventDefault();
  const buttons = [...(event.currentTarget as HTMLElement).querySelectorAll("button")];
  const place = buttons.indexOf(event.target as HTMLButtonElement);
  buttons[Math.min(buttons.length - 1, Math.max(0, step(place, buttons.length)))]?.focus();
}
