// One vehicle as it is entered, its trackers, and taking it out of service.

import { useSignal } from "@preact/signals";

import { api } from "../../api/client";
import { may } from "../../api/permissions";
import type { VehicleOut } from "../../api/schema";
import { type Quantity, fullName, measure } from "../../format";
import { useAnswer } from "../../parts/answer";
import { Facts } from "../../parts/Desk";
import { Confirm } from "../../parts/Dialog";
import { edits, loadVehicles, scope } from "../../state/fleet";
import { notice } from "../../state/notices";
import { href } from "../../state/route";
import { strings } from "../../strings";
import { VehicleForm } from "./VehicleForm";

const words = strings.manage.vehicles;

export function VehicleDetail({ vehicle, onGone }: { vehicle: VehicleOut; onGone: () => Promise<void> }) {
  const asking = useSignal<"edit" | "delete" | null>(null);
  const close = () => { asking.value = null; };
  const path = { id: vehicle.id };
  const isActive = vehicle.status === "active";
  if (asking.value === "edit") {
    const saved = async () => {
      await loadVehicles();
      close();
    };
    return <VehicleForm vehicle={vehicle} onSaved={saved} onCancel={close} />;
  }
  const turn = async () => {
    await api.put("/v1/vehicles/{id}", { path, query: scope.peek(), body: { status: isActive ? "inactive" : "active" } });
    await loadVehicles();
  };
  const remove = async () => {
    await api.delete("/v1/vehicles/{id}", { path, query: scope.peek() });
    await onGone();
  };
  return (
    <>
      {may("writeVehicles") && (
        <div class="tools">
          <button type="button" onClick={() => { asking.value = "edit"; }}>{strings.manage.form.edit}</button>
          <button type="button" onClick={() => turn().catch(notice)}>{isActive ? words.deactivate : words.activate}</button>
          <span class="grow" />
          <button type="button" class="danger" onClick={() => { asking.value = "delete"; }}>{strings.manage.form.delete}</button>
        </div>
      )}
      <VehicleFacts vehicle={vehicle} />
      <Trackers vehicle={vehicle} />
      {asking.value === "delete" && <Confirm title={words.remove(vehicle.name)} text={words.removeText} action={strings.manage.form.delete} work={remove} onClose={close} />}
    </>
  );
}

function VehicleFacts({ vehicle: { plate, driver, fuel, tracking, ...vehicle } }: { vehicle: VehicleOut }) {
  return (
    <Facts facts={[
      [words.status, words.statuses[vehicle.status ?? "active"]],
      [words.category, words.categories[vehicle.category ?? "other"]],
      [words.plate, [plate?.country, plate?.number].filter(Boolean).join(" ")],
      [words.driver, driver && <a href={href("drivers", driver.id)}>{fullName(driver)}</a>],
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
  const trackers = useAnswer(() => {
    edits.value.tracker;
    return api.get("/v1/trackers", { query: { ...scope.peek(), vehicleId: [vehicle.id] } });
  });
  return (
    <section class="part" aria-label={words.tracker}>
      <header>
        <h3>{words.tracker}</h3><span class="grow" />
        {may("writeTrackers") && <a class="button" href={`${href("trackers", "new")}?vehicle=${vehicle.id}`}>{words.addTracker}</a>}
      </header>
      {trackers.value?.data.length === 0 && <p class="quiet">{words.noTracker}</p>}
      <ul class="lines">{trackers.value?.data.map(({ id, uniqueId, model }) => <li key={id}><a href={href("trackers", id)}>{uniqueId}</a> <span class="quiet">{model}</span></li>)}</ul>
    </section>
  );
}
