// How many move, stand still and are silent; each number narrows the list to them.

import { span } from "../../format";
import { wrongByMs } from "../../state/clock";
import { strings } from "../../strings";
import { type Kind, kind, numbers } from "./listing";

const SHAPES: Record<Kind, string | undefined> = { all: undefined, moving: "moving", stopped: "stopped", unknown: "unknown", silent: "stale" };

/** Those of which nobody knows whether they move are few, most of the time none. */
const isOffered = (each: Kind): boolean => each !== "unknown" || numbers.value.unknown > 0 || kind.value === "unknown";

export function Totals() {
  const words = strings.live;
  return (
    <div class="totals">
      <div class="totals-kinds" role="group" aria-label={words.filter}>
        {(Object.keys(SHAPES) as Kind[]).filter(isOffered).map((each) => (
          <button key={each} type="button" aria-pressed={kind.value === each} data-standing={SHAPES[each]} onClick={() => { kind.value = each; }}>
            {words[each](numbers.value[each])}
          </button>
        ))}
      </div>
      {wrongByMs.value !== 0 && <p class="clock-warning" role="status">{words.clockIsWrong(span(Math.abs(wrongByMs.value)), wrongByMs.value > 0)}</p>}
    </div>
  );
}
