// Where everybody has just been: a thin line behind each vehicle that fades. Where there are no streets on the map, these
// draw them.

import { mercatorX, mercatorY } from "./mercator";
import { RowsLayer, type Uniforms } from "./rows_layer";
import type { Rgb } from "./webgl";
import type { Drawn } from "./vehicle_layer";

/** Pieces that are kept, the newest ones. */
const PIECES = 32_768;
/** A piece has two ends of five numbers: place as two floats each, and when. */
const FLOATS_PER_PIECE = 10;
const FADED_AFTER_SECONDS = 900;
/** A longer way between two fixes (share of the world's width, about 4 km at the equator) was not driven straight. */
const LEAP = 1e-4;
/** More vehicles would use up the pieces before they can be told from each other. */
export const MOST_VEHICLES = 2000;

const VERTEX = `#version 300 es
precision highp float;
uniform vec2 center_high, center_low, viewport;
uniform float world, now;
in vec2 high, low;
in float drawn_at;
out float strength;
void main() {
  vec2 from_center = (high - center_high) + (low - center_low);
  from_center.x -= floor(from_center.x + 0.5);
  strength = clamp(1.0 - (now - drawn_at) / ${FADED_AFTER_SECONDS.toFixed(1)}, 0.0, 1.0);
  gl_Position = vec4(from_center * world * 2.0 / viewport * vec2(1.0, -1.0), 0.0, 1.0);
}`;

const FRAGMENT = `#version 300 es
precision highp float;
uniform vec3 ink;
in float strength;
out vec4 color;
void main() {
  color = vec4(ink, 1.0) * strength * 0.55;
}`;

/** The layer; keeps its lines when the map's style is changed. */
export class WakeLayer extends RowsLayer {
  readonly #began = performance.now();
  readonly #data = new Float32Array(PIECES * FLOATS_PER_PIECE);
  readonly #last = new Map<string, readonly [x: number, y: number]>();
  #count = 0;
  readonly #ink: () => Rgb;

  constructor(ink: () => Rgb) {
    super("wakes", { vertex: VERTEX, fragment: FRAGMENT, columns: [["high", 2], ["low", 2], ["drawn_at", 1]], divisor: 0 });
    this.#ink = ink;
  }

  /** Draws on from where each vehicle was. */
  set(ids: readonly string[], vehicles: Drawn): void {
    if (vehicles.count > MOST_VEHICLES) return;
    ids.forEach((id, row) => {
      const x = mercatorX(vehicles.longitudes[row] ?? 0);
      const y = mercatorY(vehicles.latitudes[row] ?? 0);
      const before = this.#last.get(id);
      if (before && before[0] === x && before[1] === y) return;
      if (before && Math.hypot(x - before[0], y - before[1]) < LEAP) this.#add(before[0], before[1], x, y);
      this.#last.set(id, [x, y]);
    });
  }

  /** Forgets every line. */
  clear(): void {
    this.#last.clear();
    this.#count = 0;
    this.#data.fill(0);
    this.changed();
  }

  protected rows(): Float32Array {
    return this.#data.subarray(0, this.#pieces * FLOATS_PER_PIECE);
  }

  protected paint(gl: WebGL2RenderingContext, at: Uniforms): void {
    gl.uniform1f(at("now"), this.#seconds());
    gl.uniform3fv(at("ink"), this.#ink());
    gl.drawArrays(gl.LINES, 0, this.#pieces * 2);
  }

  get #pieces(): number {
    return Math.min(this.#count, PIECES);
  }

  #seconds(): number {
    return (performance.now() - this.#began) / 1000;
  }

  #add(fromX: number, fromY: number, toX: number, toY: number): void {
    let at = (this.#count % PIECES) * FLOATS_PER_PIECE;
    for (const [x, y] of [[fromX, fromY], [toX, toY]] as const) {
      const [highX, highY] = [Math.fround(x), Math.fround(y)];
      this.#data[at++] = highX;
      this.#data[at++] = highY;
      this.#data[at++] = x - highX;
      this.#data[at++] = y - highY;
      this.#data[at++] = this.#seconds();
    }
    this.#count += 1;
    this.changed();
  }
}
