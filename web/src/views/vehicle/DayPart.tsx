// One day of a vehicle: chosen, drawn as a strip, told as a list; what of it the map shows stands in the address.

import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect } from "preact/hooks";

import type { TripEvent } from "../../api/schema";
import { date, dayOf, duration, isDay, measure, startOfDay } from "../../format";
import { DayInput } from "../../parts/TimeInput";
import { useAnswer } from "../../parts/answer";
import { now } from "../../state/clock";
import { edits, events, newestTrip, positions, vehicleName } from "../../state/fleet";
import { href, route } from "../../state/route";
import { showWay } from "../../state/way";
import { strings } from "../../strings";
import { DayList } from "./DayList";
import { DayStrip } from "./DayStrip";
import { Overspeeds } from "./Overspeeds";
import { Visits } from "./Visits";
import { type Day, loadDay, partsOf, sumOf } from "./day";

const MINUTE_MS = 60_000;
const words = strings.vehicleDay;

/** The day and the part that the address names; today and none where it does not. */
function asked(): { day: string; part: string | null } {
  const { query } = route.value;
  const named = query.get("day") ?? "";
  const today = dayOf(now.value);
  return { day: isDay(named) && named <= today ? named : today, part: query.get("part") };
}

export function DayPart({ id }: { id: string }) {
  const day = useComputed(() => asked().day);
  const chosen = useComputed(() => asked().part);
  const told = useNews(id);
  const answer = useAnswer(() => {
    told.value;
    // told anew where the feed could not tell what happened meanwhile
    edits.value.vehicle;
    return loadDay(id, day.value);
  });
  // not the day before while the next one is on its way
  const found = answer.value?.day === day.value ? answer.value : null;
  const record = found?.records.find((one) => one.id === chosen.value);
  useEffect(() => { if (found) showWay(record ? wayOf(id, record) : null); }, [found, record]);
  useEffect(() => () => showWay(null), []);
  const pick = (part: string | null) => { location.hash = addressOf(id, day.peek(), part === chosen.peek() ? null : part); };
  return (
    <>
      <section class="vehicle-part day">
        <Choice id={id} day={day.value} />
        {found ? <Known id={id} found={found} chosen={record ? chosen.value : null} pick={pick} /> : <p class="quiet" role="status">{words.loading}</p>}
      </section>
      {found && <Overspeeds id={id} day={day.value} found={found.overspeeds} />}
      {found && <Visits id={id} day={day.value} found={found.visits} />}
    </>
  );
}

/** One more with whatever is told of the vehicle that changes its day. */
function useNews(id: string) {
  const told = useSignal(0);
  useSignalEffect(() => { if (newestTrip.value?.vehicleId === id) told.value = told.peek() + 1; });
  const newest = useSignal("");
  useSignalEffect(() => {
    const last = events.list.value.find(({ vehicleId }) => vehicleId === id);
    newest.value = last ? `${last.id} ${last.revision}` : "";
  });
  return useComputed(() => `${told.value} ${newest.value}`);
}

const wayOf = (vehicleId: string, { id, type, startedAt, endedAt }: TripEvent) =>
  ({ vehicleId, id, kind: type, from: Date.parse(startedAt), to: endedAt ? Date.parse(endedAt) : null });

/** The address of a day; with a part the day stands in it even if it is today, so that it is the same tomorrow. */
function addressOf(id: string, day: string, part: string | null = null): string {
  const query = new URLSearchParams({ ...(part || day !== dayOf(now.peek()) ? { day } : {}), ...(part ? { part } : {}) }).toString();
  return `${href("live", id)}${query && `?${query}`}`;
}

function Choice({ id, day }: { id: string; day: string }) {
  const today = dayOf(now.value);
  const go = (to: string) => { if (isDay(to) && to <= today) location.hash = addressOf(id, to); };
  return (
    <header class="part-head">
      <h3>{words.title}</h3>
      <span class="grow" />
      <button type="button" aria-label={words.before} onClick={() => go(dayOf(startOfDay(day, -1)))}>‹</button>
      <DayInput label={words.day} day={day} last={today} onPick={go} />
      <button type="button" aria-label={words.after} disabled={day >= today} onClick={() => go(dayOf(startOfDay(day, 1)))}>›</button>
    </header>
  );
}

interface KnownProps {
  readonly id: string;
  readonly found: Day;
  readonly chosen: string | null;
  readonly pick: (part: string | null) => void;
}

function Known({ id, found, chosen, pick }: KnownProps) {
  const minute = useComputed(() => Math.floor(now.value / MINUTE_MS) * MINUTE_MS);
  const heardAt = useComputed(() => {
    positions.revision.value;
    const row = positions.row(id);
    return Math.floor((row === undefined ? 0 : positions.recordedAt[row] ?? 0) / MINUTE_MS) * MINUTE_MS;
  });
  const isToday = found.day === dayOf(minute.value);
  if (found.records.length === 0) return <p class="quiet">{nothing(found.hasReported, isToday)}</p>;
  const parts = partsOf(found, minute.value, heardAt.value);
  const label = words.strip(vehicleName(id), date(found.from));
  const record = found.records.find((one) => one.id === chosen);
  return (
    <>
      <Sum records={found.records} />
      <DayStrip day={found} parts={parts} at={isToday ? minute.value : null} label={label} chosen={chosen} pick={pick} />
      {record && <p class="quiet" role="status">{words.showsWay} <a href={`${href("replay", id)}?at=${record.startedAt}`}>{words.replayIt}</a></p>}
      <DayList day={found} parts={parts} now={minute.value} chosen={chosen} pick={pick} />
    </>
  );
}

function nothing(hasReported: boolean, isToday: boolean): string {
  if (hasReported) return isToday ? words.unknownYet : words.unknown;
  return isToday ? words.emptyYet : words.empty;
}

function Sum({ records }: { records: readonly TripEvent[] }) {
  const { trips, open, meters, seconds } = sumOf(records);
  const say = open > 0 ? words.sumOpen : words.sum;
  return <p class="quiet">{say(trips, measure("distance", meters / 1000), duration(seconds * 1000))}</p>;
}
