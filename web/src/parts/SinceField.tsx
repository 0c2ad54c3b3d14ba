// Since when somebody drives a vehicle: now, or from an earlier time on.

import { instantOf } from "../format";
import { strings } from "../strings";
import { type Draft, TextField } from "./form";

const OF = "/startedAt";

export function SinceField() {
  const words = strings.manage.drivers;
  return <TextField of={OF} label={words.from} hint={words.fromHint} type="datetime-local" />;
}

/** What the server takes for it: nothing of what is empty. */
export function sinceOf(draft: Draft): { readonly startedAt?: string } {
  const typed = draft.at(OF);
  return typed ? { startedAt: new Date(instantOf(String(typed))).toISOString() } : {};
}
