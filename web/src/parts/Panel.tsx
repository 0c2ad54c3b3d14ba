// A titled part of a view, a landmark with its own scroll.

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

export function Panel({ title, note, children }: { title: string; note?: string; children: ComponentChildren }) {
  const id = useId();
  return (
    <section class="panel" aria-labelledby={id}>
      <header class="panel-head">
        <h2 id={id}>{title}</h2>
        {note && <span class="quiet">{note}</span>}
      </header>
      {/* a region that scrolls must be reachable by keyboard */}
      <div class="panel-body" tabIndex={0} role="group" aria-labelledby={id}>{children}</div>
    </section>
  );
}
