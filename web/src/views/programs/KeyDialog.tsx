// A new key's token, shown once, with a line that tries it.

import type { ApiKeyWithToken } from "../../api/schema";
import { Copy } from "../../parts/Copy";
import { Told } from "../../parts/Dialog";
import { strings } from "../../strings";

const words = strings.manage.programs;

export function KeyDialog({ made: { name, token }, onClose }: { made: ApiKeyWithToken; onClose: () => void }) {
  return (
    <Told title={words.tokenTitle(name)} onClose={onClose}>
      <p>{words.tokenText}</p>
      <Copy label={words.token} text={token} />
      <Copy label={words.tryIt} text={`curl ${location.origin}/v1/auth/me -H 'Authorization: Bearer ${token}'`} />
    </Told>
  );
}
