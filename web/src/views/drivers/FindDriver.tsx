// Finding a driver of the platform by licence, to take them over.

import { useSignal } from "@preact/signals";

import { api } from "../../api/client";
import type { PageOfDriverView } from "../../api/schema";
import { fullName } from "../../format";
import { Dialog } from "../../parts/Dialog";
import { Form, Row, TextField, useDraft } from "../../parts/form";
import { scope } from "../../state/fleet";
import { strings } from "../../strings";

const words = strings.manage.drivers;

export function FindDriver({ onClose, onTaken }: { onClose: () => void; onTaken: (id: string) => Promise<void> }) {
  const draft = useDraft(() => ({}));
  const found = useSignal<PageOfDriverView["data"] | null>(null);
  const find = async () => {
    const text = (pointer: string) => String(draft.at(pointer) ?? "");
    const country = text("/country").toUpperCase();
    const { data } = await api.get("/v1/drivers/search", { query: { ...scope.peek(), licenseNumber: text("/licenseNumber"), ...(country ? { country } : {}) } });
    found.value = data;
  };
  const take = async (id: string) => {
    await api.post("/v1/drivers/{id}/lock", { path: { id }, body: scope.peek() });
    await onTaken(id);
    onClose();
  };
  return (
    <Dialog title={words.findTitle} onClose={onClose}>
      <Form draft={draft} label={words.findTitle} action={words.findAction} work={find} onCancel={onClose}>
        <p>{words.findText}</p>
        <Row><TextField of="/licenseNumber" label={words.licenseNumber} required /><TextField of="/country" label={words.licenseCountry} /></Row>
      </Form>
      <div role="status">
        {found.value?.length === 0 && <p>{words.notFound}</p>}
        <ul class="lines">
          {found.value?.map((driver) => (
            <li key={driver.id}>
              <b>{fullName(driver)}</b> <span class="quiet">{driver.lock.locked ? words.locked : words.unlocked}</span><span class="grow" />
              {!driver.lock.locked && <button type="button" onClick={() => void draft.submit(() => take(driver.id))}>{words.take_over}</button>}
            </li>
          ))}
        </ul>
      </div>
    </Dialog>
  );
}
