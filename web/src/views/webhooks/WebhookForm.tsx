// Where a webhook leads, and what it is sent.

import { api } from "../../api/client";
import type { CreateWebhookBody, UpdateWebhookBody, Webhook, WebhookWithSecret } from "../../api/schema";
import { Form, Group, TextField, useDraft } from "../../parts/form";
import { PickField } from "../../parts/PickField";
import { fenceName, fences, scope, vehicleName, vehicles } from "../../state/fleet";
import { strings } from "../../strings";
import { TypeFields } from "./TypeFields";
import { typeMembers, typesOf } from "./event_types";

const words = strings.manage.webhooks;

function Fields({ isNarrowed = false }: { isNarrowed?: boolean }) {
  return (
    <>
      <TextField of="/url" label={words.url} hint={words.urlHint} required />
      <TextField of="/description" label={words.description} />
      <TypeFields />
      <Group title={words.only} open={isNarrowed}>
        <PickField of="/vehicleIds" label={words.vehicles} hint={words.vehiclesHint} things={vehicles.value} name={vehicleName} />
        <PickField of="/geofenceIds" label={words.fences} hint={words.fencesHint} things={fences.value} name={fenceName} />
      </Group>
    </>
  );
}

export function NewWebhook({ onMade }: { onMade: (made: WebhookWithSecret) => Promise<void> }) {
  const draft = useDraft(() => ({ ...typeMembers([]), vehicleIds: [], geofenceIds: [] }));
  const make = async () => {
    const { types, further, ...body } = draft.value.peek();
    const sent = { ...body, eventTypes: typesOf({ types, further }), ...scope.peek() };
    await onMade(await api.post("/v1/webhooks", { body: sent as unknown as CreateWebhookBody }));
  };
  return <Form draft={draft} label={words.new} action={strings.manage.form.save} work={make}><Fields /></Form>;
}

interface Props {
  readonly webhook: Webhook;
  readonly put: (body: UpdateWebhookBody) => Promise<void>;
  readonly onCancel: () => void;
}

export function WebhookForm({ webhook, put, onCancel }: Props) {
  const { url, description, eventTypes, vehicleIds = [], geofenceIds = [] } = webhook;
  const draft = useDraft(() => ({ url, description, ...typeMembers(eventTypes), vehicleIds, geofenceIds }), webhook.updatedAt);
  const save = async () => {
    const { types, further, ...changes } = draft.changes();
    const isOther = types !== undefined || further !== undefined;
    await put({ ...changes, ...(isOther ? { eventTypes: typesOf(draft.value.peek()) } : {}) } as UpdateWebhookBody);
    onCancel();
  };
  return (
    <Form draft={draft} label={words.title} action={strings.manage.form.save} work={save} onCancel={onCancel}>
      <Fields isNarrowed={vehicleIds.length + geofenceIds.length > 0} />
    </Form>
  );
}
