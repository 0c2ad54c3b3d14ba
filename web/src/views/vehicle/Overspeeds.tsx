// When a vehicle was too fast on a day, if it was.

import type { OverspeedEvent } from "../../api/schema";
import { hourOn, isToday, measure, span, startOfDay } from "../../format";
import { Time } from "../../parts/Time";
import { href } from "../../state/route";
import { strings } from "../../strings";

export function Overspeeds({ id, day, found }: { id: string; day: string; found: readonly OverspeedEvent[] }) {
  if (found.length === 0) return null;
  const words = strings.events;
  return (
    <section class="vehicle-part">
      <h3>{isToday(startOfDay(day)) ? strings.detail.overspeeds : strings.vehicleDay.overspeeds}</h3>
      <ol class="visits">
        {found.map(({ id: event, startedAt, endedAt, maxSpeedKmh, limitKmh, geofenceName, durationSeconds }) => (
          <li key={event}>
            <a href={`${href("replay", id)}?at=${startedAt}`}>{measure("speed", maxSpeedKmh)}</a>
            <span class="quiet"><Time at={startedAt} shows={hourOn(day)} /> {words.insteadOf(measure("speed", limitKmh), geofenceName)}</span>
            <span class="number">{endedAt ? span(durationSeconds * 1000) : words.goesOn}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
