// Who drives or drove, as far as the one signed in may know, and a number to call.

import { api } from "../api/client";
import { scope } from "../state/fleet";

export interface Person {
  readonly name: string;
  /** Empty if it is not known. */
  readonly phone: string;
}

/** A driver by id; null for one who is gone. */
export async function findDriver(id: string): Promise<Person | null> {
  const found = await api.get("/v1/drivers/{id}", { path: { id }, query: scope.peek() }).catch(() => null);
  if (!found) return null;
  const { firstName = "", lastName = "", phone } = found as { firstName?: string; lastName?: string; phone?: string | null };
  return { name: `${firstName} ${lastName}`.trim(), phone: phone ?? "" };
}

/** A link that calls, nothing where there is no number; `label` where it does not say whom. */
export function Phone({ number, label }: { number: string; label?: string }) {
  return number === "" ? null : <a href={`tel:${number.replace(/[^+\d]/g, "")}`} aria-label={label}>{number}</a>;
}
