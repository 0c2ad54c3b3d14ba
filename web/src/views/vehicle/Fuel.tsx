// A vehicle's fuel: the chart of a time, and what was refuelled and lost in it, also in words.

import { useSignal } from "@preact/signals";

import { api } from "../../api/client";
import type { Columns } from "../../api/schema";
import { measure, moment } from "../../format";
import { useAnswer } from "../../parts/answer";
import { isWrong, now } from "../../state/clock";
import { scope, vehicleName } from "../../state/fleet";
import { href } from "../../state/route";
import { strings } from "../../strings";
import { FuelChart } from "./FuelChart";
import { useHeard } from "./heard";

const HOUR_MS = 3_600_000;
const RANGES = { day: 24 * HOUR_MS, week: 7 * 24 * HOUR_MS, month: 30 * 24 * HOUR_MS } as const;
type Range = keyof typeof RANGES;
/** As many as a panel has pixels. */
const POINTS = 400;
/** However often it reports, the chart is read so often: it is of a day at least. */
const AGAIN_MS = 15_000;

/** The chart of a time, and what came in and went out; the chart formats that are not asked for are not answered. */
export async function loadFuel(vehicleId: string, from: number, to: number): Promise<Columns> {
  const query = { ...scope.peek(), vehicleId, from: new Date(from).toISOString(), to: new Date(to).toISOString(), points: POINTS, format: "columns" as const };
  return (await api.get("/v1/fuel/chart", { query })) as Columns;
}

export function Fuel({ id }: { id: string }) {
  const range = useSignal<Range>("day");
  const heard = useHeard(id, AGAIN_MS);
  const columns = useAnswer(() => {
    heard.value;
    isWrong.value;
    const to = now.peek();
    return loadFuel(id, to - RANGES[range.value], to);
  });
  const words = strings.detail;
  const found = columns.value;
  const level = found?.levelLiters.findLast((one) => one !== null);
  return (
    <section class="vehicle-part">
      <header class="part-head">
        <h3>{words.fuel}</h3>
        {level != null && <span class="quiet">{words.fuelNow(measure("volume", level))}</span>}
        <span class="grow" />
        <select aria-label={words.fuelRange} value={range} onChange={(event) => { range.value = event.currentTarget.value as Range; }}>
          {(Object.keys(RANGES) as Range[]).map((each) => <option key={each} value={each}>{words.ranges[each]}</option>)}
        </select>
      </header>
      {found?.recordedAt.length === 0 && <p class="quiet">{words.fuelNone}</p>}
      {found && found.recordedAt.length > 0 && <FuelChart key={range.value} columns={found} label={words.fuelChart(vehicleName(id))} />}
      <ul class="fuel-events">{found?.events.map((event) => <FuelEvent key={event.startedAt} {...event} />)}</ul>
    </section>
  );
}

function FuelEvent({ id, type, startedAt, volumeLiters }: Columns["events"][number]) {
  const words = strings.detail;
  const say = type === "refuel" ? words.refuel : words.drain;
  return <li data-fuel={type}><a href={href("fuel-event", id)}>{say(measure("volume", volumeLiters), moment(startedAt))}</a></li>;
}
