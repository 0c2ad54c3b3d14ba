// Webhooks: the addresses that are sent what happens.

import { useSignal } from "@preact/signals";

import { all, api } from "../../api/client";
import type { Webhook, WebhookWithSecret } from "../../api/schema";
import { Desk, Detail } from "../../parts/Desk";
import { Listing, useList } from "../../parts/Listing";
import { scope } from "../../state/fleet";
import { href } from "../../state/route";
import { strings } from "../../strings";
import { SecretDialog } from "./SecretDialog";
import { WebhookDetail } from "./WebhookDetail";
import { NewWebhook } from "./WebhookForm";
import { WebhookState } from "./WebhookState";
import { webhookName } from "./names";

const words = strings.manage.webhooks;
/** The feed tells nothing of webhooks. */
const LOOK_EVERY_MS = 5000;

export function WebhooksView({ parts: [open] }: { parts: readonly string[] }) {
  const issued = useSignal<WebhookWithSecret | null>(null);
  const load = () => all((page) => api.get("/v1/webhooks", { query: { ...page, ...scope.peek(), sort: "url" } }));
  const { items, reload } = useList<Webhook>(null, load, LOOK_EVERY_MS);
  const show = async (made: WebhookWithSecret | null) => {
    // first of all: nobody is shown a secret twice
    if (made) issued.value = made;
    await reload();
    location.hash = made ? href("webhooks", made.id) : href("webhooks");
  };
  const webhook = items.value?.find(({ id }) => id === open);
  const list = (
    <Listing
      title={words.title} note={words.count} items={items.value} current={open}
      id={({ id }) => id} text={(one) => `${one.url} ${one.description ?? ""}`} address={(id) => href("webhooks", id)}
      empty={[words.empty, words.emptyNext]}
      columns={[
        { title: words.description, cell: webhookName },
        { title: words.state, cell: (one) => <WebhookState webhook={one} /> },
        { title: words.url, cell: ({ url }) => url },
        { title: words.sent, cell: ({ eventTypes }) => <span class="quiet">{eventTypes.join(", ")}</span> },
      ]}
      actions={<a class="button primary" href={href("webhooks", "new")}>{words.new}</a>}
    />
  );
  return (
    <Desk list={list}>
      {open === "new" && <Detail key="new" title={words.new} back={href("webhooks")}><NewWebhook onMade={show} /></Detail>}
      {open && open !== "new" && items.value && (
        <Detail key={open} title={webhook ? webhookName(webhook) : words.title} back={href("webhooks")}>
          {webhook
            ? <WebhookDetail webhook={webhook} reload={reload} onGone={() => show(null)} onSecret={(made) => { issued.value = made; }} />
            : <p class="quiet">{strings.manage.form.gone}</p>}
        </Detail>
      )}
      {issued.value && <SecretDialog made={issued.value} onClose={() => { issued.value = null; }} />}
    </Desk>
  );
}
