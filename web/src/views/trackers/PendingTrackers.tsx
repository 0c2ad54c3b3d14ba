// Devices that report to the organization and are no trackers of it yet: which, by what, and making one of them a tracker.

import { useSignal } from "@preact/signals";

import { all, api } from "../../api/client";
import { may } from "../../api/permissions";
import type { PendingTracker, Tracker } from "../../api/schema";
import { moment } from "../../format";
import { Age } from "../../parts/Age";
import { Confirm } from "../../parts/Dialog";
import { useList } from "../../parts/Listing";
import { scope } from "../../state/fleet";
import { href } from "../../state/route";
import { strings } from "../../strings";
import { AddPending } from "./AddPending";

const words = strings.manage.pending;
/** The feed tells nothing of them. */
const LOOK_EVERY_MS = 5000;
const SHOWN = 5;

interface Props {
  readonly trackers: readonly Tracker[];
  readonly onAdded: (id: string) => Promise<void>;
}

export function PendingTrackers({ trackers, onAdded }: Props) {
  const adding = useSignal<PendingTracker | null>(null);
  const dismissing = useSignal<PendingTracker | null>(null);
  const isWhole = useSignal(false);
  const said = useSignal("");
  const load = () => all((page) => api.get("/v1/pending-trackers", { query: { ...page, ...scope.peek(), sort: "-lastSeenAt" } }));
  const { items, reload } = useList<PendingTracker>("tracker", load, LOOK_EVERY_MS);
  const found = items.value;
  const added = async (id: string, name: string, vehicle: string) => {
    adding.value = null;
    said.value = words.added(name, vehicle);
    await Promise.all([onAdded(id), reload()]);
  };
  const dismiss = async (device: PendingTracker) => {
    await api.delete("/v1/pending-trackers/{id}", { path: { id: device.id }, query: scope.peek() });
    said.value = words.dismissed(device.uniqueId);
    await reload();
  };
  const shown = isWhole.value ? found : found?.slice(0, SHOWN);
  const hidden = (found?.length ?? 0) - (shown?.length ?? 0);
  return (
    <section class="pending" aria-label={words.title}>
      <p role="status" class="said">{said.value}</p>
      {found?.length === 0 && <HowTo />}
      {shown && shown.length > 0 && (
        <>
          <h3>{words.title}</h3>
          <p class="quiet">{words.text}</p>
          <ul class="lines">{shown.map((one) => <Device key={one.id} device={one} onAdd={() => { adding.value = one; }} onDismiss={() => { dismissing.value = one; }} />)}</ul>
          {hidden > 0 && <button type="button" onClick={() => { isWhole.value = true; }}>{words.more(hidden)}</button>}
        </>
      )}
      {dismissing.value && <Dismiss device={dismissing.value} work={dismiss} onClose={() => { dismissing.value = null; }} />}
      {adding.value && <AddPending device={adding.value} trackers={trackers} onAdded={added} onClose={() => { adding.value = null; }} />}
    </section>
  );
}

interface Asked {
  readonly device: PendingTracker;
  readonly work: (device: PendingTracker) => Promise<void>;
  readonly onClose: () => void;
}

function Dismiss({ device, work, onClose }: Asked) {
  return <Confirm title={words.dismissTitle(device.uniqueId)} text={words.dismissText} action={words.dismiss} work={() => work(device)} onClose={onClose} />;
}

interface Reporting {
  readonly device: PendingTracker;
  readonly onAdd: () => void;
  readonly onDismiss: () => void;
}

function Device({ device: { uniqueId, input, lastSeenAt, fixes, firstFixAt }, onAdd, onDismiss }: Reporting) {
  return (
    <li>
      <span class="grow">
        <b>{uniqueId}</b>{" "}
        <span class="quiet">
          {words.by(input)} · {words.heard} <Age at={Date.parse(lastSeenAt)} /> {words.ago}
          {" · "}{firstFixAt ? words.fixes(fixes, moment(firstFixAt)) : words.noFixes}
        </span>
      </span>
      {may("writeTrackers") && (
        <span class="tools">
          <button type="button" class="primary" aria-label={words.addWhich(uniqueId)} onClick={onAdd}>{words.add}</button>
          <button type="button" aria-label={words.dismissWhich(uniqueId)} onClick={onDismiss}>{words.dismiss}</button>
        </span>
      )}
    </li>
  );
}

/** How to make a device report, for where none does. */
function HowTo() {
  return (
    <details>
      <summary>{words.none}. <span class="link">{words.how}</span></summary>
      <p>{words.howText}</p>
      <dl class="ways">
        {words.ways(location.origin).map(([what, does]) => <div key={what}><dt>{what}</dt><dd>{does}</dd></div>)}
      </dl>
      <p class="quiet">{words.docs}</p>
      <p class="tools">
        {may("manageSystemUsers") && <a class="button" href={href("programs", "new")}>{words.toPrograms}</a>}
        <a class="button" href="/docs" target="_blank" rel="noopener">{words.toDocs}</a>
      </p>
    </details>
  );
}
