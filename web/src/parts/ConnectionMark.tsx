// Whether what is shown is what is: colour, shape and words.

import { Age } from "./Age";
import { clockSkewMs } from "../state/clock";
import { feed } from "../state/fleet";
import { strings } from "../strings";

export function ConnectionMark() {
  const state = feed.connection.value;
  const since = feed.oldSince.value;
  return (
    <p class="connection" data-connection={state}>
      <span class="connection-mark" aria-hidden="true" />
      <span role="status">{strings.connection[state]}</span>
      {since > 0 && <Age at={since + clockSkewMs.value} />}
    </p>
  );
}
