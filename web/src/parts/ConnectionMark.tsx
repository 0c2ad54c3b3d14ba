// Whether what is shown is what is: colour, shape and words.

import { Age } from "./Age";
import { clockSkewMs } from "../state/clock";
import { feed } from "../state/fleet";
import { strings } from "../strings";

export function ConnectionMark() {
  const state = feed.connection.value;
  const since = feed.oldSince.value;
  const words = strings.connection;
  const isUnstored = state === "live" && !feed.storing.value;
  return (
    <p class="connection" data-connection={state} data-unstored={isUnstored}>
      <span class="connection-mark" aria-hidden="true" />
      <span role="status" title={isUnstored ? words.unstoredWhy : undefined}>{isUnstored ? words.unstored : words[state]}</span>
      {since > 0 && <Age at={since + clockSkewMs.value} />}
    </p>
  );
}
