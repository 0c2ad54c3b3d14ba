// A vehicle's visits to fences today.

import { useSignal, useSignalEffect } from "@preact/signals";

import { api } from "../../api/client";
import type { Visit } from "../../api/schema";
import { dayOf, span, startOfDay, timeOfDay } from "../../format";
import { events, scope } from "../../state/fleet";
import { notice } from "../../state/notices";
import { href } from "../../state/route";
import { strings } from "../../strings";

const MOST = 100;

export function Visits({ id }: { id: string }) {
  const visits = useSignal<readonly Visit[] | null>(null);
  const newest = useSignal("");
  // what happens to this vehicle changes its visits, what happens to others does not
  useSignalEffect(() => {
    const last = events.list.value.find(({ vehicleId }) => vehicleId === id);
    newest.value = last ? `${last.id} ${last.revision}` : "";
  });
  useSignalEffect(() => {
    newest.value;
    const query = { ...scope.value, vehicleId: [id], from: new Date(startOfDay(dayOf(Date.now()))).toISOString(), limit: MOST };
    api.get("/v1/visits", { query }).then(({ data }) => { visits.value = data; }).catch(notice);
  });
  const words = strings.detail;
  return (
    <section class="vehicle-part">
      <h3>{words.visits}</h3>
      {visits.value?.length === 0 && <p class="quiet">{words.noVisits}</p>}
      <ol class="visits">
        {visits.value?.map((visit) => (
          <li key={visit.id}>
            <a href={`${href("replay", id)}?at=${visit.enteredAt}`}>{visit.geofenceName}</a>
            <span class="quiet">{timeOfDay(visit.enteredAt)} – {visit.exitedAt ? timeOfDay(visit.exitedAt) : words.stillInside}</span>
            <span class="number">{visit.exitedAt ? span(Date.parse(visit.exitedAt) - Date.parse(visit.enteredAt)) : ""}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
