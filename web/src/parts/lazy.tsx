// A part of the page that is loaded when it is shown first.

import { signal } from "@preact/signals";
import type { ComponentType, FunctionComponent } from "preact";
import { useEffect } from "preact/hooks";

import { loaded } from "../state/loading";
import { notice } from "../state/notices";

/** Nothing until it is there. */
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): FunctionComponent<P> {
  const found = signal<ComponentType<P> | null>(null);
  return (props: P) => {
    useEffect(() => {
      if (!found.peek()) loaded(load).then((component) => { found.value = component; }, notice);
    }, []);
    const Found = found.value;
    return Found && <Found {...props} />;
  };
}
