// Makes a phone a tracker: a QR code and a link for each app, and whether its first position has come.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { api } from "../api/client";
import { sentence } from "../api/problem";
import { scope } from "../state/fleet";
import { strings } from "../strings";
import { Copy } from "./Copy";
import { QrCode } from "./QrCode";
import { Time } from "./Time";
import { type PhoneApp, SETUPS, isOwnComputer } from "./phone_apps";

const words = strings.manage.phone;
const LOOK_EVERY_MS = 2000;

export function PhoneSetup({ id, uniqueId, token }: { id: string; uniqueId: string; token: string }) {
  const app = useSignal<PhoneApp>("traccar");
  const server = location.origin;
  const { code, link, fields } = SETUPS[app.value]({ server, uniqueId, token });
  return (
    <details class="group">
      <summary>{words.title}</summary>
      <div class="fields">
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
        <FirstFix id={id} />
      </div>
    </details>
  );
}

/** Looks whether the tracker was heard since this is shown. */
function FirstFix({ id }: { id: string }) {
  const heardAt = useSignal<string | null>(null);
  const refused = useSignal("");
  useEffect(() => {
    let isGone = false;
    const look = async () => {
      const { lastContactAt = null, rejected } = await api.get("/v1/trackers/{id}/reports", { path: { id }, query: scope.peek() });
      if (isGone) return;
      heardAt.value = lastContactAt;
      refused.value = rejected[0]?.detail ?? "";
    };
    const again = setInterval(() => look().catch((problem: unknown) => { refused.value = sentence(problem); }), LOOK_EVERY_MS);
    return () => {
      isGone = true;
      clearInterval(again);
    };
  }, []);
  return (
    <p class="first-fix" role="status" data-heard={heardAt.value !== null}>
      {heardAt.value ? <>{words.heard} <Time at={heardAt.value} /></> : words.waiting}
      {refused.value && <span class="wrong"> {words.refused(refused.value)}</span>}
    </p>
  );
}
