// What a vehicle's device reports beside its position. Nothing where it reports nothing.

import { api } from "../../api/client";
import { useAnswer } from "../../parts/answer";
import { Time } from "../../parts/Time";
import { scope } from "../../state/fleet";
import { strings } from "../../strings";
import { useHeard } from "./heard";
import { type Shown, inWords, newestOf } from "./reported";

/** Devices say some things with every fix and others rarely: the newest of each is looked for in so many. */
const MOST_FIXES = 100;
/** However often it reports, what it says is read so often. */
const AGAIN_MS = 5000;
/** More values of unknown names than these are folded away. */
const FEW = 6;
const words = strings.reported;

export function Reported({ id }: { id: string }) {
  const heard = useHeard(id, AGAIN_MS);
  const answer = useAnswer(() => {
    heard.value;
    const query = { ...scope.value, sort: "-recordedAt" as const, limit: MOST_FIXES };
    return api.get("/v1/vehicles/{id}/positions", { path: { id }, query });
  });
  const fixes = answer.value?.data ?? [];
  const { known, others } = inWords(newestOf(fixes));
  if (known.length + others.length === 0) return null;
  const newest = fixes[0]?.recordedAt ?? "";
  const theirs = <Values values={others} newest={newest} />;
  return (
    <section class="vehicle-part reported">
      <header class="part-head"><h3>{words.title}</h3><span class="grow" /><span class="quiet"><Time at={newest} /></span></header>
      {known.length > 0 && <Values values={known} newest={newest} />}
      {others.length > FEW ? <details><summary>{words.others(others.length)}</summary>{theirs}</details> : others.length > 0 && theirs}
    </section>
  );
}

/** Each value; with its time where that is not the newest fix's. */
function Values({ values, newest }: { values: readonly Shown[]; newest: string }) {
  return (
    <dl class="reported-values">
      {values.map(({ name, label, text, recordedAt }) => (
        <div key={name} data-reported={name}>
          <dt title={name}>{label}</dt>
          <dd><bdi>{text}</bdi>{recordedAt !== newest && <> <span class="quiet"><Time at={recordedAt} /></span></>}</dd>
        </div>
      ))}
    </dl>
  );
}
