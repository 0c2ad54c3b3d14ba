// Trackers: the devices, the vehicles they sit in, their tokens.

import { useSignal } from "@preact/signals";

import { all, api } from "../../api/client";
import { may } from "../../api/permissions";
import type { CreateTrackerBody, TrackerWithToken } from "../../api/schema";
import { Desk, Detail } from "../../parts/Desk";
import { FindField } from "../../parts/FindField";
import { Form, TextField, useDraft } from "../../parts/form";
import { Listing, useList } from "../../parts/Listing";
import { findVehicles } from "../../parts/vehicles";
import { scope, vehicleName } from "../../state/fleet";
import { href, route } from "../../state/route";
import { strings } from "../../strings";
import { type Issued, TokenDialog } from "../../parts/TokenDialog";
import { PendingTrackers } from "./PendingTrackers";
import { SpeedUnitField } from "./SpeedUnitField";
import { TrackerDetail } from "./TrackerDetail";

const words = strings.manage.trackers;

export function TrackersView({ parts: [open] }: { parts: readonly string[] }) {
  const issued = useSignal<Issued | null>(null);
  const { items, reload } = useList("tracker", () => all((page) => api.get("/v1/trackers", { query: { ...page, ...scope.peek(), sort: "uniqueId" } })));
  const show = async (made: TrackerWithToken | null) => {
    // first of all: nobody is shown a token twice
    if (made) issued.value = made;
    await reload();
    location.hash = made ? href("trackers", made.id) : href("trackers");
  };
  const tracker = items.value?.find(({ id }) => id === open);
  const list = (
    <Listing
      title={words.title} note={words.count} items={items.value} current={open}
      id={({ id }) => id} text={(one) => `${one.uniqueId} ${one.model ?? ""} ${one.vehicleId ? vehicleName(one.vehicleId) : ""}`} address={(id) => href("trackers", id)}
      empty={[words.empty, may("writeTrackers") ? words.emptyNext : words.emptyNextRead]}
      columns={[
        { title: words.uniqueId, cell: ({ uniqueId }) => uniqueId },
        { title: words.vehicle, cell: ({ vehicleId }) => (vehicleId ? vehicleName(vehicleId) : <span class="quiet">{words.notInstalled}</span>) },
        { title: words.model, cell: ({ model }) => model },
        { title: words.status, cell: ({ status }) => <span class="mark" data-mark={status === "disabled" ? "bad" : "good"}>{words.statuses[status ?? "active"]}</span> },
      ]}
      before={items.value && <PendingTrackers trackers={items.value} onAdded={reload} />}
      actions={may("writeTrackers") && <a class="button primary" href={href("trackers", "new")}>{words.new}</a>}
    />
  );
  return (
    <Desk list={list}>
      {open === "new" && may("writeTrackers") && <Detail key="new" title={words.new} back={href("trackers")}><NewTracker onMade={show} /></Detail>}
      {open && open !== "new" && items.value && (
        <Detail key={open} title={tracker?.uniqueId ?? words.title} back={href("trackers")}>
          {tracker ? <TrackerDetail tracker={tracker} reload={reload} onGone={() => show(null)} onToken={(token) => { issued.value = token; }} /> : <p class="quiet">{strings.manage.form.gone}</p>}
        </Detail>
      )}
      {issued.value && <TokenDialog {...issued.value} onClose={() => { issued.value = null; }} />}
    </Desk>
  );
}

function NewTracker({ onMade }: { onMade: (made: TrackerWithToken) => Promise<void> }) {
  const draft = useDraft(() => ({ vehicleId: route.peek().query.get("vehicle") }));
  const make = async () => onMade(await api.post("/v1/trackers", { body: { ...draft.value.peek(), ...scope.peek() } as unknown as CreateTrackerBody }));
  return (
    <Form draft={draft} label={words.new} action={strings.manage.form.save} work={make}>
      <TextField of="/uniqueId" label={words.uniqueId} hint={words.uniqueIdHint} required />
      <TextField of="/model" label={words.model} />
      <FindField of="/vehicleId" label={words.vehicle} none={words.notInstalled} name={vehicleName} find={findVehicles()} />
      <SpeedUnitField />
    </Form>
  );
}
