// One of many things, found by name at the server: there may be ten thousand. The pattern is ARIA's combobox with a list.

import { useSignal, useSignalEffect } from "@preact/signals";
import { useId, useLayoutEffect, useRef } from "preact/hooks";

import { notice } from "../state/notices";
import { strings } from "../strings";
import { Field, useFormDraft } from "./form";

/** So many are offered at once. */
const MOST_OFFERED = 8;
/** What is typed within so long is asked for once. */
const PAUSE_MS = 150;

export interface Thing {
  readonly id: string;
  readonly name: string;
  /** What tells it from others of the name. */
  readonly note?: string | undefined;
}

interface FinderProps {
  readonly label: string;
  /** The id of what is chosen; null for nothing. */
  readonly chosen: string | null;
  readonly name: (id: string) => string;
  /** The word for nothing, if that may be chosen. */
  readonly none?: string;
  /** Those of a name that has these letters, the first by name. */
  readonly find: (q: string, limit: number) => Promise<readonly Thing[]>;
  readonly onChoose: (id: string | null) => void;
  /** What a form's field binds its input to. */
  readonly bound?: { readonly id: string };
  /** Whether a form is not sent without one. */
  readonly required?: boolean;
}

/** The field alone. */
export function Finder({ label, chosen, name, none, find, onChoose, bound, required = false }: FinderProps) {
  const words = strings.manage.form;
  const list = useId();
  const typed = useSignal<string | null>(null);
  const found = useSignal<readonly Thing[] | null>(null);
  /** What they were found by. */
  const foundBy = useRef("");
  /** Whether what is typed is looked for still. */
  const isAsked = useRef(false);
  /** Whether somebody wants the first of those that are still looked for. */
  const isEntered = useRef(false);
  /** Whether somebody went to one of those that are offered by the arrow keys. */
  const isMarked = useRef(false);
  const element = useRef<HTMLInputElement>(null);
  const marked = useSignal(0);
  useSignalEffect(() => {
    const wanted = typed.value;
    isEntered.current = false;
    isMarked.current = false;
    isAsked.current = wanted !== null;
    if (wanted === null) return undefined;
    let isNewest = true;
    // who has left the field meanwhile waits for nothing more
    const end = () => {
      isAsked.current = false;
      isEntered.current = false;
      if (document.activeElement !== element.current) close();
    };
    const timer = setTimeout(() => {
      find(wanted.trim(), MOST_OFFERED).then((things) => {
        if (!isNewest) return;
        found.value = things;
        foundBy.current = wanted;
        marked.value = 0;
        isMarked.current = false;
        if (isEntered.current && things[0]) choose(things[0].id);
        else end();
      }, (problem: unknown) => {
        notice(problem);
        if (isNewest) end();
      });
    }, found.peek() ? PAUSE_MS : 0);
    return () => {
      isNewest = false;
      clearTimeout(timer);
    };
  });
  const close = () => {
    typed.value = null;
    found.value = null;
  };
  const choose = (id: string | null) => {
    close();
    onChoose(id);
  };
  // who goes on has meant the only one there is; in a form nothing leads away from what is written
  const leave = () => {
    if (isEntered.current) return;
    const [only, ...others] = foundBy.current === typed.peek() ? found.peek() ?? [] : [];
    if (bound && typed.peek()?.trim() && only && others.length === 0) choose(only.id);
    else close();
  };
  const isUnchosen = bound !== undefined && (typed.value ? true : required && chosen === null);
  useLayoutEffect(() => element.current?.setCustomValidity(isUnchosen ? words.choose : ""), [isUnchosen]);
  const isOpen = typed.value !== null && found.value !== null;
  const offered: readonly (Thing | null)[] = isOpen ? [...(none !== undefined && typed.value === "" ? [null] : []), ...(found.value ?? [])] : [];
  const at = Math.min(marked.value, offered.length - 1);
  const key = (event: KeyboardEvent) => {
    // these keys are the input method's
    if (event.isComposing) return;
    const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };
    const step = steps[event.key];
    if (step !== undefined) {
      if (!isOpen) typed.value ??= "";
      else if (offered.length > 0) {
        marked.value = (at + step + offered.length) % offered.length;
        isMarked.current = true;
      }
    } else if (event.key === "Enter" && typed.peek() !== null) {
      // it must not send the form
      const one = offered[at];
      // what was found by fewer letters is not meant, unless somebody went to it
      if (isMarked.current || (isOpen && foundBy.current === typed.peek())) {
        if (one !== undefined) choose(one?.id ?? null);
      } else isEntered.current = isAsked.current && typed.peek()?.trim() !== "";
    } else if (event.key === "Escape" && isOpen) close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const nameOf = (thing: Thing | null) => thing?.name ?? none ?? "";
  return (
    <div class="finder">
      <input
        {...bound} ref={element} aria-required={required || undefined} type="text" role="combobox" autocomplete="off" aria-expanded={isOpen} aria-controls={list} aria-autocomplete="list"
        aria-label={bound ? undefined : label} aria-activedescendant={offered.length > 0 ? `${list}-${at}` : undefined}
        placeholder={words.find} value={typed.value ?? (chosen === null ? none ?? "" : name(chosen))}
        onFocus={(event) => event.currentTarget.select()} onClick={() => { if (typed.peek() === null) typed.value = ""; }}
        onInput={(event) => { typed.value = event.currentTarget.value; }} onKeyDown={key} onBlur={leave}
      />
      <ul id={list} role="listbox" aria-label={strings.palette.found} hidden={!isOpen}>
        {offered.map((thing, index) => (
          // taken as the button goes down: what comes after has left the field
          <li key={thing?.id ?? ""} id={`${list}-${index}`} role="option" aria-selected={index === at} onPointerDown={(event) => { event.preventDefault(); choose(thing?.id ?? null); }}>
            {nameOf(thing)} {thing?.note && <span class="quiet">{thing.note}</span>}
          </li>
        ))}
        {isOpen && offered.length === 0 && <li role="option" aria-disabled="true" aria-selected="false" class="quiet">{words.noMatch}</li>}
      </ul>
    </div>
  );
}

interface FieldProps extends Omit<FinderProps, "chosen" | "onChoose" | "bound"> {
  /** The pointer of the member, an id. */
  readonly of: string;
  readonly hint?: string;
}

/** The same as a field of a form. */
export function FindField({ of, hint, ...finder }: FieldProps) {
  const draft = useFormDraft();
  return (
    <Field of={of} label={finder.label} {...(hint ? { hint } : {})}>
      {(bound) => <Finder {...finder} bound={bound} chosen={(draft.at(of) ?? null) as string | null} onChoose={(id) => draft.put(of, id)} />}
    </Field>
  );
}
