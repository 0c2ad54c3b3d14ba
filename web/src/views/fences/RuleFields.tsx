// How a fence turns positions into entries and exits: of one fence, or of those to come.

import { CheckField, Row } from "../../parts/form";
import { MeasureField, NumberField } from "../../parts/NumberField";
import { strings } from "../../strings";

const words = strings.manage.fences;

/** `of` is the pointer of the rules. */
export function RuleFields({ of }: { of: string }) {
  return (
    <>
      <Row><MeasureField of={`${of}/exitMarginMeters`} quantity="length" label={words.exitMargin} required /><MeasureField of={`${of}/speedLimitKmh`} quantity="speed" label={words.speedLimit} /></Row>
      <Row><NumberField of={`${of}/minInsideSeconds`} label={words.minInside} required /><NumberField of={`${of}/minOutsideSeconds`} label={words.minOutside} required /></Row>
      <Row><NumberField of={`${of}/dwellAfterSeconds`} label={words.dwell} /><NumberField of={`${of}/maxGapSeconds`} label={words.maxGap} required /></Row>
      <CheckField of={`${of}/inferPassages`} label={words.infer} />
      <CheckField of={`${of}/holdWhileStanding`} label={words.holdStanding} />
    </>
  );
}
