// Drawing and changing one shape on a map by hand: Terra Draw with our own rules of what the rings mean. Knows no form.

import type { Map as MapLibre } from "maplibre-gl";
import {
  type GeoJSONStoreFeatures, type HexColor, TerraDraw, TerraDrawCircleMode, TerraDrawModeUndoRedo, TerraDrawPolygonMode, TerraDrawSelectMode,
} from "terra-draw";
import { TerraDrawMapLibreGLAdapter } from "terra-draw-maplibre-gl-adapter";

import type { ShapeSpec } from "../../api/schema";
import type { Point } from "../geodesic";
import { type DrawnCircle, drawn, moved, resized } from "./circle";
import { type Ring, type Role, ringsOf, shapeOf } from "./rings";

/** More corners than this are not dragged by hand, and each would be a handle to draw. */
export const MOST_CORNERS = 1000;

/** What the hand does: draws something new, or changes what is there. */
export type Tool = "circle" | "polygon" | "hole" | "select" | "remove";

const MODES: Record<Role, string> = { circle: "circle", outer: "polygon", hole: "hole" };
const ROLES: Readonly<Record<string, Role>> = { circle: "circle", polygon: "outer", hole: "hole" };

type Feature = GeoJSONStoreFeatures;

const ringOf = ({ geometry }: Feature): Point[] => (geometry.type === "Polygon" ? ((geometry.coordinates[0] ?? []) as Point[]) : []);
const isRing = ({ properties }: Feature): boolean => String(properties["mode"]) in ROLES;

export class ShapeDrawing {
  readonly #draw: TerraDraw;
  readonly #tell: (shape: ShapeSpec, isDone: boolean) => void;
  #shape: ShapeSpec = { type: "polygon", vertices: [] };
  /** The circle's ring as it was drawn last, to see how far it was dragged. */
  #ring: Point[] = [];
  /** Whether what changes is done by us, not by hand. */
  #isOurs = false;

  /**
   * Colours are those of the shape and of a hole, `#RRGGBB`. `tell` hears of the shape while it changes, and `isDone` when the hand
   * lets go.
   */
  constructor(map: MapLibre, [color, hole]: readonly [string, string], tell: (shape: ShapeSpec, isDone: boolean) => void) {
    this.#tell = tell;
    this.#draw = new TerraDraw({
      adapter: new TerraDrawMapLibreGLAdapter({ map }), modes: modes(color as HexColor, hole as HexColor, () => this.#shape),
      undoRedo: { modeLevel: new TerraDrawModeUndoRedo() },
    });
    this.#draw.start();
    this.#draw.on("finish", (id, { action }) => this.#finished(String(id), action));
    this.#draw.on("change", (ids, kind, context) => {
      if (this.#isOurs || context?.target === "properties") return;
      if (kind === "delete") queueMicrotask(() => this.#deleted());
      else if (this.#shape.type === "circle") this.#dragging(ids.map(String));
    });
  }

  /** Takes up a tool. */
  use(tool: Tool): void {
    this.#quietly(() => this.#takeUp(tool));
  }

  /** Shows a shape that came from elsewhere: what was typed. Throws where Terra Draw cannot show it. */
  show(shape: ShapeSpec): void {
    this.#quietly(() => this.#put(shape));
  }

  /** Takes back the last corner of what is being drawn, or sets it again; false where nothing is. */
  step(isBack: boolean): boolean {
    if (this.#draw.getMode() === "select") return false;
    return isBack ? this.#draw.canUndo() && this.#draw.undo() : this.#draw.canRedo() && this.#draw.redo();
  }

  end(): void {
    this.#isOurs = true;
    this.#draw.stop();
  }

  #quietly(work: () => void): void {
    this.#isOurs = true;
    try {
      work();
    } finally {
      this.#isOurs = false;
    }
  }

