// Who is inside which fence, and since when.

import { Empty } from "../../parts/Empty";
import { Panel } from "../../parts/Panel";
import { byName, span, timeOfDay } from "../../format";
import { now } from "../../state/clock";
import { fenceName, fences, inside, vehicleName } from "../../state/fleet";
import type { Stay } from "../../state/inside";
import { strings } from "../../strings";

export function InsideNow() {
  inside.revision.value;
  const words = strings.inside;
  const ids = [...inside.fences()].sort((a, b) => byName(fenceName(a), fenceName(b)));
  return (
    <Panel title={words.title} note={ids.length > 0 ? String(ids.length) : ""}>
      {ids.length === 0 && (fences.value.size === 0
        ? <Empty what={words.noFences} next={words.noFencesNext} />
        : <Empty what={words.empty} next={words.emptyNext} />)}
      {ids.map((id) => <Fence key={id} name={fenceName(id)} stays={inside.stays(id)} />)}
    </Panel>
  );
}

function Fence({ name, stays }: { name: string; stays: readonly Stay[] }) {
  const shown = [...stays].sort((a, b) => a.enteredAt - b.enteredAt);
  return (
    <section class="fence">
      <h3>{name} <span class="quiet">{stays.length}</span></h3>
      <ul>
        {shown.map(({ vehicleId, enteredAt }) => (
          <li key={vehicleId}>
            {vehicleName(vehicleId)}
            <time dateTime={new Date(enteredAt).toISOString()} title={strings.inside.since(timeOfDay(enteredAt))}>{span(now.value - enteredAt)}</time>
          </li>
        ))}
      </ul>
    </section>
  );
}
