// What a webhook is called where there is little room.

import type { Webhook } from "../../api/schema";

/** What it is for, or the host that it leads to. */
export function webhookName({ description, url }: Webhook): string {
  return description ?? (URL.canParse(url) ? new URL(url).host : url);
}
