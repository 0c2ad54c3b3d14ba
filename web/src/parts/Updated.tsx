// Says that the server has another page than this one by now, and loads it when people want it.

import { isUpdated } from "../state/loading";
import { strings } from "../strings";

export function Updated() {
  if (!isUpdated.value) return null;
  return (
    <p class="notice">
      {strings.problem.updated}
      <button type="button" onClick={() => location.reload()}>{strings.problem.reload}</button>
    </p>
  );
}
