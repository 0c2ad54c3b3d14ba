// One system user: its scopes, whether it may sign in, its keys.

import { useSignal } from "@preact/signals";

import { api } from "../../api/client";
import type { ApiKeyWithToken, SystemUser, UpdateSystemUserBody } from "../../api/schema";
import { Facts } from "../../parts/Desk";
import { Confirm } from "../../parts/Dialog";
import { Form, TextField, useDraft } from "../../parts/form";
import { scope } from "../../state/fleet";
import { notice } from "../../state/notices";
import { strings } from "../../strings";
import { Keys } from "./Keys";
import { ScopeFields, chosen, ticked } from "./ScopeFields";

const words = strings.manage.programs;

interface Props {
  readonly program: SystemUser;
  readonly reload: () => Promise<void>;
  readonly onGone: () => Promise<void>;
  readonly onKey: (made: ApiKeyWithToken) => void;
}

export function ProgramDetail({ program, reload, onGone, onKey }: Props) {
  const isAsking = useSignal(false);
  const path = { id: program.id };
  const isDisabled = program.status === "disabled";
  const put = async (body: UpdateSystemUserBody) => {
    await api.put("/v1/system-users/{id}", { path, query: scope.peek(), body });
    await reload();
  };
  const remove = async () => {
    await api.delete("/v1/system-users/{id}", { path, query: scope.peek() });
    await onGone();
  };
  return (
    <>
      <div class="tools">
        <button type="button" onClick={() => put({ status: isDisabled ? "active" : "disabled" }).catch(notice)}>{isDisabled ? words.enable : words.disable}</button>
        <span class="grow" />
        <button type="button" class="danger" onClick={() => { isAsking.value = true; }}>{strings.manage.form.delete}</button>
      </div>
      {program.status === "pendingVerification" && <p>{words.unverified(program.email)}</p>}
      <Keys key={program.updatedAt} program={program} onKey={onKey} />
      <ProgramForm program={program} put={put} />
      {isAsking.value && <Confirm title={words.remove(program.name)} text={words.removeText} action={strings.manage.form.delete} work={remove} onClose={() => { isAsking.value = false; }} />}
    </>
  );
}

function ProgramForm({ program, put }: { program: SystemUser; put: (body: UpdateSystemUserBody) => Promise<void> }) {
  const draft = useDraft(() => ({ name: program.name, scope: ticked(program.scopes) }), program.updatedAt);
  const save = () => {
    const { scope: given, ...body } = draft.changes();
    return put({ ...body, ...(given ? { scopes: chosen(draft.value.peek()["scope"]) } : {}) } as UpdateSystemUserBody);
  };
  return (
    <Form draft={draft} label={program.name} action={strings.manage.form.save} work={save}>
      <Facts facts={[[words.email, program.email], [words.status, words.statuses[program.status]]]} />
      <TextField of="/name" label={words.name} required />
      <ScopeFields />
      <p class="hint">{words.scopesHint}</p>
    </Form>
  );
}
