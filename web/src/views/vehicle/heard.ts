// That a vehicle reported, for what is asked again then.

import { type ReadonlySignal, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { positions } from "../../state/fleet";

/** One more so long after a vehicle reported; what it reports meanwhile is read with it. */
export function useHeard(id: string, afterMs: number): ReadonlySignal<number> {
  const times = useSignal(0);
  const waiting = useRef({ timer: 0, last: newestAt(id) });
  useSignalEffect(() => {
    positions.revision.value;
    const at = newestAt(id);
    const { timer, last } = waiting.current;
    if (timer || Object.is(at, last)) return;
    waiting.current = { last: at, timer: window.setTimeout(() => {
      waiting.current = { timer: 0, last: newestAt(id) };
      times.value = times.peek() + 1;
    }, afterMs) };
  });
  useEffect(() => () => clearTimeout(waiting.current.timer), []);
  return times;
}

/** When its newest position arrived. */
function newestAt(id: string): number {
  const row = positions.row(id);
  return row === undefined ? NaN : positions.receivedAt[row] ?? NaN;
}
