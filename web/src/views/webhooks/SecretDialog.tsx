// A webhook's secret, shown once.

import type { WebhookWithSecret } from "../../api/schema";
import { Copy } from "../../parts/Copy";
import { Told } from "../../parts/Dialog";
import { strings } from "../../strings";
import { webhookName } from "./names";

const words = strings.manage.webhooks;

export function SecretDialog({ made, onClose }: { made: WebhookWithSecret; onClose: () => void }) {
  return (
    <Told title={words.secretTitle(webhookName(made))} onClose={onClose}>
      <p>{words.secretText}</p>
      <Copy label={words.secret} text={made.secret} />
      <p class="quiet">{words.secretUse}</p>
    </Told>
  );
}
