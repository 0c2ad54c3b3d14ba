// How long ago something was, counted on without drawing anything else again.

import { useComputed, useSignal } from "@preact/signals";

import { inFull, span } from "../format";
import { clock } from "../state/past";

/** `at`: milliseconds since 1970. */
export function Age({ at, title = inFull }: { at: number; title?: (instant: number) => string }) {
  const since = useSignal(at);
  since.value = at;
  const text = useComputed(() => span(clock.value - since.value));
  return <time dateTime={new Date(at).toISOString()} title={title(at)}>{text}</time>;
}
