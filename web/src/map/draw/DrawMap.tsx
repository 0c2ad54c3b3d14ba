// The map of fences, on which one of them is drawn and changed.

import { loaded } from "../../state/loading";
import { strings } from "../../strings";
import { type Begin, MapFrame } from "../MapFrame";
import type { Desk } from "./session";

const words = strings.manage.draw;

export function DrawMap({ desk }: { desk: Desk }) {
  const load = async (): Promise<Begin> => {
    const { DrawSession } = await loaded(() => import("./session"));
    return (element, whenReady) => {
      const session = new DrawSession(element, desk, whenReady);
      return () => session.end();
    };
  };
  return <MapFrame label={words.map} load={load}>{(isReady) => isReady && <p class="draw-hint" role="status">{hint(desk)}</p>}</MapFrame>;
}

function hint({ limit, shape, tool }: Desk): string {
  if (!shape.value || limit.value) return limit.value;
  if (tool.value !== "select") return words.hints[tool.value];
  return shape.value.type === "circle" ? words.hints.circleSelected : words.hints.polygonSelected;
}
