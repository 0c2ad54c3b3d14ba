// Which view is shown: the address behind the hash, `#/vehicles/ID?from=…`, so that links into the page need nothing of
// the server and never look like its API.

import { computed, signal } from "@preact/signals";

const hash = signal(location.hash);
addEventListener("hashchange", () => {
  if (location.hash === hash.peek()) return;
  if (isHeld()) {
    wanted.value = location.hash;
    history.replaceState(null, "", hash.peek() || "#/");
  } else hash.value = location.hash;
});

/** Whether something would be lost by leaving: that is asked first. */
let isHeld = () => false;
/** The address that somebody wants to go to while something would be lost; null when nobody does. */
export const wanted = signal<string | null>(null);

addEventListener("beforeunload", (event) => { if (isHeld()) event.preventDefault(); });

/** Has it asked whether something would be lost, until the returned function is called. */
export function hold(wouldLose: () => boolean): () => void {
  isHeld = wouldLose;
  return () => { isHeld = () => false; };
}

/** Goes where somebody wanted to go, whatever is lost; or stays. */
export function leave(isMeant: boolean): void {
  const address = wanted.peek();
  wanted.value = null;
  if (!isMeant || address === null) return;
  // known already when the browser tells of it, so that it is not asked once more
  hash.value = address;
  location.hash = address;
}

/** The parts of the path, and the query. */
export const route = computed(() => {
  const [path = "", query = ""] = hash.value.replace(/^#\/?/, "").split("?");
  return { parts: path.split("/").filter(Boolean).map(decodeURIComponent), query: new URLSearchParams(query) };
});

/** The address of a view, for links: `href("vehicles", id)`. */
export function href(...parts: readonly string[]): string {
  return `#/${parts.map(encodeURIComponent).join("/")}`;
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
