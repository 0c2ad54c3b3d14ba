// Who drives a vehicle, a number to call, and giving it to somebody or taking it from them.

import { useSignal } from "@preact/signals";

import { api } from "../../api/client";
import { may } from "../../api/permissions";
import type { VehicleOut } from "../../api/schema";
import { date, fullName } from "../../format";
import { Dialog } from "../../parts/Dialog";
import { Phone, findDriver } from "../../parts/Driver";
import { FindField } from "../../parts/FindField";
import { useAnswer } from "../../parts/answer";
import { CheckField, Form, useDraft } from "../../parts/form";
import { loadVehicle, scope } from "../../state/fleet";
import { notice } from "../../state/notices";
import { href } from "../../state/route";
import { strings } from "../../strings";

const words = strings.manage.drivers;

export function Driving({ vehicle }: { vehicle: VehicleOut }) {
  const isAssigning = useSignal(false);
  const { driver } = vehicle;
  const unassign = async (driverId: string) => {
    await api.delete("/v1/drivers/{driverId}/vehicles/{vehicleId}", { path: { driverId, vehicleId: vehicle.id }, query: scope.peek() });
    await loadVehicle(vehicle.id);
  };
  return (
    <>
      {driver ? <><a href={href("drivers", driver.id)}>{fullName(driver)}</a> <span class="quiet">{strings.detail.since(date(driver.startedAt))}</span> <Call key={driver.id} id={driver.id} /></> : <span>{strings.detail.noDriver}</span>}
      {may("assignDrivers") && (
        <span class="vehicle-driving">
          <button type="button" class="plain" onClick={() => { isAssigning.value = true; }}>{words.assignDriver}</button>
          {driver?.origin === "manual" && <button type="button" class="plain" onClick={() => unassign(driver.id).catch(notice)}>{words.unassign}</button>}
        </span>
      )}
      {isAssigning.value && <AssignDialog vehicle={vehicle} onClose={() => { isAssigning.value = false; }} />}
    </>
  );
}

function Call({ id }: { id: string }) {
  const person = useAnswer(() => findDriver(id));
  return <Phone number={person.value?.phone ?? ""} />;
}

function AssignDialog({ vehicle, onClose }: { vehicle: VehicleOut; onClose: () => void }) {
  const names = useSignal<ReadonlyMap<string, string>>(new Map());
  const draft = useDraft(() => ({ driverId: null, force: false }));
  const find = async (q: string, limit: number) => {
    const { data } = await api.get("/v1/drivers", { query: { ...scope.peek(), q, limit, sort: "lastName,firstName" } });
    const found = data.map((one) => ({ id: one.id, name: fullName(one), note: one.currentVehicles.map(({ name }) => name).join(", ") }));
    names.value = new Map([...names.peek(), ...found.map(({ id, name }) => [id, name] as const)]);
    return found;
  };
  const assign = async () => {
    const { driverId, force } = draft.value.peek() as { driverId: string; force: boolean };
    await api.post("/v1/drivers/{driverId}/assign-vehicle", { path: { driverId }, body: { ...scope.peek(), vehicleId: vehicle.id, force } });
    await loadVehicle(vehicle.id);
    onClose();
  };
  const title = words.assignDriverTitle(vehicle.name);
  return (
    <Dialog title={title} onClose={onClose}>
      <Form draft={draft} label={title} action={words.assignAction} work={assign} onCancel={onClose}>
        <FindField of="/driverId" label={words.driver} name={(id) => names.value.get(id) ?? ""} find={find} />
        {vehicle.driver?.origin === "manual" && <CheckField of="/force" label={words.take(vehicle.name, fullName(vehicle.driver))} />}
      </Form>
    </Dialog>
  );
}
