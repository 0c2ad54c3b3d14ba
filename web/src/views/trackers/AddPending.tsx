// Makes a device that reports a tracker: in a vehicle that there is, or in a new one.

import { api } from "../../api/client";
import type { CreateTrackerBody, CreateVehicleBody, PendingTracker, Tracker } from "../../api/schema";
import { byName } from "../../format";
import { Dialog } from "../../parts/Dialog";
import { FindField } from "../../parts/FindField";
import { Form, TextField, useDraft } from "../../parts/form";
import { findVehicles } from "../../parts/vehicles";
import { loadVehicle, scope, vehicleName, vehicles } from "../../state/fleet";
import { strings } from "../../strings";

const words = strings.manage.pending;

interface Props {
  readonly device: PendingTracker;
  readonly trackers: readonly Tracker[];
  readonly onAdded: (id: string, name: string, vehicle: string) => Promise<void>;
  readonly onClose: () => void;
}

export function AddPending({ device: { uniqueId }, trackers, onAdded, onClose }: Props) {
  const taken = new Set(trackers.map(({ vehicleId }) => vehicleId));
  const draft = useDraft(() => {
    const free = [...vehicles.peek().values()].filter(({ id }) => !taken.has(id));
    return { vehicleId: free.sort((a, b) => byName(a.name, b.name))[0]?.id ?? null, name: uniqueId };
  });
  const add = async () => {
    const { vehicleId, name } = draft.value.peek() as { vehicleId: string | null; name: string };
    if (vehicleId) {
      const { id } = await api.post("/v1/trackers", { body: { uniqueId, vehicleId, ...scope.peek() } as unknown as CreateTrackerBody });
      await onAdded(id, uniqueId, vehicleName(vehicleId));
    } else {
      const made = await api.post("/v1/vehicles", { body: { name, tracker: { uniqueId }, ...scope.peek() } as unknown as CreateVehicleBody });
      await Promise.all([loadVehicle(made.id), made.tracker && onAdded(made.tracker.id, uniqueId, name)]);
    }
  };
  const title = words.addTitle(uniqueId);
  return (
    <Dialog title={title} onClose={onClose}>
      <Form draft={draft} label={title} action={words.addAction} work={add} onCancel={onClose}>
        <p>{words.addText}</p>
        <FindField of="/vehicleId" label={words.vehicle} none={words.newVehicle} name={vehicleName} find={findVehicles(({ id }) => (taken.has(id) ? words.hasTracker : undefined))} />
        {!draft.at("/vehicleId") && <TextField of="/name" label={words.vehicleName} required />}
      </Form>
    </Dialog>
  );
}
