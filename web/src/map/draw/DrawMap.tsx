// The map of fences, on which one of them is drawn and changed: loaded after the page stands, and missing with a reason.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { strings } from "../../strings";
import { whyMissing } from "../MapPanel";
import type { Desk, DrawSession } from "./session";

const words = strings.manage.draw;

export function DrawMap({ desk }: { desk: Desk }) {
  const container = useRef<HTMLDivElement>(null);
  const state = useSignal<"loading" | "ready" | "missing">("loading");
  const reason = useSignal("");

  useEffect(() => {
    let session: DrawSession | null = null;
    let isGone = false;
    import("./session")
      .then(({ DrawSession: Session }) => {
        if (!isGone) session = new Session(container.current as HTMLElement, desk, () => { state.value = "ready"; });
      })
      .catch((error: unknown) => {
        reason.value = whyMissing(error);
        state.value = "missing";
      });
    return () => {
      isGone = true;
      session?.end();
    };
  }, []);

  return (
    <section class="map-panel" aria-label={words.map} data-map={state}>
      <div ref={container} class="map" hidden={state.value === "missing"} />
      {state.value === "loading" && <p class="map-note">{strings.map.loading}</p>}
      {state.value === "missing" && <p class="map-note" role="status">{reason}</p>}
      {state.value === "ready" && <p class="draw-hint" role="status">{hint(desk)}</p>}
    </section>
  );
}

function hint({ limit, shape, tool }: Desk): string {
  if (!shape.value || limit.value) return limit.value;
  if (tool.value !== "select") return words.hints[tool.value];
  return shape.value.type === "circle" ? words.hints.circleSelected : words.hints.polygonSelected;
}
