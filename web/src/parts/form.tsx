// A form over one JSON object. Its fields are named by JSON pointer, by which the server names what it refuses, so that each
// refusal stands at its field. Knows nothing of what the object is.

import { type Signal, signal } from "@preact/signals";
import { type ComponentChildren, createContext } from "preact";
import { useContext, useId, useLayoutEffect, useMemo, useRef } from "preact/hooks";

import { Problem, sentence } from "../api/problem";
import { zone } from "../format";
import { holdWriting } from "../state/writing";
import { strings } from "../strings";
import { TimeInput } from "./TimeInput";

export type Members = Readonly<Record<string, unknown>>;

const NONE: ReadonlyMap<string, string> = new Map();
const steps = (pointer: string) => pointer.split("/").slice(1);

function read(value: unknown, pointer: string): unknown {
  return steps(pointer).reduce<unknown>((inner, step) => (inner as Members | null | undefined)?.[step], value);
}

function written(value: unknown, [step, ...rest]: readonly string[], leaf: unknown): Members {
  const members = (value ?? {}) as Members;
  return { ...members, [step as string]: rest.length > 0 ? written(members[step as string], rest, leaf) : leaf };
}

const isObject = (value: unknown): value is Members => typeof value === "object" && value !== null && !Array.isArray(value);

/** The members of one that are other than those of another; of an object within both too, unless `whole` names it. */
function differing(now: Members, from: Members, whole: readonly string[]): Members {
  const others = Object.entries(now).flatMap(([name, value]): [string, unknown][] => {
    const before = from[name];
    if (JSON.stringify(value) === JSON.stringify(before)) return [];
    if (whole.includes(name) || !isObject(value) || !isObject(before)) return [[name, value]];
    const within = differing(value, before, whole);
    return Object.keys(within).length > 0 ? [[name, within]] : [];
  });
  return Object.fromEntries(others);
}

/** An object with other members; objects within both become one, as the server does it with a PUT, but for those that `whole` names. */
function merged(into: Members, members: Members, whole: readonly string[]): Members {
  const all = Object.entries(members).map(([name, value]): [string, unknown] => {
    const before = into[name];
    return [name, isObject(value) && isObject(before) && !whole.includes(name) ? merged(before, value, whole) : value];
  });
  return { ...into, ...Object.fromEntries(all) };
}

/** What is being written: the object as it is now, what is wrong with it, and whether it is on its way. */
export class Draft {
  readonly value: Signal<Members>;
  /** What the server refused, by pointer. */
  readonly refused = signal<ReadonlyMap<string, string>>(NONE);
  /** The sentence above all of it. */
  readonly said = signal("");
  readonly isBusy = signal(false);
  /** The pointers that a field of the form shows. */
  readonly shown = new Set<string>();
  /** The object as it is elsewhere, as far as we know. */
  #initial: Members;
  /** The names of objects that are one value, at any depth: of these a change of a part is a change of all, as for the server. */
  readonly #whole: readonly string[];

  constructor(initial: Members, whole: readonly string[] = []) {
    this.#initial = initial;
    this.#whole = whole;
    this.value = signal(initial);
  }

  /** The value at a pointer such as `/license/number`. */
  at(pointer: string): unknown {
    return read(this.value.value, pointer);
  }

  put(pointer: string, leaf: unknown): void {
    this.value.value = written(this.value.peek(), steps(pointer), leaf);
  }

