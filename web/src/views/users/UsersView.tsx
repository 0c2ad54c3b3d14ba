// The people of the organization: inviting them, their roles, disabling them.

import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";

import { all, api } from "../../api/client";
import { may } from "../../api/permissions";
import type { CreateUserBody, Role, UpdateUserBody, User } from "../../api/schema";
import { knowSelf, me } from "../../api/session";
import { byLastName, dayAndTime, fullName } from "../../format";
import { ConventionFields } from "../../parts/ConventionFields";
import { Desk, Detail, Facts } from "../../parts/Desk";
import { Confirm } from "../../parts/Dialog";
import { Form, Row, SelectField, TextField, useDraft } from "../../parts/form";
import { Listing } from "../../parts/Listing";
import { useToldList } from "../../parts/told";
import { scope } from "../../state/fleet";
import { notice } from "../../state/notices";
import { href } from "../../state/route";
import { strings } from "../../strings";

const words = strings.manage.users;
const { orgAdmin, dispatcher, viewer } = words.roles;
const ROLES = { viewer, dispatcher, orgAdmin };
const roleHint = (role: unknown) => (words.roleHints as Record<string, string>)[role as Role] ?? "";

/** What was done, and to whom. */
interface Said {
  readonly id: string;
  readonly text: string;
}

export function UsersView({ parts: [open] }: { parts: readonly string[] }) {
  const said = useSignal<Said | null>(null);
  // it is told once, where it was done
  useLayoutEffect(() => { if (said.peek()?.id !== open) said.value = null; }, [open]);
  const { items, reload } = useToldList<User>({
    resource: "user", order: byLastName,
    load: () => all((page) => api.get("/v1/users", { query: { ...page, ...scope.peek(), sort: "lastName,firstName" } })),
    find: (id) => api.get("/v1/users/{id}", { path: { id }, query: scope.peek() }),
  });
  const invited = async (user: User) => {
    await reload(user.id);
    said.value = { id: user.id, text: words.invited(user.email) };
    location.hash = href("users", user.id);
  };
  const user = items.value?.find(({ id }) => id === open);
  const list = (
    <Listing
      title={words.title} note={words.count} items={items.value} current={open}
      id={({ id }) => id} text={(one) => `${fullName(one)} ${one.email}`} address={(id) => href("users", id)}
      empty={[words.empty, words.emptyNext]}
      columns={[
        { title: words.name, cell: (one) => <>{fullName(one)}{one.id === me.value?.id && <span class="quiet"> ({words.you})</span>}</> },
        { title: words.email, cell: ({ email }) => email },
        { title: words.role, cell: ({ role }) => words.roles[role] },
        { title: words.status, cell: ({ status }) => <span class="mark" data-mark={status === "active" ? "good" : status === "invited" ? "warn" : "bad"}>{words.statuses[status]}</span> },
        { title: words.lastLogin, cell: ({ lastLoginAt }) => (lastLoginAt ? dayAndTime(lastLoginAt) : <span class="quiet">{words.never}</span>) },
      ]}
      actions={may("writeUsers") && <a class="button primary" href={href("users", "new")}>{words.invite}</a>}
    />
  );
  return (
    <Desk list={list}>
      {open === "new" && may("writeUsers") && <Detail key="new" title={words.invite} back={href("users")}><Invite onInvited={invited} /></Detail>}
      {open && open !== "new" && items.value && (
        <Detail key={open} title={user ? fullName(user) : words.title} back={href("users")}>
          <p role="status" class="said">{said.value?.id === open && said.value?.text}</p>
          {user ? <UserDetail user={user} reload={() => reload(user.id)} say={(text) => { said.value = { id: user.id, text }; }} /> : <p class="quiet">{strings.manage.form.gone}</p>}
        </Detail>
      )}
    </Desk>
  );
}

function Invite({ onInvited }: { onInvited: (user: User) => Promise<void> }) {
  const draft = useDraft(() => ({ role: "viewer" }));
  const invite = async () => onInvited(await api.post("/v1/users", { body: { ...draft.value.peek(), ...scope.peek() } as unknown as CreateUserBody }));
  return (
    <Form draft={draft} label={words.invite} action={words.inviteAction} work={invite}>
      <TextField of="/email" label={words.email} type="email" required />
      <Row><TextField of="/firstName" label={words.firstName} required /><TextField of="/lastName" label={words.lastName} required /></Row>
      <SelectField of="/role" label={words.role} options={ROLES} hint={roleHint(draft.at("/role"))} />
    </Form>
  );
}

function UserDetail({ user, reload, say }: { user: User; reload: () => Promise<void>; say: (text: string) => void }) {
  const isAsking = useSignal(false);
  const path = { id: user.id };
  const put = async (body: UpdateUserBody) => {
    const changed = await api.put("/v1/users/{id}", { path, query: {}, body });
    if (changed.id === me.value?.id) knowSelf(changed);
    await reload();
    say(strings.manage.form.saved);
  };
  const again = async () => {
    await api.post("/v1/users/{id}/invitation", { path, query: scope.peek() });
    say(words.invited(user.email));
  };
  const isSelf = user.id === me.value?.id;
  if (!may("writeUsers")) return <UserFacts user={user} />;
  return (
    <>
      <div class="tools">
        {user.status === "invited" && <button type="button" onClick={() => again().catch(notice)}>{words.again}</button>}
        {!isSelf && user.status === "disabled" && <button type="button" onClick={() => put({ status: "active" }).catch(notice)}>{words.enable}</button>}
        {!isSelf && user.status !== "disabled" && <button type="button" class="danger" onClick={() => { isAsking.value = true; }}>{words.disable}</button>}
      </div>
      <UserForm user={user} put={put} />
      {isAsking.value && <Confirm title={words.disableTitle(fullName(user))} text={words.disableText} action={words.disable} work={() => put({ status: "disabled" })} onClose={() => { isAsking.value = false; }} />}
    </>
  );
}

function UserForm({ user, put }: { user: User; put: (body: UpdateUserBody) => Promise<void> }) {
  const { firstName, lastName, phone, timezone, locale, role } = user;
  const draft = useDraft(() => ({ firstName, lastName, phone, timezone, locale, role }), user.updatedAt);
  return (
    <Form draft={draft} label={fullName(user)} action={strings.manage.form.save} work={() => put(draft.changes() as UpdateUserBody)}>
      <Facts facts={[[words.email, user.email], [words.status, words.statuses[user.status]]]} />
      <Row><TextField of="/firstName" label={words.firstName} required /><TextField of="/lastName" label={words.lastName} required /></Row>
      <TextField of="/phone" label={words.phone} type="tel" />
      <ConventionFields />
      {user.role in ROLES && user.id !== me.value?.id && <SelectField of="/role" label={words.role} options={ROLES} hint={roleHint(draft.at("/role"))} />}
    </Form>
  );
}

function UserFacts({ user }: { user: User }) {
  return (
    <Facts facts={[
      [words.email, user.email],
      [words.phone, user.phone],
      [words.role, words.roles[user.role]],
      [words.status, words.statuses[user.status]],
      [words.lastLogin, user.lastLoginAt ? dayAndTime(user.lastLoginAt) : words.never],
    ]} />
  );
}
