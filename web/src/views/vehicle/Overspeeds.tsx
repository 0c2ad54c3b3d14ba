// When a vehicle was too fast today, if it was.

import { useSignal, useSignalEffect } from "@preact/signals";

import { api } from "../../api/client";
import { isOverspeed } from "../../api/types";
import { dayOf, measure, span, startOfDay } from "../../format";
import { Time } from "../../parts/Time";
import { useAnswer } from "../../parts/answer";
import { events, scope } from "../../state/fleet";
import { href } from "../../state/route";
import { strings } from "../../strings";

const MOST = 100;

export function Overspeeds({ id }: { id: string }) {
  const newest = useSignal("");
  useSignalEffect(() => {
    const last = events.list.value.find((event) => event.vehicleId === id && isOverspeed(event));
    newest.value = last ? `${last.id} ${last.revision}` : "";
  });
  const found = useAnswer(() => {
    newest.value;
    const from = new Date(startOfDay(dayOf(Date.now()))).toISOString();
    return api.get("/v1/events", { query: { ...scope.value, type: ["overspeed"], vehicleId: [id], from, limit: MOST } });
  });
  const today = found.value?.data.filter(isOverspeed);
  if (!today?.length) return null;
  const words = strings.events;
  return (
    <section class="vehicle-part">
      <h3>{strings.detail.overspeeds}</h3>
      <ol class="visits">
        {today.map(({ id: event, startedAt, endedAt, maxSpeedKmh, limitKmh, geofenceName, durationSeconds }) => (
          <li key={event}>
            <a href={`${href("replay", id)}?at=${startedAt}`}>{measure("speed", maxSpeedKmh)}</a>
            <span class="quiet"><Time at={startedAt} /> {words.insteadOf(measure("speed", limitKmh), geofenceName)}</span>
            <span class="number">{endedAt ? span(durationSeconds * 1000) : words.goesOn}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
