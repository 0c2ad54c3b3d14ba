// What a webhook is sent: boxes for the types that there are and their beginnings, and a line for any other.

import type { ComponentChildren } from "preact";

import { TextField, useFormDraft } from "../../parts/form";
import { strings } from "../../strings";
import { ALL_CHANGES, CHANGES, EVERYTHING, GROUPS, KINDS, covers, withType } from "./event_types";

const words = strings.manage.webhooks.types;

/** The member that boxes write, `/types`; the server names what it refuses of it `/eventTypes`. */
const OF = "/types";

export function TypeFields() {
  const draft = useFormDraft();
  draft.shown.add("/eventTypes");
  const wrong = draft.problemsAt("/eventTypes");
  const hasChanges = (draft.at(OF) as readonly string[]).some((type) => type.startsWith("change."));
  return (
    <fieldset class="fields types" tabIndex={-1} aria-invalid={wrong.length > 0 ? true : undefined}>
      <legend>{strings.manage.webhooks.sent}</legend>
      {wrong.length > 0 && <p class="wrong">{wrong.join(" ")}</p>}
      <TypeBox type={EVERYTHING}>{words.everything}</TypeBox>
      {GROUPS.map(({ title, all, types }) => (
        <div key={all} class="type-group">
          <TypeBox type={all}><b>{title}</b>: {words.all}</TypeBox>
          {types.map(({ type, word }) => <TypeBox key={type} type={type}>{word}</TypeBox>)}
        </div>
      ))}
      <details class="group" open={hasChanges}>
        <summary>{words.changes}</summary>
        <div class="fields">
          <TypeBox type={ALL_CHANGES}>{words.allChanges}</TypeBox>
          <ChangeTable />
        </div>
      </details>
      <TextField of="/further" label={words.further} hint={words.furtherHint} />
    </fieldset>
  );
}

function ChangeTable() {
  return (
    <table class="type-table">
      <thead>
        <tr>
          <th scope="col">{words.what}</th>
          <th scope="col">{words.all}</th>
          {KINDS.map(({ kind, word }) => <th key={kind} scope="col">{word}</th>)}
        </tr>
      </thead>
      <tbody>
        {CHANGES.map(({ title, all, types }) => (
          <tr key={all}>
            <th scope="row">{title}</th>
            {[all, ...types.map(({ type }) => type)].map((type) => <td key={type}><TypeBox type={type} /></td>)}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The box of a type or a beginning; ticked, and not to be changed, where another box says it too. */
function TypeBox({ type, children }: { type: string; children?: ComponentChildren }) {
  const draft = useFormDraft();
  const types = draft.at(OF) as readonly string[];
  const isCovered = types.some((one) => covers(one, type));
  const turn = (isOn: boolean) => draft.put(OF, isOn ? withType(types, type) : types.filter((one) => one !== type));
  const box = (
    <input
      type="checkbox" checked={isCovered || types.includes(type)} disabled={isCovered} aria-label={children ? undefined : type}
      onChange={(event) => turn(event.currentTarget.checked)}
    />
  );
  return children ? <label class="check">{box}<span>{children} <code>{type}</code></span></label> : box;
}
