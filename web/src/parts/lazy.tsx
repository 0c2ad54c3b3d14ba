// A part of the page that is loaded when it is shown first.

import { signal } from "@preact/signals";
import type { ComponentType, FunctionComponent } from "preact";
import { useEffect } from "preact/hooks";

import { notice } from "../state/notices";

/** Nothing until it is there. */
export function lazy<P extends object>(load: () => Promise<ComponentType<P>>): FunctionComponent<P> {
  const found = signal<ComponentType<P> | null>(null);
  return (props: P) => {
    useEffect(() => {
      if (!found.peek()) load().then((component) => { found.value = component; }, notice);
    }, []);
    const Found = found.value;
    return Found && <Found {...props} />;
  };
}
