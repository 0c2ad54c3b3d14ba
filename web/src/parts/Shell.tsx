// What is around every view: name, navigation, connection, organization, colours, sign-out.

import type { ComponentChildren } from "preact";

import { isAsking } from "../api/client";
import { isOperator, me, signOut } from "../api/session";
import { choose, organization, organizations } from "../state/fleet";
import { href, route } from "../state/route";
import { type Choice, choice } from "../state/theme";
import { strings } from "../strings";
import { VIEWS } from "../views";
import { ConnectionMark } from "./ConnectionMark";

export function Shell({ children }: { children: ComponentChildren }) {
  return (
    <>
      <a class="skip" href="#content" onClick={toContent}>{strings.skip}</a>
      <header class="top">
        <h1>{strings.product}</h1>
        {me.value && <Navigation />}
        <span class="grow" />
        {me.value && <ConnectionMark />}
        {me.value && <OrganizationChoice />}
        <ThemeChoice />
        {me.value && <a class="quiet" href={href("me")} title={me.value.email}>{me.value.firstName}</a>}
        {me.value && <button type="button" title={me.value.email} onClick={() => void signOut()}>{strings.signIn.signOut}</button>}
      </header>
      <main id="content" tabIndex={-1} aria-busy={isAsking.value} data-view={route.value.parts.join("/")}>{children}</main>
    </>
  );
}

/** The hash is the route's: a plain link to #content would leave the view. */
function toContent(event: MouseEvent): void {
  event.preventDefault();
  document.getElementById("content")?.focus();
}

function Navigation() {
  const [current] = route.value.parts;
  return (
    <nav aria-label={strings.navigation}>
      {VIEWS.filter(({ isOffered, isInNavigation }) => isOffered() && isInNavigation !== false).map(({ path, title }) => (
        <a key={path} href={href(path)} aria-current={(current ?? VIEWS[0]?.path) === path ? "page" : undefined}>{title}</a>
      ))}
    </nav>
  );
}

function OrganizationChoice() {
  if (!isOperator.value) return <span class="quiet">{organization.value?.name}</span>;
  const pick = (id: string) => {
    const chosen = organizations.value.find((one) => one.id === id);
    if (chosen) choose(chosen);
  };
  return (
    <select aria-label={strings.organization.label} value={organization.value?.id ?? ""} onChange={(event) => pick(event.currentTarget.value)}>
      {organizations.value.map(({ id, name }) => <option key={id} value={id}>{name}</option>)}
    </select>
  );
}

function ThemeChoice() {
  const words: readonly Choice[] = ["auto", "light", "dark"];
  return (
    <select aria-label={strings.theme.label} value={choice.value} onChange={(event) => { choice.value = event.currentTarget.value as Choice; }}>
      {words.map((word) => <option key={word} value={word}>{strings.theme[word]}</option>)}
    </select>
  );
}
