// There is no organization in use yet: an operator makes and activates the first one, or activates one that waits for that.

import { type Signal, useSignal } from "@preact/signals";

import { api } from "../api/client";
import type { CreateOrganizationBody, Organization } from "../api/schema";
import { isOperator } from "../api/session";
import { ownTimeZone } from "../conventions";
import { Empty } from "../parts/Empty";
import { useAnswer } from "../parts/answer";
import { CheckField, Form, Row, TextField, useDraft } from "../parts/form";
import { tryAgain } from "../state/fleet";
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
  const others = awaited.value?.data.filter(({ id }) => id !== made.value?.id) ?? [];
  const title = others.length > 0 ? words.another : words.first;
  return (
    <div class="settings">
      {others.length > 0 && (
        <section aria-label={words.inactive}>
          <h2>{words.inactive}</h2>
          {others.map((one) => <Awaited key={one.id} organization={one} />)}
        </section>
      )}
      <section aria-label={title}>
        <h2>{title}</h2>
        <Create title={title} made={made} />
      </section>
    </div>
  );
}

async function activate({ id }: Organization, letFounderIn?: true): Promise<void> {
  await api.put("/v1/organizations/activate/{id}", { path: { id }, query: { letFounderIn }, body: {} });
  // where the list fails, it is asked for again
  await tryAgain();
}

/** One that was made before, here or by somebody who signed up. */
function Awaited({ organization }: { organization: Organization }) {
  const { name, contactEmail, founderEmail } = organization;
  const draft = useDraft(() => ({ letFounderIn: false }));
  const work = () => activate(organization, draft.value.peek()["letFounderIn"] === true ? true : undefined);
  return (
    <Form draft={draft} label={`${name}, ${contactEmail}`} action={words.activate} work={work}>
      <p>{words.awaited(name)} {words.contactEmail}: {contactEmail}</p>
      {founderEmail && (
        <>
          <CheckField of="/letFounderIn" label={words.letFounderIn(founderEmail)} />
          <p class="quiet">{words.founder(founderEmail)}</p>
        </>
      )}
    </Form>
  );
}

function Create({ title, made }: { title: string; made: Signal<Organization | null> }) {
  const draft = useDraft(() => ({}));
  const make = async () => {
    if (!made.value) {
      const body = { ...draft.value.peek(), settings: { timezone: ownTimeZone() } } as unknown as CreateOrganizationBody;
      made.value = await api.post("/v1/organizations", { body });
      // all that was written is stored, whatever becomes of the activation
      draft.rebase(draft.value.peek());
    }
    await activate(made.value);
  };
  return (
    <>
      <p class="quiet">{words.firstText}</p>
      <Form draft={draft} label={title} action={made.value ? words.activate : words.create} work={make}>
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
