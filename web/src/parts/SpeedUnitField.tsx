// In which unit a tracker says its speeds, where its app leaves that open.

import { SelectField } from "./form";
import { strings } from "../strings";

const words = strings.manage.trackers;

export function SpeedUnitField() {
  return <SelectField of="/speedUnit" label={words.speedUnit} hint={words.speedUnitHint} options={words.speedUnits} />;
}
