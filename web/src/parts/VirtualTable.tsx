// A table of any length of which only the rows in view are drawn.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

/** As the style sheets have it: a finger needs more. */
const ROW_PIXELS = matchMedia("(pointer: coarse)").matches ? 44 : 34;
/** Rows drawn above and below those in view, so that the keyboard finds the next one. */
const SPARE = 8;

interface Props {
  readonly label: string;
  readonly head: ComponentChildren;
  readonly ids: readonly string[];
  /** Draws one row; `index` is its place in the table, from 0. */
  readonly row: (id: string, index: number) => ComponentChildren;
}

export function VirtualTable({ label, head, ids, row }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const first = useSignal(0);
  const count = useSignal(40);
  const scroll = () => { first.value = Math.floor((scroller.current?.scrollTop ?? 0) / ROW_PIXELS); };
  useEffect(() => {
    const element = scroller.current as HTMLDivElement;
    const watch = new ResizeObserver(() => { count.value = Math.ceil(element.clientHeight / ROW_PIXELS); });
    watch.observe(element);
    return () => watch.disconnect();
  }, []);

  const from = Math.max(0, Math.min(first.value, ids.length - count.value) - SPARE);
  const to = Math.min(ids.length, from + count.value + 2 * SPARE);
  return (
    <div ref={scroller} class="virtual" onScroll={scroll} onKeyDown={walk} tabIndex={0} role="group" aria-label={label}>
      <table aria-rowcount={ids.length + 1}>
        <thead>{head}</thead>
        <tbody>
          <Space rows={from} />
          {ids.slice(from, to).map((id, index) => row(id, from + index))}
          <Space rows={ids.length - to} />
        </tbody>
      </table>
    </div>
  );
}

function Space({ rows }: { rows: number }) {
  return <tr aria-hidden="true" class="virtual-space" style={{ height: `${rows * ROW_PIXELS}px` }} />;
}

/** Up and down go from one row's link to the next. */
function walk(event: KeyboardEvent): void {
  const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (step === 0 || !(event.target instanceof HTMLAnchorElement)) return;
  const links = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLAnchorElement>("tbody a")];
  const next = links[links.indexOf(event.target) + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
}
