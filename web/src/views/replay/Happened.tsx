// Stops and fences of the day, in order; each sets the moment.

import type { Columns } from "../../api/schema";
import { measure, span, timeOfDay } from "../../format";
import { FenceHere } from "../../parts/FenceHere";
import { Panel } from "../../parts/Panel";
import { strings } from "../../strings";
import type { Day } from "./ReplayView";
import type { Playback } from "./playback";
import type { Stop } from "./stops";

export function Happened({ day, fuel, playback }: { day: Day; fuel: Columns | null; playback: Playback }) {
  const words = strings.replay;
  const lasted = ({ from, to }: Stop): string => (to === null ? words.stopGoesOn : words.stop(span(to - from)));
  const stops = day.stops.map((stop) => ({ at: Math.max(stop.from, day.from), kind: "stop" as const, text: lasted(stop), place: stop }));
  const crossings = day.crossings.map((event) => ({ at: Date.parse(event.occurredAt), kind: event.type, text: words.crossing[event.type](event.geofenceName), place: null }));
  const tank = (fuel?.events ?? []).map(({ type, startedAt, volumeLiters }) => ({ at: Date.parse(startedAt), kind: type, text: words.tank[type](measure("volume", volumeLiters)), place: null }));
  const all = [...stops, ...crossings, ...tank].sort((a, b) => a.at - b.at);
  return (
    <Panel title={words.happened} note={all.length > 0 ? String(all.length) : ""}>
      {all.length === 0 && <p class="replay-note quiet">{words.nothing}</p>}
      <ol class="happened">
        {all.map(({ at, kind, text, place }) => (
          <li key={`${kind} ${at}`} data-kind={kind}>
            <button type="button" class="plain" onClick={() => playback.seek(at)}><time>{timeOfDay(at)}</time> <span>{text}</span></button>
            {place && <FenceHere at={place} name={text} />}
          </li>
        ))}
      </ol>
    </Panel>
  );
}
