// Which view is shown: the address behind the hash, `#/vehicles/ID?from=…`, so that links into the page need nothing of
// the server and never look like its API.

import { computed, signal } from "@preact/signals";

const hash = signal(location.hash);
addEventListener("hashchange", () => { hash.value = location.hash; });

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
