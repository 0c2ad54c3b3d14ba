// A list and, beside it, what is open of it.

import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";

import { strings } from "../strings";

export function Desk({ list, children }: { list: ComponentChildren; children: ComponentChildren }) {
  return <div class="desk">{list}{children}</div>;
}

interface DetailProps {
  readonly title: string;
  /** The address of the list alone. */
  readonly back: string;
  readonly children: ComponentChildren;
}

/** What is open: takes the focus when it opens, so that the keyboard goes on there. */
export function Detail({ title, back, children }: DetailProps) {
  const id = useId();
  const heading = useRef<HTMLHeadingElement>(null);
  // with the drawing: later it would take the focus from whoever went on meanwhile
  useLayoutEffect(() => heading.current?.focus(), []);
  return (
    <section class="detail" aria-labelledby={id}>
      <header class="detail-head">
        <h2 id={id} ref={heading} tabIndex={-1}>{title}</h2>
        <span class="grow" />
        <a class="button" href={back} aria-label={strings.manage.form.close}>✕</a>
      </header>
      <div class="detail-body">{children}</div>
    </section>
  );
}

/** Facts of something, for who may not change it; those without a value are left out. */
export function Facts({ facts }: { facts: readonly (readonly [label: string, value: ComponentChildren])[] }) {
  return (
    <dl class="entries">
      {facts.filter(([, value]) => value !== null && value !== undefined && value !== "").map(([label, value]) => <div key={label}><dt>{label}</dt><dd>{value}</dd></div>)}
    </dl>
  );
}
