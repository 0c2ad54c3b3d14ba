// One tracker: where it sits and sat, its token, whether it may report, and whether it does.

import { useSignal } from "@preact/signals";

import { api } from "../../api/client";
import { may } from "../../api/permissions";
import type { Tracker, UpdateTrackerBody } from "../../api/schema";
import { dayAndTime } from "../../format";
import { Facts } from "../../parts/Desk";
import { Confirm } from "../../parts/Dialog";
import { FindField } from "../../parts/FindField";
import { Form, TextField, useDraft } from "../../parts/form";
import { findVehicles } from "../../parts/vehicles";
import type { Issued } from "../../parts/TokenDialog";
import { scope, vehicleName } from "../../state/fleet";
import { notice } from "../../state/notices";
import { strings } from "../../strings";
import { Reports } from "./Reports";
import { SpeedUnitField } from "../../parts/SpeedUnitField";

const words = strings.manage.trackers;

interface Props {
  readonly tracker: Tracker;
  readonly reload: () => Promise<void>;
  readonly onGone: () => void;
  readonly onToken: (issued: Issued) => void;
}

export function TrackerDetail({ tracker, reload, onGone, onToken }: Props) {
  const asking = useSignal<"rotate" | "setUp" | "delete" | null>(null);
  const close = () => { asking.value = null; };
  const path = { id: tracker.id };
  const isDisabled = tracker.status === "disabled";
  const put = async (body: UpdateTrackerBody) => {
    await api.put("/v1/trackers/{id}", { path, query: scope.peek(), body });
    await reload();
  };
  const rotate = async (isForApp: boolean) => {
    const issued = await api.post("/v1/trackers/{id}/token", { path, query: scope.peek() });
    // one dialog after the other, so that the focus finds its way back
    close();
    onToken({ ...issued, isForApp });
  };
  const remove = async () => {
    await api.delete("/v1/trackers/{id}", { path, query: scope.peek() });
    onGone();
  };
  return (
    <>
      {may("writeTrackers") ? (
        <>
          <div class="tools">
            <button type="button" onClick={() => { asking.value = "rotate"; }}>{words.rotate}</button>
            <button type="button" onClick={() => put({ status: isDisabled ? "active" : "disabled" }).catch(notice)}>{isDisabled ? words.enable : words.revoke}</button>
            <span class="grow" />
            <button type="button" class="danger" onClick={() => { asking.value = "delete"; }}>{strings.manage.form.delete}</button>
          </div>
          <TrackerForm tracker={tracker} put={put} />
          <details class="group">
            <summary>{strings.manage.reports.setUp}</summary>
            <div class="fields">
              <p>{strings.manage.reports.setUpText}</p>
              <p class="quiet">{strings.manage.reports.setUpElse}</p>
              <p><button type="button" onClick={() => { asking.value = "setUp"; }}>{strings.manage.reports.setUpAction}</button></p>
            </div>
          </details>
        </>
      ) : (
        <Facts facts={[
          [words.model, tracker.model],
          [words.status, words.statuses[tracker.status ?? "active"]],
          [words.speedUnit, tracker.speedUnit && words.speedUnits[tracker.speedUnit]],
          [words.vehicle, tracker.vehicleId ? vehicleName(tracker.vehicleId) : words.notInstalled],
        ]} />
      )}
      <Reports id={tracker.id} />
      <Installations tracker={tracker} />
      {(asking.value === "rotate" || asking.value === "setUp") && (
        <Confirm title={words.rotateTitle(tracker.uniqueId)} text={words.rotateText} action={words.rotate} work={() => rotate(asking.peek() === "setUp")} onClose={close} />
      )}
      {asking.value === "delete" && <Confirm title={words.remove(tracker.uniqueId)} text={words.removeText} action={strings.manage.form.delete} work={remove} onClose={close} />}
    </>
  );
}

function TrackerForm({ tracker, put }: { tracker: Tracker; put: (body: UpdateTrackerBody) => Promise<void> }) {
  const { uniqueId, model, vehicleId, speedUnit } = tracker;
  const draft = useDraft(() => ({ uniqueId, model, vehicleId: vehicleId ?? null, speedUnit: speedUnit ?? null }), tracker.updatedAt);
  return (
    <Form draft={draft} label={uniqueId} action={strings.manage.form.save} work={() => put(draft.changes() as UpdateTrackerBody)}>
      <TextField of="/uniqueId" label={words.uniqueId} hint={words.uniqueIdHint} required />
      <TextField of="/model" label={words.model} />
      <FindField of="/vehicleId" label={words.vehicle} hint={words.installedHint} none={words.notInstalled} name={vehicleName} find={findVehicles()} />
      <SpeedUnitField />
    </Form>
  );
}

function Installations({ tracker: { installations = [] } }: { tracker: Tracker }) {
  if (installations.length === 0) return null;
  return (
    <section class="part" aria-label={words.history}>
      <header><h3>{words.history}</h3></header>
      <ul class="lines">
        {installations.map(({ vehicleId, from, to }) => (
          <li key={`${vehicleId} ${from}`}>
            <b>{vehicleName(vehicleId)}</b>
            <span class="quiet">{from ? dayAndTime(from) : words.fromEver} – {to ? dayAndTime(to) : words.now}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
