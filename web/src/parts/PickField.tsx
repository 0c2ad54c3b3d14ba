// Some of many things by their ids: searched by name, since there may be thousands.

import { useSignal } from "@preact/signals";

import { byName } from "../format";
import { strings } from "../strings";
import { Field, useFormDraft } from "./form";

/** So many are offered at once; fewer things are offered without a search. */
const MOST_OFFERED = 6;

interface Thing {
  readonly id: string;
  readonly name: string;
}

interface Props {
  /** The pointer of the member, a list of ids. */
  readonly of: string;
  readonly label: string;
  readonly hint: string;
  readonly things: ReadonlyMap<string, Thing>;
  /** The name of one, also of one that is gone. */
  readonly name: (id: string) => string;
}

export function PickField({ of, label, hint, things, name }: Props) {
  const words = strings.manage.form;
  const draft = useFormDraft();
  const typed = useSignal("");
  const picked = (draft.at(of) ?? []) as readonly string[];
  const wanted = typed.value.trim().toLocaleLowerCase();
  const fits = ({ id: one, name: its }: Thing) => !picked.includes(one) && its.toLocaleLowerCase().includes(wanted);
  const fitting = wanted !== "" || things.size <= MOST_OFFERED ? [...things.values()].filter(fits) : [];
  const offered = fitting.sort((a, b) => byName(a.name, b.name)).slice(0, MOST_OFFERED);
  const put = (ids: readonly string[]) => draft.put(of, ids);
  const add = (id: string) => {
    put([...picked, id]);
    typed.value = "";
  };
  // Enter takes the first; it must not send the form
  const key = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    if (wanted !== "" && offered[0]) add(offered[0].id);
  };
  return (
    <Field of={of} label={label} hint={hint}>
      {(bound) => (
        <div class="pick">
          {picked.length > 0 && (
            <ul class="picked" aria-label={words.picked(label)}>
              {picked.map((id) => (
                <li key={id}>
                  {name(id)}
                  <button type="button" aria-label={words.unpick(name(id))} onClick={() => put(picked.filter((one) => one !== id))}>✕</button>
                </li>
              ))}
            </ul>
          )}
          <input
            {...bound} type="search" autocomplete="off" placeholder={words.pick} value={typed}
            onInput={(event) => { typed.value = event.currentTarget.value; }} onKeyDown={key}
          />
          {offered.length > 0 && (
            <ul class="offered" aria-label={words.offered(label)}>
              {offered.map(({ id, name: its }) => (
                <li key={id}><button type="button" aria-label={words.pickOne(its)} onClick={() => add(id)}>+ {its}</button></li>
              ))}
            </ul>
          )}
        </div>
      )}
    </Field>
  );
}
