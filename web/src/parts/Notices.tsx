// What went wrong, above everything else, until it is dismissed.

import { dismiss, notices } from "../state/notices";
import { strings } from "../strings";
import { Updated } from "./Updated";

export function Notices() {
  return (
    <div class="notices" role="alert">
      <Updated />
      {notices.value.map((text) => (
        <p key={text} class="notice">
          {text}
          <button type="button" onClick={() => dismiss(text)}>{strings.problem.dismiss}</button>
        </p>
      ))}
    </div>
  );
}
