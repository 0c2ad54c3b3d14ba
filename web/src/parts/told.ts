// A list of master data that the feed tells of: read whole as it is opened and after a gap. What is changed of it comes one by one.

import { type ReadonlySignal, useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useRef } from "preact/hooks";

import { reached } from "../api/reach";
import type { ChangedResource } from "../api/schema";
import { type Changed, followChanges, gaps, put, scope } from "../state/fleet";
import { insist } from "../state/needed";
import { notice } from "../state/notices";

interface Told<T> {
  readonly resource: ChangedResource;
  readonly load: () => Promise<readonly T[]>;
  readonly find: (id: string) => Promise<T>;
  readonly order: (one: T, other: T) => number;
}

interface ToldList<T> {
  /** In their order; null until they are there. */
  readonly items: ReadonlySignal<readonly T[] | null>;
  /** Reads one again: after it was made or changed here. What goes wrong is told and not thrown: what was done is done. */
  readonly reload: (id: string) => Promise<void>;
  /** Takes one off: after it was deleted here. */
  readonly remove: (id: string) => void;
}

/** A list that belongs to the organization shown, as it is now. */
export function useToldList<T extends { readonly id: string }>({ resource, load, find, order }: Told<T>): ToldList<T> {
  const held = useSignal<ReadonlyMap<string, T> | null>(null);
  // what is told while all are read may be newer
  const meanwhile = useRef<Changed[] | null>(null);
  const take = (changes: readonly Changed[]) => {
    meanwhile.current?.push(...changes);
    if (held.peek()) held.value = put(held.peek() as ReadonlyMap<string, T>, changes);
  };
  useSignalEffect(() => {
    scope.value;
    held.value = null;
  });
  useSignalEffect(() => {
    scope.value;
    reached.value;
    gaps.value;
    const told: Changed[] = [];
    meanwhile.current = told;
    const end = followChanges((taken) => take(taken.filter((change) => change.resource === resource)));
    const read = async () => {
      const found = await load();
      // another reading has begun
      if (meanwhile.current !== told) return;
      meanwhile.current = null;
      held.value = put(new Map(found.map((one) => [one.id, one])), told);
    };
    const stop = insist(read);
    return () => {
      stop();
      end();
    };
  });
  const reload = async (id: string) => {
    const whose = scope.peek();
    await find(id).then((data) => { if (scope.peek() === whose) take([{ resourceId: id, data }]); }, notice);
  };
  const remove = (id: string) => take([{ resourceId: id }]);
  const items = useComputed(() => held.value && [...held.value.values()].sort(order));
  return { items, reload, remove };
}
