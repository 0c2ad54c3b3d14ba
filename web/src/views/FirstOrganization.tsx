// There is no organization yet: an operator makes and activates the first one.

import { api } from "../api/client";
import type { CreateOrganizationBody } from "../api/schema";
import { isOperator } from "../api/session";
import { ownTimeZone } from "../conventions";
import { Empty } from "../parts/Empty";
import { Form, Row, TextField, useDraft } from "../parts/form";
import { findOrganizations } from "../state/fleet";
import { notice } from "../state/notices";
import { strings } from "../strings";

const words = strings.organization;
const people = strings.manage.users;

export function FirstOrganization() {
  return isOperator.value ? <Create /> : <Empty what={words.none} next={words.noneNext} />;
}

function Create() {
  const draft = useDraft(() => ({}));
  const make = async () => {
    const body = { ...draft.value.peek(), settings: { timezone: ownTimeZone() } } as unknown as CreateOrganizationBody;
    const made = await api.post("/v1/organizations", { body });
    if (made.status !== "active") await api.put("/v1/organizations/activate/{id}", { path: { id: made.id }, body: {} });
    await findOrganizations().catch(notice);
  };
  return (
    <div class="settings">
      <section aria-label={words.first}>
        <h2>{words.first}</h2>
        <p class="quiet">{words.firstText}</p>
        <Form draft={draft} label={words.first} action={words.create} work={make}>
          <TextField of="/name" label={strings.manage.organization.name} required />
          <TextField of="/contactEmail" label={words.contactEmail} type="email" required />
          <fieldset class="shape">
            <legend>{words.admin}</legend>
            <Row><TextField of="/admin/firstName" label={people.firstName} required /><TextField of="/admin/lastName" label={people.lastName} required /></Row>
            <TextField of="/admin/email" label={people.email} type="email" required />
          </fieldset>
        </Form>
      </section>
    </div>
  );
}
