// Entering a tracker, in a vehicle or in none.

import { api } from "../api/client";
import type { CreateTrackerBody, TrackerWithToken } from "../api/schema";
import { scope, vehicleName } from "../state/fleet";
import { strings } from "../strings";
import { FindField } from "./FindField";
import { SpeedUnitField } from "./SpeedUnitField";
import { Form, TextField, useDraft } from "./form";
import { findVehicles } from "./vehicles";

const words = strings.manage.trackers;

interface Props {
  readonly vehicleId: string | null;
  readonly onMade: (made: TrackerWithToken) => Promise<void>;
  readonly onCancel?: () => void;
}

export function NewTracker({ vehicleId, onMade, onCancel }: Props) {
  const draft = useDraft(() => ({ vehicleId }));
  const make = async () => onMade(await api.post("/v1/trackers", { body: { ...draft.value.peek(), ...scope.peek() } as unknown as CreateTrackerBody }));
  return (
    <Form draft={draft} label={words.new} action={strings.manage.form.save} work={make} {...(onCancel ? { onCancel } : {})}>
      <TextField of="/uniqueId" label={words.uniqueId} hint={words.uniqueIdHint} required />
      <TextField of="/model" label={words.model} />
      <FindField of="/vehicleId" label={words.vehicle} none={words.notInstalled} name={vehicleName} find={findVehicles()} />
      <SpeedUnitField />
    </Form>
  );
}