  #takeUp(tool: Tool): void {
    if (tool === "circle" || tool === "polygon") this.#draw.clear();
    // what is removed by a tap is found by the session; the handles show what there is
    const isSelecting = tool === "select" || tool === "remove";
    this.#draw.setMode(isSelecting ? "select" : tool);
    const first = isSelecting ? this.#rings()[0] : undefined;
    if (first?.id !== undefined) this.#draw.selectFeature(first.id);
  }

  #put(shape: ShapeSpec): void {
    this.#shape = shape;
    this.#draw.clear();
    const rings = ringsOf(shape);
    this.#ring = [...(rings[0]?.points ?? [])];
    const features = rings.map(({ role, points }): Feature => ({
      type: "Feature",
      geometry: { type: "Polygon", coordinates: [points.map((point) => [...point])] },
      properties: { mode: MODES[role] },
    }));
    const refused = this.#draw.addFeatures(features).find(({ valid }) => !valid);
    if (refused) throw new Error(refused.reason);
  }

  #rings(): Feature[] {
    return this.#draw.getSnapshot().filter(isRing);
  }

  #finished(id: string, action: string): void {
    const feature = this.#rings().find((one) => String(one.id) === id);
    if (!feature) return;
    if (feature.properties["mode"] === "circle") {
      const circle = this.#circle(ringOf(feature), action);
      this.#took({ type: "circle", ...circle }, true);
    } else {
      this.#took(this.#polygons(), true);
    }
  }

  /** While a circle is drawn or dragged, its numbers are shown. */
  #dragging(ids: readonly string[]): void {
    const feature = this.#rings().find((one) => ids.includes(String(one.id)) && one.properties["mode"] === "circle");
    if (!feature) return;
    const isDrawing = this.#draw.getMode() === "circle";
    const ring = ringOf(feature);
    const action = isDrawing ? "draw" : isSameSize(this.#ring, ring) ? "dragFeature" : "dragCoordinateResize";
    this.#tell({ type: "circle", ...this.#circle(ring, action) }, false);
  }

  #circle(ring: readonly Point[], action: string): DrawnCircle {
    const before = this.#shape;
    if (before.type !== "circle" || action === "draw") return drawn(ring);
    return action === "dragFeature" ? moved(before, this.#ring, ring) : resized(before, ring);
  }

  #polygons(): ShapeSpec {
    return shapeOf(this.#rings().map((one): Ring => ({ role: ROLES[String(one.properties["mode"])] ?? "outer", points: ringOf(one) })));
  }

  /** A ring was deleted by key, or handles were: those go with each tap beside the fence. */
  #deleted(): void {
    if (this.#draw.getMode() !== "select" || this.#shape.type === "circle") return;
    const left = this.#polygons();
    if (JSON.stringify(left) !== JSON.stringify(shapeOf(ringsOf(this.#shape)))) this.#took(left, true);
  }

  #took(shape: ShapeSpec, isDone: boolean): void {
    this.#shape = shape;
    this.#tell(shape, isDone);
  }
}

/** Whether a ring is only somewhere else. On the map a dragged ring keeps its width. */
function isSameSize(before: readonly Point[], after: readonly Point[]): boolean {
  const width = (ring: readonly Point[]) => Math.max(...ring.map(([x]) => x)) - Math.min(...ring.map(([x]) => x));
  return Math.abs(width(before) - width(after)) < 1e-8;
}

/** A circle has a handle at every eighth of its corners only: they all do the same. */
const CORNERS_A_HANDLE = 8;

function modes(color: HexColor, hole: HexColor, shape: () => ShapeSpec) {
  const isCircle = () => shape().type === "circle";
  const width = (pixels: number) => ({ properties }: Feature) => (isCircle() && Number(properties["index"]) % CORNERS_A_HANDLE !== 0 ? 0 : pixels);
  // the map fills a whole polygon itself, with its holes cut out, which Terra Draw cannot
  const isFilledHere = () => isCircle() || ringsOf(shape()).length === 0;
  const paint = (paint: HexColor, opacity: () => number) =>
    ({ fillColor: paint, outlineColor: paint, fillOpacity: opacity, outlineWidth: 3, closingPointColor: paint });
  const rings = { draggable: true, coordinates: { midpoints: { draggable: true }, draggable: true, deletable: true } };
  return [
    new TerraDrawCircleMode({ styles: { fillColor: color, outlineColor: color, fillOpacity: 0.2, outlineWidth: 3 } }),
    new TerraDrawPolygonMode({ styles: paint(color, () => (isFilledHere() ? 0.2 : 0)) }),
    new TerraDrawPolygonMode({ modeName: "hole", styles: paint(hole, () => 0) }),
    new TerraDrawSelectMode({
      flags: {
        circle: { feature: { draggable: true, coordinates: { resizable: "center-fixed" } } },
        polygon: { feature: rings },
        hole: { feature: rings },
      },
      styles: {
        selectedPolygonColor: color, selectedPolygonFillOpacity: () => (isFilledHere() ? 0.25 : 0), selectedPolygonOutlineColor: color, selectedPolygonOutlineWidth: 3,
        selectionPointColor: "#ffffff", selectionPointOutlineColor: color, selectionPointWidth: width(5), selectionPointOutlineWidth: width(2),
        midPointColor: color, midPointOutlineColor: "#ffffff", midPointWidth: 3, midPointOutlineWidth: 1,
      },
    }),
  ];
}
