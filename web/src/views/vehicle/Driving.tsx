// Who drives a vehicle, a number to call, and giving it to somebody or taking it from them.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { api } from "../../api/client";
import { may } from "../../api/permissions";
import type { VehicleOut } from "../../api/schema";
import { date, fullName } from "../../format";
import { Dialog, Told } from "../../parts/Dialog";
import { SinceField, sinceOf } from "../../parts/SinceField";
import { Phone, findDriver } from "../../parts/Driver";
import { FindField } from "../../parts/FindField";
import { useAnswer } from "../../parts/answer";
import { CheckField, Form, useDraft } from "../../parts/form";
import { loadVehicle, scope } from "../../state/fleet";
import { notice } from "../../state/notices";
import { href, note, route } from "../../state/route";
import { strings } from "../../strings";

const words = strings.manage.drivers;

export function Driving({ vehicle }: { vehicle: VehicleOut }) {
  const isAssigning = useSignal(false);
  const { driver } = vehicle;
  // who was made to drive it, and is to be assigned
  const wanted = route.value.query.get("driver");
  const close = () => {
    isAssigning.value = false;
    note("driver", null);
  };
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
      {may("assignDrivers") && (isAssigning.value || wanted) && <Assigning key={wanted} vehicle={vehicle} wanted={wanted} onClose={close} />}
    </>
  );
}

function Call({ id }: { id: string }) {
  const person = useAnswer(() => findDriver(id));
  return <Phone number={person.value?.phone ?? ""} />;
}

interface AssigningProps {
  readonly vehicle: VehicleOut;
  /** The driver that is chosen at first. */
  readonly wanted: string | null;
  readonly onClose: () => void;
}

/** The dialog, once it is known whether there is somebody to assign. */
function Assigning(props: AssigningProps) {
  const some = useAnswer(() => api.get("/v1/drivers", { query: { ...scope.value, limit: 1 } }));
  if (!some.value) return null;
  return some.value.data.length === 0 ? <NobodyYet {...props} /> : <AssignDialog {...props} />;
}

function NobodyYet({ vehicle, onClose }: AssigningProps) {
  return (
    <Told title={words.assignDriverTitle(vehicle.name)} onClose={onClose}>
      <p>{words.noDrivers}</p>
      {may("writeDrivers") ? <p><NewDriver vehicle={vehicle} /></p> : <p class="quiet">{words.emptyNextRead}</p>}
    </Told>
  );
}

/** Leads to the form of a new driver, and from there back. */
function NewDriver({ vehicle }: { vehicle: VehicleOut }) {
  return <a class="button" href={`${href("drivers", "new")}?vehicle=${vehicle.id}`}>{words.new}</a>;
}

function AssignDialog({ vehicle, wanted, onClose }: AssigningProps) {
  const names = useSignal<ReadonlyMap<string, string>>(new Map());
  const draft = useDraft(() => ({ driverId: wanted, force: false }));
  useEffect(() => {
    if (!wanted) return;
    void findDriver(wanted).then((person) => { if (person) names.value = new Map(names.peek()).set(wanted, person.name); });
  }, []);
  const find = async (q: string, limit: number) => {
    const { data } = await api.get("/v1/drivers", { query: { ...scope.peek(), q, limit, sort: "lastName,firstName" } });
    const found = data.map((one) => ({ id: one.id, name: fullName(one), note: one.currentVehicles.map(({ name }) => name).join(", ") }));
    names.value = new Map([...names.peek(), ...found.map(({ id, name }) => [id, name] as const)]);
    return found;
  };
  const assign = async () => {
    const { driverId, force } = draft.value.peek() as { driverId: string; force: boolean };
    const body = { ...scope.peek(), vehicleId: vehicle.id, force, ...sinceOf(draft) };
    await api.post("/v1/drivers/{driverId}/assign-vehicle", { path: { driverId }, body });
    await loadVehicle(vehicle.id);
    onClose();
  };
  const title = words.assignDriverTitle(vehicle.name);
  const more = may("writeDrivers") && <NewDriver vehicle={vehicle} />;
  return (
    <Dialog title={title} onClose={onClose}>
      <Form draft={draft} label={title} action={words.assignAction} work={assign} onCancel={onClose} more={more}>
        <FindField of="/driverId" required label={words.driver} name={(id) => names.value.get(id) ?? ""} find={find} />
        <SinceField />
        {vehicle.driver?.origin === "manual" && <CheckField of="/force" label={words.take(vehicle.name, fullName(vehicle.driver))} />}
      </Form>
    </Dialog>
  );
}
