// A vehicle as it is entered, its trackers, and taking it out of service.

import { useSignal } from "@preact/signals";

import { api } from "../../api/client";
import { may } from "../../api/permissions";
import type { VehicleOut } from "../../api/schema";
import { type Quantity, measure } from "../../format";
import { useAnswer } from "../../parts/answer";
import { Facts } from "../../parts/Desk";
import { Confirm } from "../../parts/Dialog";
import { NewTracker } from "../../parts/NewTracker";
import { type Issued, TokenDialog } from "../../parts/TokenDialog";
import { edits, loadVehicle, scope } from "../../state/fleet";
import { notice } from "../../state/notices";
import { href } from "../../state/route";
import { strings } from "../../strings";

const words = strings.manage.vehicles;

export function AsEntered({ vehicle }: { vehicle: VehicleOut }) {
  const isDeleting = useSignal(false);
  const path = { id: vehicle.id };
  const isActive = vehicle.status === "active";
  const turn = async () => {
    await api.put("/v1/vehicles/{id}", { path, query: scope.peek(), body: { status: isActive ? "inactive" : "active" } });
    await loadVehicle(vehicle.id);
  };
  const remove = async () => {
    await api.delete("/v1/vehicles/{id}", { path, query: scope.peek() });
    await loadVehicle(vehicle.id);
    location.hash = href("live");
  };
  return (
    <>
      <section class="vehicle-part">
        <h3>{words.asEntered}</h3>
        <VehicleFacts vehicle={vehicle} />
      </section>
      <Trackers vehicle={vehicle} />
      {may("writeVehicles") && (
        <div class="vehicle-part tools">
          <button type="button" onClick={() => turn().catch(notice)}>{isActive ? words.deactivate : words.activate}</button>
          <span class="grow" />
          <button type="button" class="danger" onClick={() => { isDeleting.value = true; }}>{strings.manage.form.delete}</button>
        </div>
      )}
      {isDeleting.value && <Confirm title={words.remove(vehicle.name)} text={words.removeText} action={strings.manage.form.delete} work={remove} onClose={() => { isDeleting.value = false; }} />}
    </>
  );
}

function VehicleFacts({ vehicle: { plate, fuel, tracking, ...vehicle } }: { vehicle: VehicleOut }) {
  return (
    <Facts facts={[
      [words.status, words.statuses[vehicle.status ?? "active"]],
      [words.category, words.categories[vehicle.category ?? "other"]],
      [words.plate, [plate?.country, plate?.number].filter(Boolean).join(" ")],
      [words.make, [vehicle.make, vehicle.model, vehicle.year].filter(Boolean).join(" ")],
      [words.color, vehicle.color],
      [words.vin, vehicle.vin],
      [words.fuelKind, fuel && words.fuelKinds[fuel.kind]],
      [words.tank, measured("volume", fuel?.tankCapacityLiters)],
      [words.norm, measured("consumption", fuel?.normLitersPer100Km)],
      [words.interval, tracking?.intervalSeconds],
      [words.stoppedInterval, tracking?.stoppedIntervalSeconds],
      [words.maxSpeed, measured("speed", tracking?.maxSpeedKmh)],
      [words.overspeed, measured("speed", tracking?.overspeedKmh)],
      [words.maxAccuracy, measured("length", tracking?.maxAccuracyMeters)],
    ]} />
  );
}

const measured = (quantity: Quantity, value: number | null | undefined) => (value == null ? null : measure(quantity, value));

function Trackers({ vehicle }: { vehicle: VehicleOut }) {
  const isAdding = useSignal(false);
  const issued = useSignal<Issued | null>(null);
  const trackers = useAnswer(() => {
    edits.value.tracker;
    return api.get("/v1/trackers", { query: { ...scope.peek(), vehicleId: [vehicle.id] } });
  });
  const made = async (tracker: Issued) => {
    issued.value = tracker;
    isAdding.value = false;
  };
  return (
    <section class="vehicle-part" aria-label={words.tracker}>
      <header class="part-head">
        <h3>{words.tracker}</h3><span class="grow" />
        {may("writeTrackers") && !isAdding.value && <button type="button" onClick={() => { isAdding.value = true; }}>{words.addTracker}</button>}
      </header>
      {trackers.value?.data.length === 0 && !isAdding.value && <p class="quiet">{words.noTracker}</p>}
      <ul class="lines">{trackers.value?.data.map(({ id, uniqueId, model }) => <li key={id}><a href={href("trackers", id)}>{uniqueId}</a> <span class="quiet">{model}</span></li>)}</ul>
      {isAdding.value && <NewTracker vehicleId={vehicle.id} onMade={made} onCancel={() => { isAdding.value = false; }} />}
      {issued.value && <TokenDialog {...issued.value} onClose={() => { issued.value = null; }} />}
    </section>
  );
}
