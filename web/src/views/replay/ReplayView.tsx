// A vehicle's day once more: on the map, on a line of time, and as a list of what happened.

import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";

import { api, slices } from "../../api/client";
import { reached } from "../../api/reach";
import type { Columns, Event } from "../../api/schema";
import { dayOf, isDay, startOfDay, today } from "../../format";
import { Empty } from "../../parts/Empty";
import { Finder } from "../../parts/FindField";
import { DayInput } from "../../parts/TimeInput";
import { useAnswer } from "../../parts/answer";
import { findVehicles } from "../../parts/vehicles";
import { organization, scope, vehicleName } from "../../state/fleet";
import { insist } from "../../state/needed";
import { href, note, route } from "../../state/route";
import { type Track, loadTrack } from "../../state/track";
import { strings } from "../../strings";
import { FuelChart } from "../vehicle/FuelChart";
import { loadFuel } from "../vehicle/Fuel";
import { Controls } from "./Controls";
import { Happened } from "./Happened";
import { ReplayMap } from "./ReplayMap";
import { Timeline } from "./Timeline";
import { Playback } from "./playback";
import { type Stop, loadStops } from "./stops";

/** As many as the server gives at once. */
const MOST_EVENTS = 200;
/** A moment that is looked at for so long is in the address. */
const SETTLED_MS = 250;

/** What is known of a day. */
export interface Day {
  readonly name: string;
  readonly day: string;
  readonly from: number;
  readonly to: number;
  readonly track: Track;
  readonly stops: readonly Stop[];
  readonly crossings: readonly Event[];
}

export function ReplayView({ parts }: { parts: readonly string[] }) {
  const id = parts[0] ?? null;
  const asked = route.value.query;
  const at = Date.parse(asked.get("at") ?? "");
  const named = asked.get("day") ?? "";
  const day = [named, Number.isNaN(at) ? "" : dayOf(at)].find(isDay) ?? today.value;
  return (
    <div class="replay">
      <Choice id={id} day={day} />
      {id ? <Shown key={`${id} ${day} ${organization.value?.id}`} id={id} day={day} at={at} /> : <Empty what={strings.replay.choose} next="" />}
    </div>
  );
}

const find = findVehicles();

const address = (id: string, day: string): string => `${href("replay", id)}?day=${day}`;

function Choice({ id, day }: { id: string | null; day: string }) {
  const words = strings.replay;
  const go = (to: string | null, when: string) => { if (to && isDay(when)) location.hash = address(to, when); };
  const step = (days: number) => go(id, dayOf(startOfDay(day, days)));
  return (
    <div class="replay-choice">
      <h2>{id ? vehicleName(id) : words.title}</h2>
      <Finder label={words.vehicle} chosen={id} name={vehicleName} find={find} onChoose={(to) => go(to, day)} />
      <label>{words.day}
        <DayInput label={words.day} day={day} last={today.value} onPick={(picked) => go(id, picked)} />
      </label>
      <button type="button" aria-label={words.before} disabled={!id} onClick={() => step(-1)}>‹</button>
      <button type="button" aria-label={words.after} disabled={!id || day >= today.value} onClick={() => step(1)}>›</button>
    </div>
  );
}

function Shown({ id, day, at }: { id: string; day: string; at: number }) {
  const loaded = useSignal<Day | null>(null);
  const fixes = useSignal(0);
  const playback = useMemo(() => new Playback(), []);
  const [from, to] = [startOfDay(day), startOfDay(day, 1)];
  const fuel = useAnswer(() => loadFuel(id, from, to));
  // the address may name another moment while the day is loading
  const wanted = useRef(at);
  wanted.current = at;

  useSignalEffect(() => {
    reached.value;
    if (loaded.peek()) return undefined;
    return insist(() => load(id, day, (count) => { fixes.value = count; }), (found) => {
      const { times, count } = found.track;
      playback.load(times[0] ?? from, times[count - 1] ?? to, Number.isNaN(wanted.current) ? times[0] ?? from : wanted.current);
      loaded.value = found;
    });
  });
  useEffect(() => () => playback.pause(), []);
  useEffect(() => { if (!Number.isNaN(at) && loaded.peek()) playback.seek(at); }, [at]);
  useSignalEffect(() => {
    const moment = Math.round(playback.at.value);
    if (!loaded.value || playback.isPlaying.value || moment === Math.round(loaded.value.track.times[0] ?? from)) return undefined;
    const timer = setTimeout(() => note("at", new Date(moment).toISOString()), SETTLED_MS);
    return () => clearTimeout(timer);
  });

  const found = loaded.value;
  if (!found) return <p class="replay-note" role="status">{strings.replay.loading(fixes.value)}</p>;
  if (found.track.count === 0) return <Empty what={strings.replay.empty} next={strings.replay.emptyNext} />;
  return (
    <div class="replay-day" data-replay="ready" data-fixes={found.track.count}>
      <ReplayMap id={id} day={found} playback={playback} />
      <div class="replay-side">
        <Happened day={found} fuel={fuel.value} playback={playback} />
        {fuel.value && fuel.value.recordedAt.length > 0 && <Tank columns={fuel.value} name={found.name} playback={playback} />}
      </div>
      <div class="replay-time">
        <Controls day={found} playback={playback} />
        <Timeline day={found} playback={playback} />
      </div>
    </div>
  );
}

function Tank({ columns, name, playback }: { columns: Columns; name: string; playback: Playback }) {
  // the mark follows the replay, by the second
  const second = useSignal(playback.at.peek());
  useSignalEffect(() => { second.value = Math.floor(playback.at.value / 1000) * 1000; });
  return <FuelChart columns={columns} label={strings.detail.fuelChart(name)} at={second.value} onSeek={(at) => playback.seek(at)} />;
}

async function load(id: string, day: string, tell: (fixes: number) => void): Promise<Day> {
  const [from, to] = [startOfDay(day), startOfDay(day, 1)];
  const query = { ...scope.peek(), vehicleId: [id], from: new Date(from).toISOString(), to: new Date(to).toISOString(), sort: "occurredAt" as const, limit: MOST_EVENTS };
  const [track, stops, crossings] = await Promise.all([
    loadTrack(id, from, to, tell),
    loadStops(id, from, to),
    slices((after) => api.get("/v1/geofence-events", { query: { ...query, after } })),
  ]);
  return { name: vehicleName(id), day, from, to, track, stops, crossings };
}
