// How a webhook stands: it sends, fails, or is disabled.

import type { Webhook } from "../../api/schema";
import { moment } from "../../format";
import { strings } from "../../strings";

const words = strings.manage.webhooks;

export function WebhookState({ webhook: { enabled = true, failingSince } }: { webhook: Webhook }) {
  if (!enabled) return <span class="mark" data-mark="bad">{words.disabled}</span>;
  if (failingSince) return <span class="mark" data-mark="warn">{words.failing(moment(failingSince))}</span>;
  return <span class="mark" data-mark="good">{words.sends}</span>;
}
