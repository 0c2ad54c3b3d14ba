// The map as a part of the page: loaded after the page stands, and missing with a reason where it cannot be.

import { effect, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { sentence } from "../api/problem";
import { fences, inside, positions } from "../state/fleet";
import { theme } from "../state/theme";
import { strings } from "../strings";
import type { FleetMap } from "./fleet_map";

export function MapPanel() {
  const container = useRef<HTMLDivElement>(null);
  const state = useSignal<"loading" | "ready" | "missing">("loading");
  const reason = useSignal("");

  useEffect(() => {
    let end = () => {};
    let isGone = false;
    show(container.current as HTMLElement, () => { state.value = "ready"; })
      .then((stop) => {
        if (isGone) stop();
        else end = stop;
      })
      .catch((error: unknown) => {
        reason.value = hasWebgl2() ? strings.map.failed(sentence(error)) : strings.map.noWebgl;
        state.value = "missing";
      });
    return () => {
      isGone = true;
      end();
    };
  }, []);

  return (
    <section class="map-panel" aria-label={strings.live.map} data-map={state}>
      <div ref={container} class="map" hidden={state.value === "missing"} />
      {state.value === "loading" && <p class="map-note">{strings.map.loading}</p>}
      {state.value === "missing" && <p class="map-note" role="status">{reason}</p>}
    </section>
  );
}

function hasWebgl2(): boolean {
  return document.createElement("canvas").getContext("webgl2") !== null;
}

/** Shows the fleet's map in an element, and keeps it up to date until the returned function is called. */
async function show(container: HTMLElement, whenReady: () => void): Promise<() => void> {
  const { FleetMap } = await import("./fleet_map");
  const map: FleetMap = new FleetMap(container, whenReady);
  const ends = [
    effect(() => {
      inside.revision.value;
      const occupied = new Set(inside.fences());
      map.setFences(fences.value.values(), (id) => occupied.has(id));
    }),
    effect(() => {
      positions.revision.value;
      map.setVehicles(positions);
    }),
  ];
  let shown = theme.peek();
  ends.push(effect(() => {
    if (theme.value === shown) return;
    shown = theme.value;
    map.restyle();
  }));
  return () => {
    ends.forEach((stop) => stop());
    map.remove();
  };
}
