// A tracker's token, shown once, with lines that try it.

import { strings } from "../strings";
import { Copy } from "./Copy";
import { Told } from "./Dialog";
import { PhoneSetup } from "./PhoneSetup";

const words = strings.manage.trackers;

/** A tracker with the token that was just made. */
export interface Issued {
  readonly id: string;
  readonly uniqueId: string;
  readonly token: string;
  /** Whether it is made to set up an app. */
  readonly isForApp?: boolean;
}

export function TokenDialog({ id, uniqueId, token, isForApp = false, onClose }: Issued & { onClose: () => void }) {
  const socket = location.origin.replace(/^http/, "ws");
  const position = `{"items":[{"recordedAt":"'$(date -u +%FT%TZ)'","latitude":59.33,"longitude":18.06}]}`;
  const curl = `curl ${location.origin}/v1/positions -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' -d '${position}'`;
  return (
    <Told title={words.tokenTitle(uniqueId)} onClose={onClose}>
      <p>{words.tokenText}</p>
      <Copy label={words.token} text={token} />
      <PhoneSetup id={id} uniqueId={uniqueId} token={token} isOpen={isForApp} />
      <Copy label={words.tryIt} text={curl} />
      <Copy label={words.socket} text={`websocat --protocol waypost.tracker.v1 -H='Authorization: Bearer ${token}' ${socket}/v1/ws/tracker`} />
    </Told>
  );
}
