// Every vehicle that has reported, by name.

import { Empty } from "../../parts/Empty";
import { Panel } from "../../parts/Panel";
import { byName, span } from "../../format";
import { now } from "../../state/clock";
import { positions, vehicleName } from "../../state/fleet";
import { standing } from "../../state/standing";
import { strings } from "../../strings";

export function VehicleList() {
  positions.revision.value;
  const words = strings.vehicles;
  const rows = positions.ids.map((id, row) => ({ id, row, name: vehicleName(id) })).sort((a, b) => byName(a.name, b.name));
  return (
    <Panel title={words.title} note={words.count(rows.length)}>
      {rows.length === 0 ? <Empty what={words.empty} next={words.emptyNext} /> : (
        <table>
          <thead>
            <tr><th scope="col">{words.name}</th><th scope="col">{words.state}</th><th scope="col" class="number">{words.speed}</th><th scope="col" class="number">{words.age}</th></tr>
          </thead>
          <tbody>{rows.map((each) => <Row key={each.id} {...each} />)}</tbody>
        </table>
      )}
    </Panel>
  );
}

function Row({ name, row }: { name: string; row: number }) {
  const state = standing(row);
  const speed = positions.speedsKmh[row] ?? NaN;
  return (
    <tr>
      <th scope="row">{name}</th>
      <td data-standing={state}>{strings.vehicles.states[state]}</td>
      <td class="number">{Number.isNaN(speed) ? "" : speed.toFixed(0)}</td>
      <td class="number">{span(now.value - (positions.receivedAt[row] ?? 0))}</td>
    </tr>
  );
}
