// The place of a map on the page: its program is loaded after the page stands, and where there can be no map, it says why.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { sentence } from "../api/problem";
import { strings } from "../strings";

/** Makes a map in an element, and returns what ends it. `whenReady` is to be called when it is drawn. */
export type Begin = (element: HTMLElement, whenReady: () => void) => () => void;

interface Props {
  readonly label: string;
  /** Loads the map's program, which is most of the page's bytes. */
  readonly load: () => Promise<Begin>;
  /** What lies over the map, by whether it is drawn. */
  readonly children?: (isReady: boolean) => ComponentChildren;
}

export function MapFrame({ label, load, children }: Props) {
  const container = useRef<HTMLDivElement>(null);
  const state = useSignal<"loading" | "ready" | "missing">("loading");
  const reason = useSignal("");

  useEffect(() => {
    let end = () => {};
    let isGone = false;
    load()
      .then((begin) => {
        if (!isGone) end = begin(container.current as HTMLDivElement, () => { state.value = "ready"; });
      })
      .catch((error: unknown) => {
        reason.value = whyMissing(error);
        state.value = "missing";
      });
    return () => {
      isGone = true;
      end();
    };
  }, []);

  return (
    <section class="map-panel" aria-label={label} data-map={state}>
      <div ref={container} class="map" hidden={state.value === "missing"} />
      {state.value === "loading" && <p class="map-note">{strings.map.loading}</p>}
      {state.value === "missing" && <p class="map-note" role="status">{reason}</p>}
      {children?.(state.value === "ready")}
    </section>
  );
}

function whyMissing(error: unknown): string {
  const hasWebgl2 = document.createElement("canvas").getContext("webgl2") !== null;
  return hasWebgl2 ? strings.map.failed(sentence(error)) : strings.map.noWebgl;
}
