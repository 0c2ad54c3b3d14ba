// Who is inside which fence, and since when.

import { useSignal } from "@preact/signals";

import { may } from "../../api/permissions";
import { Age } from "../../parts/Age";
import { Empty } from "../../parts/Empty";
import { Panel } from "../../parts/Panel";
import { byName, inFull } from "../../format";
import { fenceName, fences, isListed, vehicleName } from "../../state/fleet";
import type { Stay } from "../../state/inside";
import { liveHref, moment, stays as shown } from "../../state/past";
import { href } from "../../state/route";
import { strings } from "../../strings";

/** Of a fence that is full, those who came last; the others on request, as many as one may want to read. */
const SHOWN = 6;
const MOST = 300;

export function InsideNow() {
  const inside = shown.value;
  inside.revision.value;
  const words = strings.inside;
  const all = [...inside.fences()].map((id) => ({ id, name: fenceName(id), stays: inside.stays(id) })).sort((a, b) => byName(a.name, b.name));
  const stays = all.reduce((sum, fence) => sum + fence.stays.length, 0);
  return (
    <Panel title={moment.value === null ? words.title : words.titleThen} note={stays > 0 ? words.count(stays) : ""}>
      {all.length === 0 && isListed.value && (fences.value.size === 0
        ? <Empty what={words.noFences} next={words.noFencesNext} action={may("writeGeofences") && { text: strings.manage.fences.new, address: href("fences", "new") }} />
        : <Empty what={words.empty} next={words.emptyNext} />)}
      {all.map(({ id, ...fence }) => <Fence key={id} {...fence} />)}
    </Panel>
  );
}

function Fence({ name, stays }: { name: string; stays: readonly Stay[] }) {
  const isOpen = useSignal(false);
  const words = strings.inside;
  const shown = [...stays].sort((a, b) => b.enteredAt - a.enteredAt).slice(0, isOpen.value ? MOST : SHOWN);
  return (
    <section class="fence">
      <h3>{name} <span class="badge">{stays.length}</span></h3>
      <ul>
        {shown.map(({ vehicleId, enteredAt }) => (
          <li key={vehicleId}>
            <a href={liveHref(vehicleId)}>{vehicleName(vehicleId)}</a>
            <Age at={enteredAt} title={(at) => words.since(inFull(at))} />
          </li>
        ))}
      </ul>
      {stays.length > SHOWN && (
        <button type="button" class="plain" aria-expanded={isOpen.value} onClick={() => { isOpen.value = !isOpen.value; }}>
          {isOpen.value ? words.fewer : words.more(stays.length - SHOWN)}
        </button>
      )}
    </section>
  );
}
