// Which scopes: one box for each, as members of `/scope`.

import type { Scope } from "../../api/schema";
import { CheckField, type Members, useFormDraft } from "../../parts/form";
import { strings } from "../../strings";

const words = strings.manage.programs;
const SCOPES = Object.keys(words.scopes) as Scope[];

/** The boxes of some scopes; all of them when none are named. */
export function ScopeFields({ of = SCOPES }: { of?: readonly Scope[] }) {
  const draft = useFormDraft();
  draft.shown.add("/scopes");
  const wrong = draft.problemsAt("/scopes");
  return (
    <fieldset class="fields" aria-invalid={wrong.length > 0 ? true : undefined}>
      <legend>{words.scopesTitle}</legend>
      {of.map((scope) => <CheckField key={scope} of={`/scope/${scope}`} label={`${scope}: ${words.scopes[scope]}`} />)}
      {wrong.length > 0 && <p class="wrong">{wrong.join(" ")}</p>}
    </fieldset>
  );
}

/** The scopes whose boxes are ticked. */
export function chosen(ticked: unknown): Scope[] {
  return SCOPES.filter((scope) => (ticked as Members)[scope] === true);
}

/** The boxes of scopes, ticked. */
export const ticked = (scopes: readonly Scope[]): Members => Object.fromEntries(scopes.map((scope) => [scope, true]));
