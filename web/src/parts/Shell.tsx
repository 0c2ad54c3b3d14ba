// What is around every view: name, navigation, connection, organization, colours, sign-out.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";

import { isAsking } from "../api/client";
import { isOperator, me } from "../api/session";
import { foreignZone } from "../format";
import { choose, organization, organizations } from "../state/fleet";
import { href, orAsk, route } from "../state/route";
import { type Choice, choice } from "../state/theme";
import { leave } from "../state/whose";
import { strings } from "../strings";
import { VIEWS, type View } from "../views";
import { ConnectionMark } from "./ConnectionMark";

/** `search` stands beside the navigation. */
export function Shell({ search, children }: { search: ComponentChildren; children: ComponentChildren }) {
  return (
    <>
      <a class="skip" href="#content" onClick={toContent}>{strings.skip}</a>
      <header class="top">
        <h1>{strings.product}</h1>
        {me.value && <Navigation />}
        <span class="grow" />
        {search}
        {me.value && <ConnectionMark />}
        {me.value && <OrganizationChoice />}
        {me.value && <Zone />}
        <ThemeChoice />
        {me.value && <a class="quiet own" href={href("me")} title={me.value.email}>{me.value.firstName}</a>}
        {me.value && <SignOut />}
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
  const isOpen = useSignal(false);
  const menu = useRef<HTMLDivElement>(null);
  const current = route.value.parts[0] ?? VIEWS[0]?.path;
  const shown = VIEWS.filter(({ isOffered }) => isOffered());
  const link = ({ path, title }: View) => <a key={path} href={href(path)} aria-current={current === path ? "page" : undefined}>{title}</a>;
  const rest = shown.filter(({ place }) => place === "menu");
  const here = rest.find(({ path }) => path === current);
  const close = () => { isOpen.value = false; };
  const leave = (event: FocusEvent) => { if (!menu.current?.contains(event.relatedTarget as Node | null)) close(); };
  return (
    <nav aria-label={strings.navigation}>
      {shown.filter(({ place }) => place === "daily").map(link)}
      <div ref={menu} class="menu" onFocusOut={leave} onKeyDown={(event) => { if (event.key === "Escape") close(); }}>
        <button type="button" class="menu-button" aria-expanded={isOpen.value} data-current={here !== undefined} onClick={() => { isOpen.value = !isOpen.value; }}>
          {strings.manageMenu} ▾
        </button>
        {isOpen.value && (
          <div class="menu-list">
            <div class="menu-links" onClick={close}>{rest.map(link)}</div>
            {/* what a phone's head leaves out */}
            <div class="menu-own">
              <a href={href("me")} onClick={close}>{strings.manage.users.own}</a>
              <ThemeChoice />
              <Zone />
              <SignOut />
            </div>
          </div>
        )}
      </div>
    </nav>
  );
}

/** In which zone times are, where that is not the computer's: they would be taken for its own. */
function Zone() {
  const found = foreignZone();
  return found ? <span class="quiet" title={strings.timesInWhy}>{strings.timesIn(found)}</span> : null;
}

function SignOut() {
  return <button type="button" class="sign-out" title={me.value?.email ?? ""} onClick={() => orAsk(leave)}>{strings.signIn.signOut}</button>;
}

function OrganizationChoice() {
  if (!isOperator.value) return <span class="quiet">{organization.value?.name}</span>;
  const pick = (select: HTMLSelectElement) => {
    const chosen = organizations.value.find(({ id }) => id === select.value);
    // it may be asked first whether that is meant
    select.value = organization.peek()?.id ?? "";
    if (chosen) orAsk(() => choose(chosen));
  };
  return (
    <select aria-label={strings.organization.label} value={organization.value?.id ?? ""} onChange={(event) => pick(event.currentTarget)}>
      {organizations.value.map(({ id, name }) => <option key={id} value={id}>{name}</option>)}
    </select>
  );
}

function ThemeChoice() {
  const words: readonly Choice[] = ["auto", "light", "dark"];
  return (
    <select class="theme" aria-label={strings.theme.label} value={choice.value} onChange={(event) => { choice.value = event.currentTarget.value as Choice; }}>
      {words.map((word) => <option key={word} value={word}>{strings.theme[word]}</option>)}
    </select>
  );
}
