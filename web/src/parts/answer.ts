// What the server answers to a question that a part of the page has as long as it is shown.

import { type ReadonlySignal, useSignal, useSignalEffect } from "@preact/signals";

import { reached } from "../api/reach";
import { notice } from "../state/notices";

/**
 * The answer, null until there is one; asked again whenever a signal that `ask` reads changes, and when the server is found again. Answers may overtake each other:
 * only the one to the newest question counts. `refused` hears why there is none.
 */
export function useAnswer<T>(ask: () => Promise<T>, refused: (problem: unknown) => void = notice): ReadonlySignal<T | null> {
  const answer = useSignal<T | null>(null);
  useSignalEffect(() => {
    let isNewest = true;
    reached.value;
    ask().then((said) => { if (isNewest) answer.value = said; }, (problem: unknown) => { if (isNewest) refused(problem); });
    return () => { isNewest = false; };
  });
  return answer;
}
