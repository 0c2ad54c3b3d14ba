// Keeps a form's shape and its drawing on the map the same while a fence is open, and shows the other fences around it.

import { type ReadonlySignal, type Signal, computed, effect, untracked } from "@preact/signals";

import type { ShapeSpec } from "../../api/schema";
import type { Fence } from "../../api/types";
import { conventions } from "../../conventions";
import { camera } from "../../state/camera";
import { fences, inside, positions, vehicleName } from "../../state/fleet";
import { standings } from "../../state/standing";
import { onTheme } from "../../state/theme";
import { strings } from "../../strings";
import { FleetMap } from "../fleet_map";
import { Look } from "../look";
import { geometryOf } from "../shapes";
import { token } from "../tokens";
import type { ShapeHistory } from "./history";
import { corners, ringsOf, withoutCorner } from "./rings";
import { MOST_CORNERS, ShapeDrawing, type Tool } from "./shape_drawing";
import { recentStops } from "./stops";

/** A finger is no finer. */
const REACH_PIXELS = 22;
const look = new Look("fences");
const NOTHING: GeoJSON.FeatureCollection = { type: "FeatureCollection", features: [] };

/** What a polygon encloses, without its holes. */
function insideOf(shape: ShapeSpec | null): GeoJSON.FeatureCollection | GeoJSON.Feature {
  if (!shape || shape.type === "circle" || ringsOf(shape).length === 0) return NOTHING;
  return { type: "Feature", properties: {}, geometry: geometryOf(shape) };
}

/** What the map and the view have in common. */
export interface Desk {
  /** The fence that is open, "new" for one that is not there yet. */
  readonly openId: ReadonlySignal<string | null>;
  /** Its shape while it may be changed; null when nothing may. */
  readonly shape: ReadonlySignal<ShapeSpec | null>;
  readonly tool: Signal<Tool>;
  /** Why the shape cannot be changed by hand; empty when it can. */
  readonly limit: Signal<string>;
  /** Takes the shape as it was drawn. */
  readonly take: (shape: ShapeSpec) => void;
  /** Opens a fence that was clicked. */
  readonly pick: (id: string) => void;
  readonly history: ShapeHistory;
  /** Takes back the last corner of what is being drawn, or sets it again; false where nothing is. The map sets it. */
  step: (isBack: boolean) => boolean;
}

export class DrawSession {
  readonly #desk: Desk;
  readonly #map: FleetMap;
  readonly #stops: (() => void)[] = [];
  #drawing: ShapeDrawing | null = null;
  /** What the drawing shows: a shape that came from it need not be shown again. */
  #shown: ShapeSpec | null = null;
  #tool: Tool = "select";
  #lookedAt: string | undefined;
  /** Whether a link says what to show, rather than the fence that it opens. */
  #isSaid = look.isSaid;

