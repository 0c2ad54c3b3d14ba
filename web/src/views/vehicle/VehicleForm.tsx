// Entering and changing a vehicle.

import { api } from "../../api/client";
import type { CreateVehicleBody, NewTracker, UpdateVehicleBody, VehicleOut } from "../../api/schema";
import { Form, Group, type Members, Row, SelectField, TextField, useDraft } from "../../parts/form";
import { MeasureField, NumberField } from "../../parts/NumberField";
import { scope } from "../../state/fleet";
import { strings } from "../../strings";
import { SensorFields } from "./SensorFields";

const words = strings.manage.vehicles;

interface Props {
  /** Which to change; null enters a new one. */
  readonly vehicle: VehicleOut | null;
  readonly onSaved: (id: string) => Promise<void>;
  readonly onToken?: (tracker: NewTracker) => void;
  readonly onCancel?: () => void;
}

export function VehicleForm({ vehicle, onSaved, onToken, onCancel }: Props) {
  const draft = useDraft(() => initial(vehicle), vehicle?.updatedAt, WHOLE);
  const save = async () => {
    const all = draft.value.peek();
    if (vehicle) {
      const body = sent(draft.changes(), all) as UpdateVehicleBody;
      await api.put("/v1/vehicles/{id}", { path: { id: vehicle.id }, query: scope.peek(), body });
      await onSaved(vehicle.id);
      return;
    }
    // all that the form shows, so that what was seen is what is saved, whatever the server would take for what is left out
    const body = sent(all, all);
    const made = await api.post("/v1/vehicles", { body: { ...body, ...scope.peek() } as unknown as CreateVehicleBody });
    if (made.tracker) onToken?.(made.tracker);
    await onSaved(made.id);
  };
  return (
    <Form draft={draft} label={vehicle ? strings.manage.form.edit : words.new} action={strings.manage.form.save} work={save} {...(onCancel ? { onCancel } : {})}>
      <TextField of="/name" label={words.name} required />
      {!vehicle && <TextField of="/tracker/uniqueId" label={words.trackerId} hint={words.trackerIdHint} />}
      <Row><SelectField of="/category" label={words.category} options={words.categories} /><SelectField of="/status" label={words.status} options={words.statuses} /></Row>
      <Row><TextField of="/plate/number" label={words.plate} /><TextField of="/plate/country" label={words.plateCountry} /></Row>
      <Row><TextField of="/make" label={words.make} /><TextField of="/model" label={words.model} /></Row>
      <Row><NumberField of="/year" kind="whole" label={words.year} /><TextField of="/color" label={words.color} /></Row>
      <TextField of="/vin" label={words.vin} />
      <Group title={words.fuel}>
        <SelectField of="/fuel/kind" label={words.fuelKind} options={words.fuelKinds} />
        <Row><MeasureField of="/fuel/tankCapacityLiters" quantity="volume" label={words.tank} /><MeasureField of="/fuel/normLitersPer100Km" quantity="consumption" label={words.norm} /></Row>
        <SensorFields />
      </Group>
      <Group title={words.tracking}>
        <Row><NumberField of="/tracking/intervalSeconds" kind="whole" label={words.interval} required /><NumberField of="/tracking/stoppedIntervalSeconds" kind="whole" label={words.stoppedInterval} required /></Row>
        <Row><MeasureField of="/tracking/maxSpeedKmh" quantity="speed" label={words.maxSpeed} /><MeasureField of="/tracking/overspeedKmh" quantity="speed" label={words.overspeed} hint={words.overspeedHint} /></Row>
        <MeasureField of="/tracking/maxAccuracyMeters" quantity="length" label={words.maxAccuracy} />
      </Group>
    </Form>
  );
}

/** What the form of a new vehicle shows at first. */
const NEW = {
  category: "car", status: "active", fuel: { kind: "unknown" },
  tracking: { intervalSeconds: 10, stoppedIntervalSeconds: 300, maxSpeedKmh: 250, maxAccuracyMeters: 200, overspeedKmh: null },
};

/** A sensor is replaced as one. */
const WHOLE = ["sensor"];

/** Tank and sensor without when they are in force from: sent with a change of them it would say so of the new ones, and judge the past anew. */
function initial(vehicle: VehicleOut | null): Members {
  if (!vehicle) return NEW;
  const { name, category, status, plate, make, model, year, color, vin, fuel, tracking } = vehicle;
  const { effectiveFrom: _, ...tank } = fuel ?? {};
  return { name, category, status, plate, make, model, year, color, vin, fuel: tank, tracking };
}

/** What the server takes of some of all members: a plate without anything on it is none, and so are a tracker without an id and a sensor of no kind. */
function sent({ plate, tracker, ...members }: Members, all: Members): Members {
  const said = { ...members };
  const fuel = said["fuel"] as { sensor?: { kind: string | null } | null } | undefined;
  if (fuel?.sensor && !fuel.sensor.kind) said["fuel"] = { ...fuel, sensor: null };
  if (plate !== undefined) said["plate"] = Object.values(all["plate"] ?? {}).some(Boolean) ? plate : null;
  if ((tracker as { uniqueId?: string } | undefined)?.uniqueId) said["tracker"] = tracker;
  return said;
}