  /** The members that are other than at first, within others too, for a PUT; what nobody touched is left to others. */
  changes(): Members {
    return differing(this.value.peek(), this.#initial, this.#whole);
  }

  /** The object has become another elsewhere: takes that over, but for the members that somebody is writing here. */
  rebase(now: Members): void {
    const touched = this.changes();
    this.#initial = now;
    this.value.value = merged(now, touched, this.#whole);
  }

  /** What is wrong at a pointer or below it. */
  problemsAt(pointer: string): string[] {
    return [...this.refused.value].filter(([at]) => at === pointer || at.startsWith(`${pointer}/`)).map(([, detail]) => detail);
  }

  /** What is wrong where no field shows it. */
  problemsElsewhere(): string[] {
    const isShown = (at: string) => [...this.shown].some((pointer) => at === pointer || at.startsWith(`${pointer}/`));
    return [...this.refused.value].filter(([at]) => !isShown(at)).map(([, detail]) => detail);
  }

  /** Does the work; what is refused is said. True when it was done. */
  async submit(work: () => Promise<void>): Promise<boolean> {
    this.isBusy.value = true;
    this.refused.value = NONE;
    this.said.value = "";
    const [sent, before] = [this.value.peek(), this.#initial];
    try {
      await work();
      this.#keep(sent, before);
      return true;
    } catch (problem) {
      if (problem instanceof Problem) this.refused.value = problem.fields;
      const isAllShown = this.refused.value.size > 0 && this.problemsElsewhere().length === 0;
      this.said.value = isAllShown ? strings.manage.form.marked : sentence(problem);
      return false;
    } finally {
      this.isBusy.value = false;
    }
  }

  /** What was sent is what is elsewhere; what was typed while it was on its way is not. */
  #keep(sent: Members, before: Members): void {
    if (this.#initial === before) this.#initial = sent;
    else this.value.value = merged(this.#initial, differing(this.value.peek(), sent, this.#whole), this.#whole);
  }
}

const DraftContext = createContext<Draft>(new Draft({}));
/** The draft of the form around. */
export const useFormDraft = (): Draft => useContext(DraftContext);
/** A draft of its own for a component; `version` tells when what `initial` reads has become another, `whole` what the server replaces as one. */
export function useDraft(initial: () => Members, version?: unknown, whole?: readonly string[]): Draft {
  const draft = useMemo(() => new Draft(initial(), whole), []);
  const known = useRef(version);
  useLayoutEffect(() => {
    if (known.current === version) return;
    known.current = version;
    draft.rebase(initial());
  }, [version]);
  return draft;
}

interface FormProps {
  readonly draft: Draft;
  readonly label: string;
  readonly action: string;
  readonly work: () => Promise<void>;
  /** Asked before the work begins: whether it is meant. */
  readonly isMeant?: () => Promise<boolean>;
  readonly onCancel?: () => void;
  readonly more?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** The form: its fields, what the server refused, its buttons. */
export function Form({ draft, label, action, work, isMeant, onCancel, more, children }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => holdWriting(() => Object.keys(draft.changes()).length > 0), [draft]);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (draft.isBusy.value || (isMeant && !(await isMeant())) || (await draft.submit(work))) return;
    // after the fields have taken on what was refused
    requestAnimationFrame(() => {
      form.current?.querySelectorAll<HTMLDetailsElement>("details:has([aria-invalid=true])").forEach((group) => { group.open = true; });
      form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
    });
  };
  return (
    <DraftContext.Provider value={draft}>
      <form ref={form} class="form" aria-label={label} onSubmit={(event) => void submit(event)}>
        {children}
        <Refused draft={draft} />
        <div class="form-actions">
          <button type="submit" class="primary" disabled={draft.isBusy.value}>{action}</button>
          {onCancel && <button type="button" onClick={onCancel}>{strings.manage.form.cancel}</button>}
          <span class="grow" />
          {more}
        </div>
      </form>
    </DraftContext.Provider>
  );
}

/** What the server refused of a draft, where no field of it says so. */
export function Refused({ draft }: { draft: Draft }) {
  const others = draft.said.value ? draft.problemsElsewhere().filter((detail) => detail !== draft.said.value) : [];
  return (
    <div class="refused" role="alert">
      {draft.said.value && <p>{strings.manage.form.refused} {draft.said.value}</p>}
      {others.map((detail) => <p key={detail}>{detail}</p>)}
    </div>
  );
}

export interface FieldProps {
  /** The pointer of the member. */
  readonly of: string;
  readonly label: string;
  readonly hint?: string;
}

interface Bound {
  readonly id: string;
  readonly "aria-invalid"?: true;
  readonly "aria-describedby"?: string;
}

/** A label, what it labels, its hint and what is wrong with it. */
export function Field({ of, label, hint, children }: FieldProps & { readonly children: (bound: Bound) => ComponentChildren }) {
  const draft = useFormDraft();
  const id = useId();
  draft.shown.add(of);
  const wrong = draft.problemsAt(of);
  const described = [hint && `${id}-hint`, wrong.length > 0 && `${id}-wrong`].filter(Boolean).join(" ");
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, ...(wrong.length > 0 ? { "aria-invalid": true as const } : {}), ...(described ? { "aria-describedby": described } : {}) })}
      {hint && <p class="hint" id={`${id}-hint`}>{hint}</p>}
      {wrong.length > 0 && <p class="wrong" id={`${id}-wrong`}>{wrong.join("; ")}</p>}
    </div>
  );
}

