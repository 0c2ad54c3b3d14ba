// What the one signed in says of themselves, and how dates and numbers are written for them.

import { useSignal } from "@preact/signals";

import { api } from "../api/client";
import type { UpdateUserBody, User } from "../api/schema";
import { knowSelf, me } from "../api/session";
import { useAnswer } from "../parts/answer";
import { ConventionFields } from "../parts/ConventionFields";
import { Facts } from "../parts/Desk";
import { Form, Row, TextField, useDraft } from "../parts/form";
import { lazy } from "../parts/lazy";
import { strings } from "../strings";

const words = strings.manage.users;
const AlertChoices = lazy(async () => (await import("./AlertChoices")).AlertChoices);

export function OwnView() {
  const user = useAnswer(() => api.get("/v1/users/{id}", { path: { id: me.peek()?.id ?? "" } }));
  return (
    <div class="settings">
      <section aria-label={words.own}>
        <h2>{words.own}</h2>
        {user.value && <Own user={user.value} />}
        <AlertChoices />
      </section>
    </div>
  );
}

function Own({ user }: { user: User }) {
  const said = useSignal("");
  const { firstName, lastName, phone, timezone, locale } = user;
  const draft = useDraft(() => ({ firstName, lastName, phone, timezone, locale }));
  const save = async () => {
    said.value = "";
    knowSelf(await api.put("/v1/users/{id}", { path: { id: user.id }, body: draft.changes() as UpdateUserBody }));
    said.value = strings.manage.form.saved;
  };
  return (
    <Form draft={draft} label={words.own} action={strings.manage.form.save} work={save} more={<span role="status" class="said">{said.value}</span>}>
      <Facts facts={[[words.email, user.email], [words.role, words.roles[user.role]]]} />
      <Row><TextField of="/firstName" label={words.firstName} required /><TextField of="/lastName" label={words.lastName} required /></Row>
      <TextField of="/phone" label={words.phone} type="tel" />
      <ConventionFields />
    </Form>
  );
}