  /** Throws where the browser has no WebGL2. */
  constructor(container: HTMLElement, desk: Desk, whenReady: () => void) {
    this.#desk = desk;
    this.#map = new FleetMap(container, () => {
      this.#stops.push(effect(() => this.#follow(desk.shape.value, desk.tool.value)));
      map.on("style.load", () => this.#beginAnew());
      whenReady();
    });
    this.#map.fitsFences = true;
    const { map } = this.#map;
    const last = camera.peek();
    if (last) this.#map.lookAt(last);
    desk.step = (isBack) => this.#drawing?.step(isBack) ?? false;
    // the keyboard goes on where the hand is: undoing must not reach a field that was written in before
    map.on("mousedown", () => map.getCanvas().focus({ preventScroll: true }));
    map.on("click", ({ point }) => {
      if (desk.tool.peek() === "remove") this.#removeCorner(point);
      if (desk.openId.peek() !== null) return;
      const [hit] = map.queryRenderedFeatures(point, { layers: ["fences-fill"] });
      if (hit) desk.pick(String(hit.properties["id"]));
    });
    this.#stops.push(
      look.keep(this.#map),
      effect(() => {
        inside.revision.value;
        const occupied = new Set(inside.fences());
        const isOpen = desk.shape.value === null ? null : desk.openId.value;
        this.#map.setFences([...fences.value.values()].filter(({ id }) => id !== isOpen), (id) => occupied.has(id));
      }),
      effect(() => {
        positions.revision.value;
        this.#map.setVehicles(positions, standings.value, vehicleName);
      }),
      effect(() => this.#map.fill("drawn", insideOf(desk.shape.value))),
      this.#followStops(),
      effect(() => this.#map.setUnits(conventions.value.isImperial)),
      effect(() => this.#look(fences.value.get(desk.openId.value ?? ""))),
      onTheme(() => {
        this.#end();
        this.#map.restyle();
      }),
    );
  }

  #removeCorner({ x, y }: { readonly x: number; readonly y: number }): void {
    const shape = this.#desk.shape.peek();
    if (!shape) return;
    const { map } = this.#map;
    const left = withoutCorner(shape, (point) => {
      const at = map.project(point);
      return Math.hypot(at.x - x, at.y - y);
    }, REACH_PIXELS);
    if (left) this.#desk.take(left);
    // beside the fence, the tap took its handles away
    else this.#use("remove");
  }

  end(): void {
    this.#stops.forEach((stop) => stop());
    this.#drawing?.end();
    this.#map.remove();
  }

  /** Where vehicles stopped is shown while something may be drawn; asked for once a fence that is opened. */
  #followStops(): () => void {
    const drawn = computed(() => (this.#desk.shape.value === null ? null : this.#desk.openId.value));
    return effect(() => {
      const id = drawn.value;
      this.#map.fill("stops", NOTHING);
      if (id === null) return;
      // a map without them is good to draw on
      untracked(recentStops).then((stops) => { if (drawn.peek() === id) this.#map.fill("stops", stops); }, () => {});
    });
  }

  /** The camera goes to a fence once it is opened; a change of it leaves the camera where it is. */
  #look(fence: Fence | undefined): void {
    if (fence?.id === this.#lookedAt) return;
    this.#lookedAt = fence?.id;
    if (fence && this.#isSaid) {
      this.#isSaid = false;
      return;
    }
    const [west, south, east, north] = fence?.bbox ?? [];
    if (west === undefined || south === undefined || east === undefined || north === undefined) return;
    const bounds: [[number, number], [number, number]] = [[west, south], [east < west ? east + 360 : east, north]];
    // what opens beside the map makes it narrower first
    requestAnimationFrame(() => this.#map.map.resize().fitBounds(bounds, { padding: 72, maxZoom: 16, animate: false }));
  }

  /** A new style has taken the drawing's layers away. */
  #beginAnew(): void {
    try {
      this.#end();
    } catch {
      // it stopped listening, and then found its layers gone
      this.#drawing = null;
      this.#shown = null;
    }
    untracked(() => this.#follow(this.#desk.shape.value, this.#desk.tool.value));
  }

  #follow(shape: ShapeSpec | null, tool: Tool): void {
    untracked(() => {
      if (shape === null) this.#end();
      else if (!this.#drawing) this.#begin(shape, tool);
      else if (shape !== this.#shown) this.#showTyped(shape, tool);
      // a tool in hand goes on: taking it up again would begin anew
      else if (tool !== this.#tool) this.#use(tool);
    });
  }

  #begin(shape: ShapeSpec, tool: Tool): void {
    this.#drawing = new ShapeDrawing(this.#map.map, [token("--focus"), token("--bad")], (drawn, isDone) => this.#took(drawn, isDone));
    if (this.#desk.openId.peek() === "new") this.#showTyped(shape, tool);
    else this.#show(shape, tool);
  }

  /** A whole shape that was typed, pasted or undone is there to be changed, not to be drawn anew; and to be seen. */
  #showTyped(shape: ShapeSpec, tool: Tool): void {
    const [ring] = ringsOf(shape);
    if (!ring) {
      this.#show(shape, tool);
      return;
    }
    if (tool === "circle" || tool === "polygon") this.#desk.tool.value = "select";
    this.#show(shape, this.#desk.tool.peek());
    this.#map.showLine(ring.points);
  }

  #end(): void {
    this.#drawing?.end();
    this.#drawing = null;
    this.#shown = null;
  }

  #show(shape: ShapeSpec, tool: Tool): void {
    this.#shown = shape;
    const number = corners(shape);
    this.#desk.limit.value = "";
    try {
      if (number > MOST_CORNERS) this.#desk.limit.value = strings.manage.draw.tooMany(number);
      else this.#drawing?.show(shape);
    } catch {
      this.#desk.limit.value = strings.manage.draw.antimeridian;
    }
    this.#use(this.#desk.limit.value ? "select" : tool);
  }

  #use(tool: Tool): void {
    this.#desk.history.letGo();
    this.#tool = tool;
    this.#drawing?.use(tool);
  }

  #took(shape: ShapeSpec, isDone: boolean): void {
    this.#shown = shape;
    this.#desk.history.hold();
    this.#desk.take(shape);
    if (!isDone) return;
    this.#desk.history.letGo();
    // after Terra Draw is through with what it tells of
    queueMicrotask(() => {
      const tool = shape.type === "polygon" && shape.vertices.length === 0 ? "polygon" : "select";
      this.#desk.tool.value = tool;
      // a circle is shown as the server measures it, not as it was drawn
      if (shape.type === "circle") this.#show(shape, tool);
    });
  }
}
