// A list of master data: searched here, since all of it is here; its first column leads to one item.

import { type Signal, useComputed, useSignal, useSignalEffect } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useMemo, useRef } from "preact/hooks";

import { reached } from "../api/reach";
import type { ChangedResource } from "../api/schema";
import { insist } from "../state/needed";
import { notice } from "../state/notices";
import { edits, scope } from "../state/fleet";
import { inAddress, route } from "../state/route";
import { strings } from "../strings";
import { Empty } from "./Empty";
import { Newest } from "./newest";

/** As many rows as anybody reads; a search finds the others. */
const MOST_ROWS = 200;

interface List<T> {
  readonly items: Signal<readonly T[] | null>;
  /** Reads it again: after something was made or changed here. What goes wrong is told and not thrown: what was done is done. */
  readonly reload: () => Promise<void>;
}

/**
 * A list that belongs to the organization shown: loaded with it, again when asked, when anybody changed one of its things and when the
 * server is found again; null until it is there. Things of which the feed tells nothing have no `resource`, and are looked at again
 * `everyMs`, as long as anybody sees the page.
 */
export function useList<T>(resource: ChangedResource | null, load: () => Promise<readonly T[]>, everyMs = 0): List<T> {
  const items = useSignal<readonly T[] | null>(null);
  const newest = useMemo(() => new Newest(), []);
  const read = async () => {
    const counts = newest.ask();
    const found = await load();
    if (counts()) items.value = found;
  };
  const edited = useComputed(() => (resource ? edits.value[resource] : 0));
  useSignalEffect(() => {
    scope.value;
    newest.forget();
    items.value = null;
  });
  useSignalEffect(() => {
    scope.value;
    edited.value;
    reached.value;
    return insist(read);
  });
  useEvery(everyMs, read);
  return { items, reload: () => read().catch(notice) };
}

/**
 * Does something again and again as long as anybody sees the page; 0 never. What goes wrong then is tried the next time. It does not wait
 * for the time before: what takes in answers asks a `Newest` which of them count.
 */
export function useEvery(milliseconds: number, work: () => Promise<void>): void {
  const newest = useRef(work);
  newest.current = work;
  useEffect(() => {
    if (milliseconds === 0) return undefined;
    const again = setInterval(() => { if (!document.hidden) newest.current().catch(() => {}); }, milliseconds);
    return () => clearInterval(again);
  }, [milliseconds]);
}

export interface Column<T> {
  readonly title: string;
  readonly cell: (item: T) => ComponentChildren;
}

interface ListingProps<T> {
  readonly title: string;
  readonly note: (number: number) => string;
  readonly items: readonly T[] | null;
  readonly id: (item: T) => string;
  /** What a search looks in. */
  readonly text: (item: T) => string;
  readonly address: (id: string) => string;
  readonly current: string | undefined;
  /** The first names the item. */
  readonly columns: readonly [Column<T>, ...Column<T>[]];
  readonly empty: readonly [what: string, next: string];
  /** Buttons beside the title. */
  readonly actions?: ComponentChildren;
  /** What stands above the rows. */
  readonly before?: ComponentChildren;
}

export function Listing<T>({ title, note, items, actions, before, empty, text, ...rest }: ListingProps<T>) {
  const words = strings.manage.form;
  const id = useId();
  const search = useSignal("");
  useEffect(() => inAddress(route.peek().parts[0] ?? "", "q", search, ""), []);
  const wanted = search.value.trim().toLowerCase();
  const found = (items ?? []).filter((item) => text(item).toLowerCase().includes(wanted));
  return (
    <section class="listing" aria-labelledby={id}>
      <header class="listing-head">
        <h2 id={id}>{title}</h2>
        {items && items.length > 0 && <span class="quiet">{note(items.length)}</span>}
        <span class="grow" />
        {items && items.length > 0 && (
          <input type="search" class="search" placeholder={words.search} aria-label={`${words.search}: ${title}`} value={search} onInput={(event) => { search.value = event.currentTarget.value; }} />
        )}
        {actions}
      </header>
      <div class="listing-body" tabIndex={0} role="group" aria-labelledby={id}>
        {before}
        {items === null && <p class="empty quiet">{words.loading}</p>}
        {items?.length === 0 && <Empty what={empty[0]} next={empty[1]} />}
        {items && items.length > 0 && found.length === 0 && <Empty what={words.noMatch} next={words.noMatchNext} />}
        {found.length > 0 && <Rows {...rest} items={found.slice(0, MOST_ROWS)} />}
        {found.length > MOST_ROWS && <p class="empty quiet">{words.more(found.length - MOST_ROWS)}</p>}
      </div>
    </section>
  );
}

function Rows<T>({ items, id, address, current, columns }: Pick<ListingProps<T>, "id" | "address" | "current" | "columns"> & { items: readonly T[] }) {
  const [first, ...others] = columns;
  return (
    <table>
      <thead><tr>{columns.map(({ title }) => <th key={title} scope="col">{title}</th>)}</tr></thead>
      <tbody>
        {items.map((item) => (
          <tr key={id(item)} aria-current={id(item) === current ? "true" : undefined}>
            <th scope="row"><a href={address(id(item))}>{first.cell(item)}</a></th>
            {others.map(({ title, cell }) => <td key={title}>{cell(item)}</td>)}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
