// There is no organization in use yet: an operator makes and activates the first one, or activates one that waits for that.

import { type Signal, useSignal } from "@preact/signals";

import { api } from "../api/client";
import type { CreateOrganizationBody, Organization } from "../api/schema";
import { isOperator } from "../api/session";
import { ownTimeZone } from "../conventions";
import { Empty } from "../parts/Empty";
import { useAnswer } from "../parts/answer";
import { Form, Row, TextField, useDraft } from "../parts/form";
import { findOrganizations } from "../state/fleet";
import { notice } from "../state/notices";
import { strings } from "../strings";

const words = strings.organization;
const people = strings.manage.users;

/** As many of those that wait as are shown: an operator with more of them knows the interface. */
const MOST_AWAITED = 20;

export function FirstOrganization() {
  return isOperator.value ? <ForOperator /> : <Empty what={words.none} next={words.noneNext} />;
}

function ForOperator() {
  // once one is made here, what is left is its activation, however often that fails
  const made = useSignal<Organization | null>(null);
  const awaited = useAnswer(() => api.get("/v1/organizations/all", { query: { status: ["pendingActivation", "inactive"], sort: "-createdAt", limit: MOST_AWAITED } }));
  const others = awaited.value?.data.filter(({ id }) => id !== made.value?.id);
  return (
    <div class="settings">
      <section aria-label={words.first}>
        <h2>{words.first}</h2>
        {others?.map((one) => <Awaited key={one.id} organization={one} />)}
        <Create made={made} />
      </section>
    </div>
  );
}

async function activate({ id }: Organization): Promise<void> {
  await api.put("/v1/organizations/activate/{id}", { path: { id }, body: {} });
  await findOrganizations().catch(notice);
}

/** One that was made before, here or by somebody who signed up. */
function Awaited({ organization }: { organization: Organization }) {
  const draft = useDraft(() => ({}));
  return (
    <Form draft={draft} label={organization.name} action={words.activate} work={() => activate(organization)}>
      <p>{words.awaited(organization.name)}</p>
    </Form>
  );
}

function Create({ made }: { made: Signal<Organization | null> }) {
  const draft = useDraft(() => ({}));
  const make = async () => {
    const body = { ...draft.value.peek(), settings: { timezone: ownTimeZone() } } as unknown as CreateOrganizationBody;
    made.value ??= await api.post("/v1/organizations", { body });
    await activate(made.value);
  };
  return (
    <>
      <p class="quiet">{words.firstText}</p>
      <Form draft={draft} label={words.first} action={made.value ? words.activate : words.create} work={make}>
        {made.value && <p role="status">{words.awaited(made.value.name)}</p>}
        <fieldset class="fields bare" disabled={made.value !== null}>
          <TextField of="/name" label={strings.manage.organization.name} required />
          <TextField of="/contactEmail" label={words.contactEmail} type="email" required />
          <fieldset class="shape">
            <legend>{words.admin}</legend>
            <Row><TextField of="/admin/firstName" label={people.firstName} required /><TextField of="/admin/lastName" label={people.lastName} required /></Row>
            <TextField of="/admin/email" label={people.email} type="email" required />
          </fieldset>
        </fieldset>
      </Form>
    </>
  );
}
