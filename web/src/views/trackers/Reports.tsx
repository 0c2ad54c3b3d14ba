// When a tracker was last heard, and what it sent that was refused for good.

import { useSignal } from "@preact/signals";

import type { RejectedReport } from "../../api/schema";
import { Age } from "../../parts/Age";
import { Facts } from "../../parts/Desk";
import { useReports } from "../../parts/reports";
import { Time } from "../../parts/Time";
import { strings } from "../../strings";

const words = strings.manage.reports;
const LOOK_EVERY_MS = 5000;
const SHOWN = 5;

export function Reports({ id }: { id: string }) {
  const isWhole = useSignal(false);
  const reports = useReports(id, LOOK_EVERY_MS).value;
  if (!reports) return null;
  const { lastContactAt, lastPositionAt, rejected } = reports;
  const shown = isWhole.value ? rejected : rejected.slice(0, SHOWN);
  return (
    <section class="part" aria-label={words.title}>
      <header><h3>{words.title}</h3></header>
      <Facts facts={[[words.heard, <Last at={lastContactAt} />], [words.position, <Last at={lastPositionAt} />]]} />
      {rejected.length > 0 && (
        <>
          <h4>{words.refused}</h4>
          <p class="quiet">{words.refusedText}</p>
          <ul class="lines">{shown.map((one) => <Refused key={`${one.receivedAt} ${one.raw}`} report={one} />)}</ul>
          {rejected.length > shown.length && (
            <button type="button" onClick={() => { isWhole.value = true; }}>{words.more(rejected.length - shown.length)}</button>
          )}
        </>
      )}
    </section>
  );
}

function Last({ at }: { at?: string | null | undefined }) {
  return at ? <><Age at={Date.parse(at)} /> {words.ago}</> : <>{words.never}</>;
}

function Refused({ report: { receivedAt, input, detail, raw } }: { report: RejectedReport }) {
  return (
    <li>
      <div class="outcome grow">
        <span><Time at={receivedAt} /> <span class="quiet">{words.by(input)}</span></span>
        <span class="wrong">{detail}</span>
        <details>
          <summary>{words.sent}</summary>
          <pre tabIndex={0}>{raw || words.noWords}</pre>
        </details>
      </div>
    </li>
  );
}
