// Every vehicle that has reported: searched, narrowed to a state, sorted, thousands of them.

import { may } from "../../api/permissions";
import type { VehicleOut } from "../../api/schema";
import { Age } from "../../parts/Age";
import { Empty } from "../../parts/Empty";
import { VirtualTable } from "../../parts/VirtualTable";
import { amount, unit } from "../../format";
import { fleetIds, isListed, vehicleName, vehicles } from "../../state/fleet";
import { liveHref, moment, table } from "../../state/past";
import { href, route } from "../../state/route";
import { speedNow, standing } from "../../state/standing";
import { strings } from "../../strings";
import { type Column, listed, order, search, sortBy } from "./listing";

export function VehicleList({ chosen }: { chosen: string | null }) {
  const words = strings.vehicles;
  const ids = listed.value;
  table.value.membership.value;
  const all = table.value.count;
  const waiting = moment.value === null && isListed.value ? [...vehicles.value.values()].filter(isAwaited) : [];
  return (
    <section class="panel" aria-label={words.title}>
      <header class="panel-head">
        <h2>{words.title}</h2>
        {(all > 0 || waiting.length === 0) && <span class="quiet">{ids.length === all ? words.count(all) : words.some(ids.length, all)}</span>}
        {waiting.length > 0 && <span class="quiet">{words.waiting(waiting.length)}</span>}
      </header>
      <input
        type="search" class="list-search" aria-label={words.search} placeholder={words.searchHint} value={search}
        onInput={(event) => { search.value = event.currentTarget.value; }}
      />
      {all === 0 && (waiting.length > 0
        ? <Empty what={words.waitingFor(waiting.length === 1 ? waiting[0]?.name ?? "" : words.count(waiting.length))} next={words.waitingNext} action={next()} />
        : isListed.value && <Empty what={words.empty} next={words.emptyNext} action={next()} />)}
      {all > 0 && ids.length === 0 && <Empty what={words.none} next={words.noneNext} />}
      {ids.length > 0 && <VirtualTable label={words.title} head={<Head />} ids={ids} row={(id, index) => <Row key={id} id={id} index={index} isChosen={id === chosen} />} />}
    </section>
  );
}

/** Whether it is in use and has not reported yet. */
const isAwaited = ({ id, status }: VehicleOut): boolean => status !== "inactive" && table.value.row(id) === undefined;

/** What brings the first vehicle onto the map. */
function next() {
  if (!may("writeVehicles")) return false;
  const [first] = fleetIds.value;
  if (!first) return { text: strings.manage.vehicles.new, address: href("fleet", "new") };
  // its panel says what is next
  if (route.value.parts[1] === first) return false;
  return { text: strings.vehicles.toTracker, address: href("live", first) };
}

function Head() {
  const { by, isDown } = order.value;
  const cell = (column: Column, word: string, style = "") => (
    <th scope="col" class={style} aria-sort={by !== column ? "none" : isDown ? "descending" : "ascending"}>
      <button type="button" onClick={() => sortBy(column)}>{word}</button>
    </th>
  );
  const words = strings.vehicles;
  return <tr>{cell("name", words.name)}{cell("state", words.state)}{cell("speed", unit("speed"), "number")}{cell("age", words.age, "number")}</tr>;
}

function Row({ id, index, isChosen }: { id: string; index: number; isChosen: boolean }) {
  const positions = table.value;
  positions.revision.value;
  const row = positions.row(id);
  if (row === undefined) return null;
  const state = standing(row);
  const speed = speedNow(row);
  return (
    <tr aria-rowindex={index + 2} data-chosen={isChosen}>
      <th scope="row"><a href={liveHref(id)} aria-current={isChosen ? "true" : undefined}>{vehicleName(id)}</a></th>
      <td data-standing={state}>{strings.vehicles.states[state]}</td>
      <td class="number">{Number.isNaN(speed) ? "" : amount("speed", speed)}</td>
      <td class="number"><Age at={positions.receivedAt[row] ?? 0} /></td>
    </tr>
  );
}
