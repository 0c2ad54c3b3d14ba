// Whether what is shown is what is: colour, shape and words.

import { feed } from "../state/fleet";
import { strings } from "../strings";

export function ConnectionMark() {
  const state = feed.connection.value;
  return (
    <p class="connection" role="status" data-connection={state}>
      <span class="connection-mark" aria-hidden="true" />
      {strings.connection[state]}
    </p>
  );
}
