// Stops and fences of the day, in order; each sets the moment.

import { span, timeOfDay } from "../../format";
import { Panel } from "../../parts/Panel";
import { strings } from "../../strings";
import type { Day } from "./ReplayView";
import type { Playback } from "./playback";

export function Happened({ day, playback }: { day: Day; playback: Playback }) {
  const words = strings.replay;
  const stops = day.stops.map((stop) => ({ at: stop.from, kind: "stop" as const, text: words.stop(span(stop.to - stop.from)) }));
  const crossings = day.crossings.map((event) => ({ at: Date.parse(event.occurredAt), kind: event.type, text: words.crossing[event.type](event.geofenceName) }));
  const all = [...stops, ...crossings].sort((a, b) => a.at - b.at);
  return (
    <Panel title={words.happened} note={all.length > 0 ? String(all.length) : ""}>
      {all.length === 0 && <p class="replay-note quiet">{words.nothing}</p>}
      <ol class="happened">
        {all.map(({ at, kind, text }) => (
          <li key={`${kind} ${at}`} data-kind={kind}>
            <button type="button" class="plain" onClick={() => playback.seek(at)}><time>{timeOfDay(at)}</time> <span>{text}</span></button>
          </li>
        ))}
      </ol>
    </Panel>
  );
}
