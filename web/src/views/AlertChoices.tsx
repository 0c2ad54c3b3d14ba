// Whether this browser rings or notifies when there is a new alert.

import { useSignal } from "@preact/signals";

import { isHeard, isNotified, mayNotify, ring } from "../state/alerting";
import { alertWords as words } from "../strings_alerts";

export function AlertChoices() {
  const said = useSignal("");
  const hear = (isOn: boolean) => {
    isHeard.value = isOn;
    // what it sounds like, and the click by which a browser lets a page sound
    if (isOn) ring();
  };
  const notify = async (isOn: boolean) => {
    isNotified.value = isOn && (await mayNotify());
    said.value = isOn && !isNotified.peek() ? words.notAllowed : "";
  };
  return (
    <fieldset class="shape">
      <legend>{words.here}</legend>
      <label class="check"><input type="checkbox" checked={isHeard.value} onChange={(event) => hear(event.currentTarget.checked)} />{words.sound}</label>
      <label class="check"><input type="checkbox" checked={isNotified.value} onChange={(event) => void notify(event.currentTarget.checked)} />{words.notification}</label>
      <p class="wrong" role="status">{said.value}</p>
    </fieldset>
  );
}
