// What the page cannot do without: where the server fails at it, people are told so, and it is asked for again until it is there.

import { signal } from "@preact/signals";

import { Problem, sentence } from "../api/problem";
import { isAway } from "../api/reach";
import { dismiss, notice } from "./notices";

/** The first pause is at most so long, each further one up to twice as long. */
const AGAIN_MS = 3000;
const MOST_MS = 60_000;
/** Not at the moment when other tabs and people ask again. */
const pauseMs = (failures: number): number => Math.min(MOST_MS, AGAIN_MS * 2 ** failures) * (0.5 + Math.random() / 2);

/** Why something of it is missing, as a sentence; null where nothing is. */
export const missing = signal<string | null>(null);

let newest = 0;
let again = 0;
/** How often in a row what is needed failed. */
let failures = 0;

/** Whether the server failed, or takes nothing for a moment: the same may go well soon. */
const isPassing = (problem: unknown) =>
  problem instanceof Problem && (problem.status >= 500 || problem.status === 429) && !isAway(problem);

/**
 * Does work that brings what is needed; `next` is done a little later where the server fails at it. Of a server that is away nothing is
 * asked: it is looked for, and `reached` tells when it is found.
 */
export async function bring(work: () => Promise<void>, next: () => Promise<void>): Promise<void> {
  stopBringing();
  const number = newest;
  try {
    await work();
    if (number === newest) needNothing();
  } catch (problem) {
    // what was begun later tells how it stands
    if (number !== newest) return;
    const isAgain = isPassing(problem);
    missing.value = isAgain ? sentence(problem) : null;
    if (isAgain) again = window.setTimeout(() => void next(), pauseMs(failures++));
    else notice(problem);
  }
}

/**
 * Asks for something that a part of the page shows, soon; where the server fails, again and again until there is an answer, which `take`
 * is given, or the returned function is called. Why there is none is said once, and no longer than that.
 */
export function insist<T>(ask: () => Promise<T>, take: (answer: T) => void = () => {}, refused: (problem: unknown) => void = notice): () => void {
  let [isOver, said, timer, attempts] = [false, "", 0, 0];
  const end = () => {
    isOver = true;
    clearTimeout(timer);
    if (said) dismiss(said);
  };
  const attempt = async () => {
    if (isOver) return;
    try {
      const answer = await ask();
      if (isOver) return;
      if (said) dismiss(said);
      take(answer);
    } catch (problem) {
      if (isOver) return;
      const why = sentence(problem);
      if (why !== said) {
        if (said) dismiss(said);
        said = "";
        refused(problem);
      }
      if (!isPassing(problem)) return;
      said = why;
      timer = window.setTimeout(() => void attempt(), pauseMs(attempts++));
    }
  };
  queueMicrotask(() => void attempt());
  return end;
}

/** What is underway counts no more: something else is needed now. */
function stopBringing(): void {
  clearTimeout(again);
  newest += 1;
}

/** Nothing is missing any more: all is there, or belonged to somebody or something else. */
export function needNothing(): void {
  stopBringing();
  missing.value = null;
  failures = 0;
}
