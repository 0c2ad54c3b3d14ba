// The clock of Live: dragged back, it shows everybody as of then.

import { dayAndTime, dayOf, startOfDay, timeOfDay } from "../../format";
import { DayInput } from "../../parts/TimeInput";
import { now } from "../../state/clock";
import { go, isLoading, moment, point } from "../../state/past";
import { pastWords as words } from "../../strings_past";

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;

/** To the second, and not ahead of the clock. */
const possible = (at: number) => Math.floor(Math.min(at, now.peek() - SECOND_MS) / SECOND_MS) * SECOND_MS;

export function TimeMachine() {
  const at = moment.value;
  if (at === null) return <button type="button" class="plain time-open" onClick={() => go(possible(now.peek() - MINUTE_MS))}>{words.open}</button>;
  const day = dayOf(at);
  const from = startOfDay(day);
  const last = Math.min(startOfDay(day, 1), now.peek()) - SECOND_MS;
  const slid = (event: { currentTarget: HTMLInputElement }) => possible(from + Number(event.currentTarget.value) * SECOND_MS);
  return (
    <div class="time-machine" role="group" aria-label={words.title}>
      <DayInput label={words.day} day={day} last={dayOf(now.peek())} onPick={(named) => go(possible(at - from + startOfDay(named)))} />
      <b><time dateTime={new Date(at).toISOString()}>{timeOfDay(at)}</time></b>
      <button type="button" class="primary" onClick={() => go(null)}>{words.backToNow}</button>
      <input
        type="range" aria-label={words.time} aria-valuetext={dayAndTime(at)} min={0} max={Math.floor((last - from) / SECOND_MS)} step={1}
        value={Math.floor((at - from) / SECOND_MS)} onInput={(event) => point(slid(event))} onChange={(event) => go(slid(event))}
      />
      <p role="status" class="quiet">{isLoading.value && words.loading}</p>
    </div>
  );
}