interface TextProps extends FieldProps {
  readonly type?: "text" | "email" | "tel" | "date" | "datetime-local" | "color" | "search" | "url";
  readonly required?: boolean;
  readonly rows?: number;
  readonly autocomplete?: string;
}

/** The hint of a field of a time, which says in which zone it is meant. */
export const timeHint = (hint = ""): string => `${hint} ${strings.manage.form.timesAre(zone())}`.trim();

/** Text; empty is null. */
export function TextField({ type = "text", required = false, rows, autocomplete = "off", ...rest }: TextProps) {
  const draft = useFormDraft();
  const field = type === "datetime-local" ? { ...rest, hint: timeHint(rest.hint) } : rest;
  const value = String(draft.at(field.of) ?? "");
  const put = (text: string) => draft.put(field.of, text === "" ? null : text);
  return (
    <Field {...field}>
      {(bound) => {
        if (rows) return <textarea {...bound} rows={rows} required={required} value={value} onInput={(event) => put(event.currentTarget.value)} />;
        if (type === "date" || type === "datetime-local") return <TimeInput {...bound} type={type} required={required} value={value} onText={put} />;
        return <input {...bound} type={type as "text"} required={required} autocomplete={autocomplete} value={value} onInput={(event) => put(event.currentTarget.value)} />;
      }}
    </Field>
  );
}

interface SelectProps extends FieldProps {
  /** Words by value; the value "" is null. */
  readonly options: Readonly<Record<string, string>>;
}

export function SelectField({ options, ...field }: SelectProps) {
  const draft = useFormDraft();
  return (
    <Field {...field}>
      {(bound) => (
        <select {...bound} value={String(draft.at(field.of) ?? "")} onChange={(event) => draft.put(field.of, event.currentTarget.value || null)}>
          {Object.entries(options).map(([value, word]) => <option key={value} value={value}>{word}</option>)}
        </select>
      )}
    </Field>
  );
}

export function CheckField({ of, label }: { readonly of: string; readonly label: string }) {
  const draft = useFormDraft();
  const id = useId();
  draft.shown.add(of);
  const wrong = draft.problemsAt(of);
  const bound = wrong.length > 0 ? { "aria-invalid": true as const, "aria-describedby": `${id}-wrong` } : {};
  return (
    <>
      <label class="check">
        <input {...bound} type="checkbox" checked={draft.at(of) === true} onChange={(event) => draft.put(of, event.currentTarget.checked)} />
        {label}
      </label>
      {wrong.length > 0 && <p class="wrong" id={`${id}-wrong`}>{wrong.join("; ")}</p>}
    </>
  );
}

/** Fields that belong together; folded away unless `open`, or something of them is wrong. */
export function Group({ title, open = false, children }: { title: string; open?: boolean; children: ComponentChildren }) {
  return (
    <details class="group" open={open} onInvalidCapture={(event) => { event.currentTarget.open = true; }}>
      <summary>{title}</summary>
      <div class="fields">{children}</div>
    </details>
  );
}

/** Two fields beside each other. */
export function Row({ children }: { children: ComponentChildren }) {
  return <div class="field-row">{children}</div>;
}
