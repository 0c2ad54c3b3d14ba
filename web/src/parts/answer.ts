// What the server answers to a question that a part of the page has as long as it is shown.

import { type ReadonlySignal, useSignal, useSignalEffect } from "@preact/signals";

import { reached } from "../api/reach";
import { insist } from "../state/needed";

/**
 * The answer, null until there is one; asked again whenever a signal that `ask` reads changes, when the server is found again, and as long
 * as it fails. Answers may overtake each other: only the one to the newest question counts. `refused` hears why there is none.
 */
export function useAnswer<T>(ask: () => Promise<T>, refused?: (problem: unknown) => void): ReadonlySignal<T | null> {
  const answer = useSignal<T | null>(null);
  useSignalEffect(() => {
    reached.value;
    // asked here: signals that are read later are not followed
    let first: Promise<T> | null = ask();
    // nobody hears of it where another question follows at once
    first.catch(() => {});
    const next = () => {
      const asked = first ?? ask();
      first = null;
      return asked;
    };
    return insist(next, (said) => { answer.value = said; }, refused);
  });
  return answer;
}
