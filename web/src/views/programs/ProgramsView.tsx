// System users: the programs that sign in, what they may do, their keys.

import { useSignal } from "@preact/signals";

import { all, api } from "../../api/client";
import type { ApiKeyWithToken, CreateSystemUserBody, SystemUser } from "../../api/schema";
import { dayAndTime } from "../../format";
import { Desk, Detail } from "../../parts/Desk";
import { Form, TextField, useDraft } from "../../parts/form";
import { Listing, useList } from "../../parts/Listing";
import { scope } from "../../state/fleet";
import { href } from "../../state/route";
import { strings } from "../../strings";
import { KeyDialog } from "./KeyDialog";
import { ProgramDetail } from "./ProgramDetail";
import { ScopeFields, chosen } from "./ScopeFields";

const words = strings.manage.programs;

export function ProgramsView({ parts: [open] }: { parts: readonly string[] }) {
  const issued = useSignal<ApiKeyWithToken | null>(null);
  const { items, reload } = useList("systemUser", () => all((page) => api.get("/v1/system-users", { query: { ...page, ...scope.peek(), sort: "name" } })));
  const show = async (made: SystemUser | null) => {
    await reload();
    location.hash = made ? href("programs", made.id) : href("programs");
  };
  const program = items.value?.find(({ id }) => id === open);
  const list = (
    <Listing
      title={words.title} note={words.count} items={items.value} current={open}
      id={({ id }) => id} text={(one) => `${one.name} ${one.email}`} address={(id) => href("programs", id)}
      empty={[words.empty, words.emptyNext]}
      columns={[
        { title: words.name, cell: ({ name }) => name },
        { title: words.email, cell: ({ email }) => email },
        { title: words.status, cell: ({ status }) => <span class="mark" data-mark={status === "active" ? "good" : status === "disabled" ? "bad" : "warn"}>{words.statuses[status]}</span> },
        { title: words.lastLogin, cell: ({ lastLoginAt }) => (lastLoginAt ? dayAndTime(lastLoginAt) : <span class="quiet">{words.never}</span>) },
      ]}
      actions={<a class="button primary" href={href("programs", "new")}>{words.new}</a>}
    />
  );
  return (
    <Desk list={list}>
      {open === "new" && <Detail key="new" title={words.new} back={href("programs")}><NewProgram onMade={show} /></Detail>}
      {open && open !== "new" && items.value && (
        <Detail key={open} title={program?.name ?? words.title} back={href("programs")}>
          {program ? <ProgramDetail program={program} reload={reload} onGone={() => show(null)} onKey={(key) => { issued.value = key; }} /> : <p class="quiet">{strings.manage.form.gone}</p>}
        </Detail>
      )}
      {issued.value && <KeyDialog made={issued.value} onClose={() => { issued.value = null; }} />}
    </Desk>
  );
}

function NewProgram({ onMade }: { onMade: (made: SystemUser) => Promise<void> }) {
  const draft = useDraft(() => ({ scope: {} }));
  const make = async () => {
    const { scope: given, ...body } = draft.value.peek();
    await onMade(await api.post("/v1/system-users", { body: { ...body, scopes: chosen(given), ...scope.peek() } as unknown as CreateSystemUserBody }));
  };
  return (
    <Form draft={draft} label={words.new} action={strings.manage.form.save} work={make}>
      <TextField of="/name" label={words.name} hint={words.nameHint} required />
      <TextField of="/email" label={words.email} type="email" hint={words.emailHint} required />
      <TextField of="/password" label={words.password} hint={words.passwordHint} required />
      <ScopeFields />
    </Form>
  );
}
