// How many move, stand still and are silent.

import { positions } from "../../state/fleet";
import { type Standing, standing } from "../../state/standing";
import { strings } from "../../strings";

export function Totals() {
  positions.revision.value;
  const numbers: Record<Standing, number> = { moving: 0, stopped: 0, unknown: 0, stale: 0, offline: 0 };
  for (let row = 0; row < positions.count; row += 1) numbers[standing(row)] += 1;
  return (
    <p class="totals">
      <span data-standing="moving">{strings.live.moving(numbers.moving)}</span>
      <span data-standing="stopped">{strings.live.stopped(numbers.stopped + numbers.unknown)}</span>
      <span data-standing="stale">{strings.live.silent(numbers.stale + numbers.offline)}</span>
    </p>
  );
}
