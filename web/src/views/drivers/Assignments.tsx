// What a driver drives and drove; assigning and unassigning.

import { useSignal } from "@preact/signals";

import { api } from "../../api/client";
import { may } from "../../api/permissions";
import type { Driver } from "../../api/types";
import { dayAndTime, fullName } from "../../format";
import { useAnswer } from "../../parts/answer";
import { Dialog, Told } from "../../parts/Dialog";
import { FindField } from "../../parts/FindField";
import { CheckField, Form, useDraft } from "../../parts/form";
import { SinceField, sinceOf } from "../../parts/SinceField";
import { findVehicles } from "../../parts/vehicles";
import { edits, loadVehicle, scope, vehicleName, vehicles } from "../../state/fleet";
import { notice } from "../../state/notices";
import { href } from "../../state/route";
import { strings } from "../../strings";
import { heldName } from "./DriversView";

const words = strings.manage.drivers;
const PAST_SHOWN = 20;
const ACTIVE = { status: ["active" as const] };

interface Props {
  readonly driver: Driver;
  readonly reload: () => Promise<void>;
}

export function Assignments({ driver, reload }: Props) {
  const isAssigning = useSignal(false);
  const changed = async (vehicleId: string) => {
    await Promise.all([reload(), loadVehicle(vehicleId)]);
  };
  const unassign = async (vehicleId: string) => {
    await api.delete("/v1/drivers/{driverId}/vehicles/{vehicleId}", { path: { driverId: driver.id, vehicleId }, query: scope.peek() });
    await changed(vehicleId);
  };
  const now = driver.currentVehicles;
  return (
    <>
      <section class="part" aria-label={words.vehicles}>
        <header>
          <h3>{words.vehicles}</h3><span class="grow" />
          {may("assignDrivers") && driver.kept && <button type="button" onClick={() => { isAssigning.value = true; }}>{words.assign}</button>}
        </header>
        {now.length === 0 && <p class="quiet">{words.noVehicle}</p>}
        <ul class="lines">
          {now.map(({ startedAt, origin, ...held }) => ({ startedAt, origin, id: held.id, name: heldName(held) })).map(({ id, name, startedAt, origin }) => (
            <li key={id}>
              <b>{name}</b> <span class="quiet">{words.since(dayAndTime(startedAt))}{origin === "card" && `, ${words.byCard}`}</span><span class="grow" />
              {may("assignDrivers") && origin === "manual" && <button type="button" aria-label={words.unassignWhich(name)} onClick={() => unassign(id).catch(notice)}>{words.unassign}</button>}
            </li>
          ))}
        </ul>
      </section>
      <Past key={now.map(({ assignmentId }) => assignmentId).join()} driver={driver} />
      {isAssigning.value && <AssignDialog driver={driver} onAssigned={changed} onClose={() => { isAssigning.value = false; }} />}
    </>
  );
}

function Past({ driver }: { driver: Driver }) {
  const past = useAnswer(() => {
    edits.value.assignment;
    const query = { ...scope.peek(), state: "past" as const, limit: PAST_SHOWN };
    return api.get("/v1/drivers/{driverId}/vehicles", { path: { driverId: driver.id }, query });
  });
  if (!past.value?.data.length) return null;
  return (
    <section class="part" aria-label={words.past}>
      <header><h3>{words.past}</h3></header>
      <ul class="lines">
        {past.value.data.map(({ id, vehicle, startedAt, endedAt, endReason }) => (
          <li key={id}>
            <b>{vehicle.name}</b>
            <span class="quiet">{dayAndTime(startedAt)} – {endedAt && dayAndTime(endedAt)}{endReason && `, ${words.ended[endReason]}`}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

interface Assigning {
  readonly driver: Driver;
  readonly onAssigned: (vehicleId: string) => Promise<void>;
  readonly onClose: () => void;
}

function AssignDialog({ driver, onAssigned, onClose }: Assigning) {
  const mine = new Set(driver.currentVehicles.map(({ id }) => id));
  const free = [...vehicles.value.values()].filter(({ id, status }) => status === "active" && !mine.has(id));
  const draft = useDraft(() => ({ vehicleId: free.find((one) => !one.driver)?.id ?? free[0]?.id, force: false }));
  const chosen = vehicles.value.get(String(draft.at("/vehicleId")));
  const assign = async () => {
    const vehicleId = String(draft.at("/vehicleId"));
    const force = draft.at("/force") === true;
    await api.post("/v1/drivers/{driverId}/assign-vehicle", { path: { driverId: driver.id }, body: { ...scope.peek(), vehicleId, force, ...sinceOf(draft) } });
    await onAssigned(vehicleId);
    onClose();
  };
  const title = words.assignTitle(fullName(driver));
  if (free.length === 0) {
    return (
      <Told title={title} onClose={onClose}>
        <p>{words.noVehicles}</p>
        {may("writeVehicles") && <p><a class="button" href={href("fleet", "new")}>{strings.manage.vehicles.new}</a></p>}
      </Told>
    );
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <Form draft={draft} label={title} action={words.assignAction} work={assign} onCancel={onClose}>
        <FindField of="/vehicleId" required label={words.vehicle} name={vehicleName} find={findVehicles(({ driver: other }) => (other ? fullName(other) : undefined), ACTIVE, mine)} />
        <SinceField />
        {chosen?.driver?.origin === "manual" && <CheckField of="/force" label={words.take(chosen.name, fullName(chosen.driver))} />}
      </Form>
    </Dialog>
  );
}
