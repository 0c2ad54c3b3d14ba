// The keys of a system user: which there are, a new one, revoking one.

import { useSignal } from "@preact/signals";

import { all, api } from "../../api/client";
import type { ApiKey, ApiKeyWithToken, CreateApiKeyBody, SystemUser } from "../../api/schema";
import { dayAndTime, startOfDay } from "../../format";
import { Confirm, Dialog } from "../../parts/Dialog";
import { Form, TextField, useDraft } from "../../parts/form";
import { useList } from "../../parts/Listing";
import { scope } from "../../state/fleet";
import { strings } from "../../strings";
import { ScopeFields, chosen } from "./ScopeFields";

const words = strings.manage.programs;

export function Keys({ program, onKey }: { program: SystemUser; onKey: (made: ApiKeyWithToken) => void }) {
  const asking = useSignal<ApiKey | "new" | null>(null);
  const close = () => { asking.value = null; };
  const { items, reload } = useList("apiKey", () => all((page) => api.get("/v1/system-users/{id}/keys", { path: { id: program.id }, query: { ...page, ...scope.peek() } })));
  const revoke = async (key: ApiKey) => {
    await api.delete("/v1/system-users/{id}/keys/{keyId}", { path: { id: program.id, keyId: key.id }, query: scope.peek() });
    await reload();
  };
  const made = async (key: ApiKeyWithToken) => {
    // one dialog after the other, so that the focus finds its way back
    close();
    onKey(key);
    await reload();
  };
  const one = asking.value;
  return (
    <section class="part" aria-label={words.keys}>
      <header>
        <h3>{words.keys}</h3>
        <span class="grow" />
        <button type="button" onClick={() => { asking.value = "new"; }}>{words.newKey}</button>
      </header>
      {items.value?.length === 0 && <p class="quiet">{words.noKeys}</p>}
      <ul class="lines">
        {items.value?.map((key) => (
          <li key={key.id}>
            <span><b>{key.name}</b> <span class="quiet">{key.scopes.join(", ")}</span></span>
            <span class="quiet">{words.usage(key.lastUsedAt ? dayAndTime(key.lastUsedAt) : undefined, key.expiresAt ? dayAndTime(key.expiresAt) : undefined)}</span>
            <button type="button" class="danger" aria-label={`${words.revoke}: ${key.name}`} onClick={() => { asking.value = key; }}>{words.revoke}</button>
          </li>
        ))}
      </ul>
      {one === "new" && <NewKey program={program} onMade={made} onClose={close} />}
      {one && one !== "new" && <Confirm title={words.revokeTitle(one.name)} text={words.revokeText} action={words.revoke} work={() => revoke(one)} onClose={close} />}
    </section>
  );
}

function NewKey({ program, onMade, onClose }: { program: SystemUser; onMade: (made: ApiKeyWithToken) => Promise<void>; onClose: () => void }) {
  const draft = useDraft(() => ({ scope: {} }));
  const make = async () => {
    const { scope: given, until, ...body } = draft.value.peek();
    const expiresAt = until ? new Date(startOfDay(String(until))).toISOString() : null;
    await onMade(await api.post("/v1/system-users/{id}/keys", { path: { id: program.id }, query: scope.peek(), body: { ...body, expiresAt, scopes: chosen(given) } as unknown as CreateApiKeyBody }));
  };
  return (
    <Dialog title={words.newKey} onClose={onClose}>
      <Form draft={draft} label={words.newKey} action={strings.manage.form.save} work={make} onCancel={onClose}>
        <TextField of="/name" label={words.keyName} hint={words.keyNameHint} required />
        <TextField of="/until" label={words.until} type="date" hint={words.untilHint} />
        <ScopeFields of={program.scopes} />
      </Form>
    </Dialog>
  );
}
