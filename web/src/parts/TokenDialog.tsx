// A tracker's token, shown once, with lines that try it.

import { strings } from "../strings";
import { Copy } from "./Copy";
import { Told } from "./Dialog";

const words = strings.manage.trackers;

export function TokenDialog({ uniqueId, token, onClose }: { uniqueId: string; token: string; onClose: () => void }) {
  const socket = location.origin.replace(/^http/, "ws");
  const position = `{"items":[{"recordedAt":"'$(date -u +%FT%TZ)'","latitude":59.33,"longitude":18.06}]}`;
  const curl = `curl ${location.origin}/v1/positions -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' -d '${position}'`;
  return (
    <Told title={words.tokenTitle(uniqueId)} onClose={onClose}>
      <p>{words.tokenText}</p>
      <Copy label={words.token} text={token} />
      <Copy label={words.tryIt} text={curl} />
      <Copy label={words.socket} text={`websocat --protocol waypost.tracker.v1 -H='Authorization: Bearer ${token}' ${socket}/v1/ws/tracker`} />
    </Told>
  );
}
