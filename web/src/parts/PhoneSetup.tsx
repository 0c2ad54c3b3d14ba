// Makes a phone a tracker: a QR code and a link for each app, and whether its first position has come.

import { type ReadonlySignal, useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";

import type { TrackerReports } from "../api/schema";
import { strings } from "../strings";
import { Copy } from "./Copy";
import { QrCode } from "./QrCode";
import { Time } from "./Time";
import { type PhoneApp, SETUPS, isOwnComputer } from "./phone_apps";
import { useReports } from "./reports";

const words = strings.manage.phone;
const LOOK_EVERY_MS = 2000;

interface Props {
  readonly id: string;
  readonly uniqueId: string;
  readonly token: string;
  /** Whether it is unfolded at first. */
  readonly isOpen: boolean;
}

export function PhoneSetup({ id, uniqueId, token, isOpen }: Props) {
  const reports = useReports(id, LOOK_EVERY_MS);
  return (
    <details class="group" open={isOpen}>
      <summary>{words.title}</summary>
      {reports.value && (
        <div class="fields">
          <Apps server={reports.value.publicUrl ?? location.origin} uniqueId={uniqueId} token={token} />
          <FirstFix reports={reports} />
        </div>
      )}
    </details>
  );
}

function Apps({ server, uniqueId, token }: { server: string; uniqueId: string; token: string }) {
  const app = useSignal<PhoneApp>("traccar");
  const { code, link, fields } = SETUPS[app.value]({ server, uniqueId, token });
  return (
    <>
      {isOwnComputer(server) && (
        <div class="phone-warning" role="note">
          <p>{words.unreachable(server)}</p>
          <Copy label={words.command} text={`waypost serve --listen 0.0.0.0:${location.port || "8080"} --public-url http://ADDRESS:${location.port || "8080"}`} />
        </div>
      )}
      <div class="tools" role="toolbar" aria-label={words.apps}>
        {(Object.keys(SETUPS) as PhoneApp[]).map((one) => (
          <button key={one} type="button" aria-pressed={app.value === one} onClick={() => { app.value = one; }}>{words.names[one]}</button>
        ))}
      </div>
      <p class="quiet">{words.hints[app.value]}</p>
      {code && link && (
        <div class="phone-link">
          <QrCode key={code} text={code} label={words.code(words.names[app.value])} />
          <a class="button" href={link}>{words.open(words.names[app.value])}</a>
        </div>
      )}
      {fields.map(([label, text]) => <Copy key={`${app.value} ${label}`} label={words.fields[label]} text={text} />)}
    </>
  );
}

/** What came since this is shown: a position, or something that was refused. A heartbeat is neither. */
function FirstFix({ reports }: { reports: ReadonlySignal<TrackerReports | null> }) {
  const now = reports.value;
  const before = useRef(now).current;
  const positionAt = now?.lastPositionAt !== before?.lastPositionAt ? now?.lastPositionAt : null;
  const newest = now?.rejected[0];
  const refused = newest?.receivedAt !== before?.rejected[0]?.receivedAt ? newest : undefined;
  return (
    <p class="first-fix" role="status" data-heard={Boolean(positionAt)}>
      {positionAt ? <>{words.heard} <Time at={positionAt} /></> : words.waiting}
      {refused && <span class="wrong"> {words.refused(refused.detail)}</span>}
    </p>
  );
}
