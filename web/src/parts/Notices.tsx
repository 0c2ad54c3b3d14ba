// What went wrong, above everything else, until it is dismissed.

import { tryAgain } from "../state/fleet";
import { missing } from "../state/needed";
import { dismiss, notices } from "../state/notices";
import { strings } from "../strings";
import { Updated } from "./Updated";

export function Notices() {
  return (
    <div class="notices" role="alert">
      <Updated />
      {missing.value !== null && (
        <p class="notice">
          {strings.problem.missing(missing.value)}
          <button type="button" onClick={() => void tryAgain()}>{strings.problem.again}</button>
        </p>
      )}
      {notices.value.map((text) => (
        <p key={text} class="notice">
          {text}
          <button type="button" onClick={() => dismiss(text)}>{strings.problem.dismiss}</button>
        </p>
      ))}
    </div>
  );
}
