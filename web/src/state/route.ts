// Which view is shown: the address behind the hash, `#/vehicles/ID?from=…`, so that links into the page need nothing of
// the server and never look like its API.

import { type Signal, batch, computed, effect, signal, untracked } from "@preact/signals";

import { holders, isWriting } from "./writing";

const hash = signal(location.hash);
addEventListener("hashchange", () => {
  if (location.hash === hash.peek()) return;
  if (isHeld()) {
    wanted.value = location.hash;
    history.replaceState(null, "", hash.peek() || "#/");
  } else hash.value = location.hash;
});

/** Whether something would be lost by leaving: that is asked first. */
const { hold, isHeld } = holders();
export { hold };
/** What somebody wants while something would be lost, an address or to do something; null when nobody does. */
export const wanted = signal<string | (() => void) | null>(null);

addEventListener("beforeunload", (event) => { if (isHeld()) event.preventDefault(); });

/** Does what takes away whatever is open, such as signing out: at once where nothing would be lost, else once that is meant. */
export function orAsk(act: () => void): void {
  if (isHeld() || isWriting()) wanted.value = act;
  else act();
}

/** Goes where somebody wanted to go, or does what they wanted, whatever is lost; or stays. */
export function leave(isMeant: boolean): void {
  const address = wanted.peek();
  wanted.value = null;
  if (!isMeant || address === null) return;
  if (typeof address === "function") {
    address();
    return;
  }
  // known already when the browser tells of it, so that it is not asked once more
  hash.value = address;
  location.hash = address;
}

/** A part of an address as it is meant; one that was cut off in the midst of a letter as it stands there. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** The parts of the path, and the query. */
export const route = computed(() => {
  const [path = "", query = ""] = hash.value.replace(/^#\/?/, "").split("?");
  return { parts: path.split("/").filter(Boolean).map(decoded), query: new URLSearchParams(query) };
});

/** The address of a view, for links: `href("vehicles", id)`. */
export function href(...parts: readonly string[]): string {
  return `#/${parts.map(encodeURIComponent).join("/")}`;
}

/** Writes a parameter into the address of the view shown, without a step of the history; null takes it out. */
export function note(name: string, value: string | null): void {
  const [path = "", query = ""] = hash.peek().replace(/^#\/?/, "").split("?");
  const pairs = new URLSearchParams(query);
  if (value === null) pairs.delete(name);
  else pairs.set(name, value);
  // a place is to be read by people too
  const said = String(pairs).replaceAll("%2C", ",").replaceAll("%3A", ":");
  history.replaceState(null, "", `#/${path || FIRST_VIEW}${said && `?${said}`}`);
  hash.value = location.hash;
}

/** What is shown where the address names no view. */
const FIRST_VIEW = "live";

/** Takes each state that an address says back to what is usual. */
const usually = new Set<() => void>();

/** Forgets what was searched and looked at, for somebody else: with the address, or as far as that does not say it. */
export function forgetAddress(isAddressKept: boolean): void {
  batch(() => {
    if (!isAddressKept) {
      history.replaceState(null, "", "#/");
      hash.value = location.hash;
    }
    for (const back of usually) back();
  });
}

/**
 * Keeps a state and a parameter in the address of a view the same, until the returned function is called: a link somebody opens says the
 * state, and what somebody changes is in the link they send. The usual value is not written; what `isOne` refuses is not read.
 */
export function inAddress<T extends string>(view: string, name: string, state: Signal<T>, usual: T, isOne: (text: string) => boolean = () => true): () => void {
  let seen = "";
  const saidIn = ({ parts, query }: typeof route.value) => ((parts[0] ?? FIRST_VIEW) === view ? query.get(name) : null);
  const back = () => {
    const said = saidIn(route.peek());
    if (said === null || !isOne(said)) state.value = usual;
  };
  usually.add(back);
  const end = effect(() => {
    const { parts, query } = route.value;
    const now = state.value;
    if ((parts[0] ?? FIRST_VIEW) !== view) {
      seen = "";
      return;
    }
    untracked(() => {
      const said = query.get(name);
      // somebody went there
      if (hash.peek() !== seen && said !== null && isOne(said)) state.value = said as T;
      else if ((said ?? usual) !== now) note(name, now === usual ? null : now);
      seen = hash.peek();
    });
  });
  return () => {
    usually.delete(back);
    end();
  };
}

/** The one-time token of a link that signs in, `#token=…`. It must not stay in the address or the history. */
export function takeToken(): string | null {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token !== null) {
    history.replaceState(null, "", location.pathname);
    hash.value = "";
  }
  return token;
}
