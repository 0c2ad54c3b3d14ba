// A vehicle's visits to fences today.

import { useSignal, useSignalEffect } from "@preact/signals";

import { api } from "../../api/client";
import { dayOf, isToday, span, startOfDay } from "../../format";
import { useAnswer } from "../../parts/answer";
import { Time } from "../../parts/Time";
import { events, scope } from "../../state/fleet";
import { href } from "../../state/route";
import { strings } from "../../strings";

const MOST = 100;

export function Visits({ id }: { id: string }) {
  const newest = useSignal("");
  // what happens to this vehicle changes its visits, what happens to others does not
  useSignalEffect(() => {
    const last = events.list.value.find(({ vehicleId }) => vehicleId === id);
    newest.value = last ? `${last.id} ${last.revision}` : "";
  });
  const visits = useAnswer(() => {
    newest.value;
    const query = { ...scope.value, vehicleId: [id], from: new Date(startOfDay(dayOf(Date.now()))).toISOString(), limit: MOST };
    return api.get("/v1/visits", { query });
  });
  const words = strings.detail;
  // a stay from before that goes on stands under Inside, with its age
  const ofToday = visits.value?.data.filter(({ enteredAt, exitedAt }) => isToday(enteredAt) || (exitedAt && isToday(exitedAt)));
  return (
    <section class="vehicle-part">
      <h3>{words.visits}</h3>
      {ofToday?.length === 0 && <p class="quiet">{words.noVisits}</p>}
      <ol class="visits">
        {ofToday?.map((visit) => (
          <li key={visit.id}>
            <a href={`${href("replay", id)}?at=${visit.enteredAt}`}>{visit.geofenceName}</a>
            <span class="quiet"><Time at={visit.enteredAt} /> – {visit.exitedAt ? <Time at={visit.exitedAt} /> : words.stillInside}</span>
            <span class="number">{visit.exitedAt ? span(Date.parse(visit.exitedAt) - Date.parse(visit.enteredAt)) : ""}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
