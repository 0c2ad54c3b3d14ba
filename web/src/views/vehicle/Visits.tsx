// A vehicle's visits to fences on a day.

import type { Visit } from "../../api/schema";
import { dayOf, hourOn, isToday, span, startOfDay } from "../../format";
import { Time } from "../../parts/Time";
import { href } from "../../state/route";
import { strings } from "../../strings";

export function Visits({ id, day, found }: { id: string; day: string; found: readonly Visit[] }) {
  const words = strings.detail;
  const hours = hourOn(day);
  const today = isToday(startOfDay(day));
  // a stay from before that goes on stands under Inside, with its age
  const shown = found.filter(({ enteredAt, exitedAt }) => dayOf(enteredAt) === day || (exitedAt && dayOf(exitedAt) === day));
  if (shown.length === 0 && !today) return null;
  return (
    <section class="vehicle-part">
      <h3>{today ? words.visits : strings.vehicleDay.visits}</h3>
      {shown.length === 0 && <p class="quiet">{words.noVisits}</p>}
      <ol class="visits">
        {shown.map((visit) => (
          <li key={visit.id}>
            <a href={`${href("replay", id)}?at=${visit.enteredAt}`}>{visit.geofenceName}</a>
            <span class="quiet"><Time at={visit.enteredAt} shows={hours} /> – {visit.exitedAt ? <Time at={visit.exitedAt} shows={hours} /> : words.stillInside}</span>
            <span class="number">{visit.exitedAt ? span(Date.parse(visit.exitedAt) - Date.parse(visit.enteredAt)) : ""}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}
