// Parts of the page that are loaded when they are needed. What did not come is asked for again once the server is found again; what
// a new version of the server no longer has needs the page to be loaded anew, which is for people to say.

import { effect, signal } from "@preact/signals";

import { isAway, lose, reached } from "../api/reach";
import { strings } from "../strings";
import { notice } from "./notices";

/** An answer that takes longer is none. */
const WITHIN_MS = 5000;

/** Whether the server has another page than this one by now. */
export const isUpdated = signal(false);

/** The server is away, has another page, or has this one, though a part of it did not come. */
type Why = "away" | "updated" | "broken";

let looking: Promise<Why> | null = null;

/** Why a part did not come: asked once for all that wait. */
function whyMissing(): Promise<Why> {
  looking ??= look().finally(() => { looking = null; });
  return looking;
}

async function look(): Promise<Why> {
  const asked = fetch(location.pathname, { cache: "no-store", signal: AbortSignal.timeout(WITHIN_MS) });
  const page = await asked.then((answer) => (answer.ok ? answer.text() : null)).catch(() => null);
  if (page === null) return "away";
  // the names of a page's files change with what is in them
  const own = document.querySelector("script[type=module][src]")?.getAttribute("src") ?? "";
  isUpdated.value = !page.includes(own);
  return isUpdated.value ? "updated" : "broken";
}

/** Until the server is found again. */
function found(): Promise<void> {
  lose();
  const before = reached.peek();
  return new Promise((tell) => {
    const end = effect(() => {
      if (reached.value === before) return;
      tell();
      queueMicrotask(() => end());
    });
  });
}

/** Styles that did not come. */
const missing = new Set<HTMLLinkElement>();
const note = ({ target }: Event) => { if (target instanceof HTMLLinkElement && target.rel === "stylesheet") missing.add(target); };
addEventListener("error", note, true);

/** Asks for them once more: who loads a part asks for each of its styles only once. */
async function styles(): Promise<void> {
  const links = [...missing];
  missing.clear();
  await Promise.all(links.map((link) => new Promise((tell, fail) => {
    const next = link.cloneNode() as HTMLLinkElement;
    next.onload = tell;
    next.onerror = fail;
    link.replaceWith(next);
  })));
}

/** Loads a part of the page, however often that takes: `loaded(() => import("./part"))`. Throws where the server has it and it fails twice. */
export async function loaded<T>(load: () => Promise<T>): Promise<T> {
  let [isAgain, isBroken] = [false, false];
  for (;;) {
    try {
      if (isAgain) await styles();
      return await load();
    } catch (problem) {
      const why = await whyMissing();
      // the page is loaded anew, or does without
      if (why === "updated") return new Promise(() => {});
      if (why === "broken" && isBroken) throw new Error(strings.problem.partMissing);
      if (why === "away" && isAway(problem)) notice(problem);
      isBroken = why === "broken";
      isAgain = true;
      await found();
    }
  }
}

// of parts that nobody waits for
addEventListener("vite:preloadError", () => void whyMissing());
