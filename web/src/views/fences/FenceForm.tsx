// What is said of a fence, and its shape in numbers. The map beside it draws the same shape.

import { useSignal } from "@preact/signals";

import { api } from "../../api/client";
import type { CreateGeofenceBody, UpdateGeofenceBody } from "../../api/schema";
import type { Fence } from "../../api/types";
import { placeOf } from "../../map/place_text";
import type { Desk } from "../../map/draw/session";
import { Confirm } from "../../parts/Dialog";
import { CheckField, type Draft, Field, Form, Group, type Members, TextField, useFormDraft } from "../../parts/form";
import { organization, scope } from "../../state/fleet";
import { strings } from "../../strings";
import { route } from "../../state/route";
import { colorName } from "./color_name";
import { DryRun } from "./DryRun";
import { EffectiveField } from "./EffectiveField";
import { RuleFields } from "./RuleFields";
import { ShapeFields } from "./ShapeFields";

const words = strings.manage.fences;
const FIRST_RADIUS_METERS = 200;

/** What a form of a fence writes; `effectiveFrom` only when somebody says so. A new one is around the place of the address, if it has one. */
export function fenceMembers(fence: Fence | null): Members {
  if (!fence) {
    const at = placeOf(route.peek().query.get("at") ?? "");
    const shape = { type: "circle", center: at ?? { latitude: null, longitude: null }, radiusMeters: FIRST_RADIUS_METERS };
    return { enabled: true, shape, rules: organization.peek()?.settings?.geofenceDefaults ?? {} };
  }
  const { name, description, category, color, enabled, shape, rules } = fence;
  return { name, description, category, color, enabled, shape, rules };
}

interface Props {
  /** Which to change; null makes a new one. */
  readonly fence: Fence | null;
  readonly draft: Draft;
  readonly desk: Desk;
  readonly onSaved: (id: string) => void;
  readonly onGone: () => Promise<void>;
}

export function FenceForm({ fence, draft, desk, onSaved, onGone }: Props) {
  const isAsking = useSignal(false);
  const save = async () => {
    if (fence) {
      await api.put("/v1/geofences/{id}", { path: { id: fence.id }, query: scope.peek(), body: draft.changes() as UpdateGeofenceBody });
      onSaved(fence.id);
    } else {
      const made = await api.post("/v1/geofences", { body: { ...draft.value.peek(), ...scope.peek() } as unknown as CreateGeofenceBody });
      onSaved(made.id);
    }
  };
  const remove = async () => {
    if (!fence) return;
    await api.delete("/v1/geofences/{id}", { path: { id: fence.id }, query: scope.peek() });
    await onGone();
  };
  const more = fence && <button type="button" class="danger" onClick={() => { isAsking.value = true; }}>{strings.manage.form.delete}</button>;
  return (
    <>
      <Form draft={draft} label={fence?.name ?? words.new} action={strings.manage.form.save} work={save} more={more}>
        <TextField of="/name" label={words.name} required />
        <ShapeFields desk={desk} isNew={!fence} />
        <DryRun draft={draft} isNew={!fence} />
        <ColorField />
        <TextField of="/category" label={words.category} />
        <TextField of="/description" label={words.description} rows={2} />
        <CheckField of="/enabled" label={words.enabled} />
        <Group title={words.rules}><RuleFields of="/rules" /></Group>
        <Group title={words.effectiveFrom}><EffectiveField key={fence?.updatedAt} now={fence?.effectiveFrom} isNew={!fence} /></Group>
      </Form>
      {fence && isAsking.value && (
        <Confirm title={words.remove(fence.name)} text={words.removeText} action={strings.manage.form.delete} work={remove} onClose={() => { isAsking.value = false; }} />
      )}
    </>
  );
}

/** A colour input knows no none. */
function ColorField() {
  const draft = useFormDraft();
  const color = draft.at("/color") as string | null | undefined;
  return (
    <Field of="/color" label={words.color}>
      {(bound) => (
        <div class="color">
          <input {...bound} type="color" value={color ?? "#0b6e4f"} onInput={(event) => draft.put("/color", event.currentTarget.value.toUpperCase())} />
          <span>{color ? `${colorName(color)}, ${color}` : words.noColor}</span>
          {color && <button type="button" class="plain" onClick={() => draft.put("/color", null)}>{words.takeColorAway}</button>}
        </div>
      )}
    </Field>
  );
}
