// The day in words: from when to when, how far, how long, who drove, and in which fences it began and ended.

import { duration, hourOfDay, hourOn, inFull, measure } from "../../format";
import { NearTown } from "../../parts/NearTown";
import { fenceName } from "../../state/fleet";
import { strings } from "../../strings";
import type { Day, Part } from "./day";

const words = strings.vehicleDay;

interface Props {
  readonly day: Day;
  readonly parts: readonly Part[];
  readonly now: number;
  readonly chosen: string | null;
  readonly pick: (part: string | null) => void;
}

export function DayList({ day, parts, now, chosen, pick }: Props) {
  return (
    <ol class="day-list">
      {parts.map((part) => {
        const { kind, from, record } = part;
        const isChosen = record !== null && record.id === chosen;
        const line = <Line day={day} part={part} now={now} />;
        return (
          <li key={`${kind} ${from}`} data-part={kind}>
            {record ? <button type="button" class="day-row" aria-pressed={isChosen} onClick={() => pick(record.id)}>{line}</button> : <div class="day-row">{line}</div>}
          </li>
        );
      })}
    </ol>
  );
}

function Line({ day, part, now }: { day: Day; part: Part; now: number }) {
  const { kind, record } = part;
  const [from, to] = ends(part);
  const long = duration((to ?? now) - from);
  const driver = kind === "trip" && record?.driverId ? day.drivers.get(record.driverId) : undefined;
  const more = [whatOf(part), driver].filter(Boolean).join(" · ");
  const place = fencesOf(part);
  return (
    <>
      <span class="day-kind">{words.kinds[kind]}</span>
      <time dateTime={new Date(from).toISOString()} title={to === null ? inFull(from) : `${inFull(from)} – ${inFull(to)}`}>{whenOf(part, day)}</time>
      <span class="number">{to === null ? words.soFar(long) : long}</span>
      {place ? <span class="day-place">{place}</span> : kind === "stop" && <span class="day-place"><NearTown at={record?.location} /></span>}
      {more && <span class="day-more quiet">{more}</span>}
    </>
  );
}

/** From when to when; null for the end of what goes on. Of a record all of it, also what lies in other days. */
function ends({ from, to, record }: Part): [from: number, to: number | null] {
  if (!record) return [from, to];
  return [Date.parse(record.startedAt), record.endedAt ? Date.parse(record.endedAt) : null];
}

/** Hours of the day; with their date where they are of another one. */
export function whenOf(part: Part, { day, to: end }: Day): string {
  const [from, to] = ends(part);
  const shown = (at: number) => (at === end ? hourOfDay(at) : hourOn(day)(at));
  return `${shown(from)} – ${to === null ? words.goesOn : shown(to)}`;
}

/** What it did: how far and how fast, and how long of it nothing was heard. */
export function whatOf({ kind, record }: Part): string {
  const summary = record?.summary;
  if (!summary) return "";
  const way = kind === "trip" ? [measure("distance", summary.distanceMeters / 1000), words.fastest(measure("speed", summary.maxSpeedKmh))] : [];
  const silent = summary.gapSeconds > 0 ? [words.silentWithin(duration(summary.gapSeconds * 1000))] : [];
  return [...way, ...silent].join(" · ");
}

function fencesOf({ kind, record }: Part): string {
  if (!record) return "";
  const [start, end] = [record.startGeofenceIds, record.endGeofenceIds].map((ids) => ids.map(fenceName).join(", ")) as [string, string];
  if (kind === "stop") return start || end ? words.within(start || end) : "";
  if (start && end) return words.fromTo(start, end);
  return (start && words.from(start)) || (end && words.to(end));
}
