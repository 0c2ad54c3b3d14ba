// One webhook: where it leads, how it stands, what can be done with it, what it was sent.

import { type Signal, useSignal } from "@preact/signals";

import { api } from "../../api/client";
import type { UpdateWebhookBody, Webhook, WebhookAttempt, WebhookWithSecret } from "../../api/schema";
import { moment } from "../../format";
import { Facts } from "../../parts/Desk";
import { Confirm } from "../../parts/Dialog";
import { fenceName, scope, vehicleName } from "../../state/fleet";
import { notice } from "../../state/notices";
import { strings } from "../../strings";
import { Attempts, Outcome } from "./Attempts";
import { WebhookForm } from "./WebhookForm";
import { WebhookState } from "./WebhookState";
import { webhookName } from "./names";

const words = strings.manage.webhooks;

interface Props {
  readonly webhook: Webhook;
  readonly reload: () => Promise<void>;
  readonly onGone: () => Promise<void>;
  readonly onSecret: (made: WebhookWithSecret) => void;
}

type Asking = "edit" | "rotate" | "delete" | null;

export function WebhookDetail({ webhook, reload, onGone, onSecret }: Props) {
  const asking = useSignal<Asking>(null);
  const close = () => { asking.value = null; };
  const path = { id: webhook.id };
  const name = webhookName(webhook);
  const put = async (body: UpdateWebhookBody) => {
    await api.put("/v1/webhooks/{id}", { path, query: scope.peek(), body });
    await reload();
  };
  const rotate = async () => {
    const made = await api.post("/v1/webhooks/{id}/secret", { path, query: scope.peek() });
    // one dialog after the other, so that the focus finds its way back
    close();
    onSecret(made);
  };
  const remove = async () => {
    await api.delete("/v1/webhooks/{id}", { path, query: scope.peek() });
    await onGone();
  };
  if (asking.value === "edit") return <WebhookForm webhook={webhook} put={put} onCancel={close} />;
  return (
    <>
      <Tools webhook={webhook} asking={asking} put={put} />
      <WebhookFacts webhook={webhook} />
      <Tried key={webhook.id} webhook={webhook} reload={reload} />
      {asking.value === "rotate" && (
        <Confirm title={words.rotateTitle(name)} text={words.rotateText} action={words.rotate} work={rotate} onClose={close} />
      )}
      {asking.value === "delete" && (
        <Confirm title={words.remove(name)} text={words.removeText} action={strings.manage.form.delete} work={remove} onClose={close} />
      )}
    </>
  );
}

interface ToolsProps {
  readonly webhook: Webhook;
  readonly asking: Signal<Asking>;
  readonly put: (body: UpdateWebhookBody) => Promise<void>;
}

function Tools({ webhook: { enabled = true }, asking, put }: ToolsProps) {
  const ask = (what: Asking) => () => { asking.value = what; };
  return (
    <div class="tools">
      <button type="button" onClick={ask("edit")}>{strings.manage.form.edit}</button>
      <button type="button" onClick={() => put({ enabled: !enabled }).catch(notice)}>{enabled ? words.disable : words.enable}</button>
      <button type="button" onClick={ask("rotate")}>{words.rotate}</button>
      <span class="grow" />
      <button type="button" class="danger" onClick={ask("delete")}>{strings.manage.form.delete}</button>
    </div>
  );
}

function WebhookFacts({ webhook }: { webhook: Webhook }) {
  const { url, description, enabled = true, disabledReason, nextAttemptAt, eventTypes, vehicleIds = [], geofenceIds = [] } = webhook;
  const why = enabled ? null : <p class="quiet">{disabledReason ? words.reasons[disabledReason] : words.disabledByHand}</p>;
  return (
    <Facts facts={[
      [words.state, <><WebhookState webhook={webhook} />{why}</>],
      [words.nextAttempt, enabled && nextAttemptAt ? moment(nextAttemptAt) : null],
      [words.url, url],
      [words.description, description],
      [words.sent, <ul class="codes">{eventTypes.map((type) => <li key={type}><code>{type}</code></li>)}</ul>],
      [words.vehicles, vehicleIds.length > 0 ? vehicleIds.map(vehicleName).join(", ") : words.all],
      [words.fences, geofenceIds.length > 0 ? geofenceIds.map(fenceName).join(", ") : words.all],
    ]} />
  );
}

/** Tries it out, and tells what became of that above the log. */
function Tried({ webhook, reload }: { webhook: Webhook; reload: () => Promise<void> }) {
  const isSending = useSignal(false);
  /** What was tried here, newest first. */
  const tried = useSignal<readonly WebhookAttempt[]>([]);
  const isTold = useSignal(false);
  const send = async (work: () => Promise<WebhookAttempt>) => {
    isSending.value = true;
    isTold.value = false;
    try {
      tried.value = [await work(), ...tried.peek()];
      isTold.value = true;
      await reload();
    } catch (problem) {
      notice(problem);
    } finally {
      isSending.value = false;
    }
  };
  const path = { id: webhook.id };
  const test = () => send(() => api.post("/v1/webhooks/{id}/test", { path, query: scope.peek() }));
  const resend = ({ id: attemptId }: WebhookAttempt) =>
    send(() => api.post("/v1/webhooks/{id}/attempts/{attemptId}/resend", { path: { ...path, attemptId }, query: scope.peek() }));
  return (
    <>
      <div class="tried">
        <button type="button" class="primary" disabled={isSending.value} onClick={() => void test()}>{words.test}</button>
        <div role="status">
          {isSending.value && <p class="quiet">{words.sending}</p>}
          {isTold.value && tried.value[0] && <Outcome attempt={tried.value[0]} />}
        </div>
      </div>
      <Attempts webhook={webhook} tried={tried.value} isSending={isSending.value} resend={(one) => void resend(one)} />
    </>
  );
}
