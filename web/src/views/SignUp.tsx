// Signing up: somebody without an account creates an organization and administers it. The letters' links lead on.

import { useSignal } from "@preact/signals";

import { prepare, send } from "../api/http";
import type { CreateOrganizationBody } from "../api/schema";
import { ownTimeZone } from "../conventions";
import { Form, Row, TextField, useDraft } from "../parts/form";
import { href } from "../state/route";
import { strings } from "../strings";

const words = strings.signUp;
const people = strings.manage.users;

export function SignUp() {
  const draft = useDraft(() => ({}));
  const sentTo = useSignal("");
  const make = async () => {
    const { name, admin } = draft.value.peek() as { name: string; admin: { email: string } };
    // whoever signs up is reached there, as the administrator and for the organization
    const body = { name, admin, contactEmail: admin.email, settings: { timezone: ownTimeZone() } } as unknown as CreateOrganizationBody;
    await send(prepare("post", "/v1/organizations", { body }), undefined);
    sentTo.value = admin.email;
  };
  return (
    <section class="sign-in" aria-label={words.title}>
      <img src="/favicon.svg" alt="" width="40" height="40" />
      <h2>{sentTo.value ? words.done : words.title}</h2>
      {sentTo.value ? <p role="status">{words.doneText(sentTo.value)}</p> : (
        <>
          <p class="quiet">{words.text}</p>
          <Form draft={draft} label={words.title} action={words.action} work={make}>
            <TextField of="/name" label={words.name} required />
            <Row><TextField of="/admin/firstName" label={people.firstName} required /><TextField of="/admin/lastName" label={people.lastName} required /></Row>
            <TextField of="/admin/email" label={words.email} type="email" required autocomplete="username" />
          </Form>
        </>
      )}
      <a href={href()}>{words.back}</a>
    </section>
  );
}
