// Vehicles on the map, drawn from columns of numbers by the graphics processor: an arrow for who moves, a square for who
// stands, a disc for who is only seen, a cross for who is silent. Ten thousand cost little more than ten.

import type { Map as MapLibre } from "maplibre-gl";

import { mercatorX, mercatorY } from "./mercator";
import { RowsLayer, type Uniforms } from "./rows_layer";
import type { Rgb } from "./webgl";

/** Vehicles to draw; rows 0 to `count` - 1. */
export interface Drawn {
  readonly count: number;
  readonly longitudes: Float64Array;
  readonly latitudes: Float64Array;
  readonly headingsDegrees: Float32Array;
}

/** Two floats for a coordinate: one alone is off by metres. Then heading and standing. */
const FLOATS_PER_VEHICLE = 6;
/** Around the chosen one. CSS pixels. */
const RING_PIXELS = 18;
/** Added to the standing of the chosen one. */
const CHOSEN = 8;
/** The place of "moving" in STANDINGS (state/standing.ts). */
const MOVING = 2;
/** Moving, nobody knows which way. */
const MOVING_SOMEWHERE = 5;

const VERTEX = `#version 300 es
precision highp float;
const float RING = ${RING_PIXELS.toFixed(1)};
uniform vec2 center_high, center_low, viewport;
uniform float world, radius;
in vec2 high, low;
in float heading, standing;
out vec2 place;
flat out int kind, chosen;
void main() {
  vec2 corner = vec2(float(gl_VertexID & 1), float(gl_VertexID >> 1)) * 2.0 - 1.0;
  vec2 from_center = (high - center_high) + (low - center_low);
  from_center.x -= floor(from_center.x + 0.5);
  float angle = radians(heading);
  place = mat2(cos(angle), sin(angle), -sin(angle), cos(angle)) * corner;
  kind = int(standing) & 7;
  chosen = int(standing) >> 3;
  float size = chosen == 1 ? RING + 2.0 : radius + 2.0;
  vec2 pixels = from_center * world + vec2(corner.x, -corner.y) * size;
  gl_Position = vec4(pixels * 2.0 / viewport * vec2(1.0, -1.0), 0.0, 1.0);
  place *= size / radius;
}`;

const FRAGMENT = `#version 300 es
precision highp float;
const float RING = ${RING_PIXELS.toFixed(1)};
uniform vec3 colors[6];
uniform vec3 rim, ring;
uniform float radius, ratio;
in vec2 place;
flat in int kind, chosen;
out vec4 color;
const vec2 ARROW[4] = vec2[4](vec2(0.0, 0.95), vec2(0.72, -0.75), vec2(0.0, -0.42), vec2(-0.72, -0.75));
float arrow(vec2 p) {
  float d = dot(p - ARROW[0], p - ARROW[0]);
  float s = 1.0;
  for (int i = 0, j = 3; i < 4; j = i, i++) {
    vec2 e = ARROW[j] - ARROW[i];
    vec2 w = p - ARROW[i];
    vec2 b = w - e * clamp(dot(w, e) / dot(e, e), 0.0, 1.0);
    d = min(d, dot(b, b));
    bvec3 c = bvec3(p.y >= ARROW[i].y, p.y < ARROW[j].y, e.x * w.y > e.y * w.x);
    if (all(c) || all(not(c))) s = -s;
  }
  return s * sqrt(d);
}
float box(vec2 p, vec2 size) {
  vec2 q = abs(p) - size;
  return length(max(q, 0.0)) + min(max(q.x, q.y), 0.0);
}
float shape() {
  if (kind == 2) return arrow(place);
  if (kind == 1) return box(place, vec2(0.42)) - 0.1;
  if (kind == 0) return length(place) - 0.52;
  vec2 turned = vec2(place.x + place.y, place.y - place.x) * 0.7071;
  if (kind == 5) return box(turned, vec2(0.4)) - 0.1;
  return min(box(turned, vec2(0.62, 0.12)), box(turned, vec2(0.12, 0.62))) - 0.04;
}
void main() {
  float pixel = 1.0 / (radius * ratio);
  float distance = shape();
  float rim_width = 1.75 / radius;
  float inside = 1.0 - smoothstep(-pixel, pixel, distance);
  float whole = 1.0 - smoothstep(rim_width - pixel, rim_width + pixel, distance);
  color = vec4(mix(rim, colors[kind], inside), 1.0) * whole;
  if (chosen == 0) return;
  float from_ring = length(place) * radius - RING;
  float halo = max(0.16 * (1.0 - step(0.0, from_ring)), 1.0 - smoothstep(0.5, 1.5, abs(from_ring)));
  color += vec4(ring, 1.0) * halo * (1.0 - color.a);
}`;

/** Smaller where the map shows a continent, so that a fleet stays a pattern. CSS pixels. */
const radiusAt = (zoom: number): number => Math.min(12, Math.max(5, zoom - 1));

/** By standing, and around each vehicle. */
interface Colors {
  readonly standings: readonly Rgb[];
  readonly rim: Rgb;
  /** Around the chosen one. */
  readonly ring: Rgb;
}

export class VehicleLayer extends RowsLayer {
  #data = new Float32Array(0);
  /** Mercator, 0 to 1, for finding what is under the pointer. */
  #x = new Float64Array(0);
  #y = new Float64Array(0);
  #count = 0;
  readonly #colors: () => Colors;

  constructor(colors: () => Colors) {
    super("vehicles", { vertex: VERTEX, fragment: FRAGMENT, columns: [["high", 2], ["low", 2], ["heading", 1], ["standing", 1]], divisor: 1 });
    this.#colors = colors;
  }

  /** Takes over where vehicles are, how they stand, and the row of the chosen one. */
  set(vehicles: Drawn, standings: Uint8Array, chosen: number | undefined): void {
    const { count } = vehicles;
    if (count > this.#x.length) this.#grow(count);
    for (let row = 0; row < count; row += 1) {
      const x = mercatorX(vehicles.longitudes[row] ?? 0);
      const y = mercatorY(vehicles.latitudes[row] ?? 0);
      const heading = vehicles.headingsDegrees[row] ?? NaN;
      const standing = standings[row] ?? 0;
      const isLost = standing === MOVING && Number.isNaN(heading);
      this.#x[row] = x;
      this.#y[row] = y;
      const at = row * FLOATS_PER_VEHICLE;
      const [highX, highY] = [Math.fround(x), Math.fround(y)];
      this.#data[at] = highX;
      this.#data[at + 1] = highY;
      this.#data[at + 2] = x - highX;
      this.#data[at + 3] = y - highY;
      this.#data[at + 4] = standing === MOVING && !isLost ? heading : 0;
      this.#data[at + 5] = (isLost ? MOVING_SOMEWHERE : standing) + (row === chosen ? CHOSEN : 0);
    }
    this.#count = count;
    this.changed();
  }

  /**
   * The row nearest to a place (mercator, 0 to 1) and no further than `reach`. Looks at every row: that takes less than
   * a tenth of a millisecond for ten thousand, and an index would have to be built again with each second's positions.
   */
  nearest(x: number, y: number, reach: number): number | undefined {
    let found: number | undefined;
    let best = reach * reach;
    for (let row = 0; row < this.#count; row += 1) {
      let across = (this.#x[row] ?? 0) - x;
      across -= Math.round(across);
      const down = (this.#y[row] ?? 0) - y;
      const distance = across * across + down * down;
      if (distance > best) continue;
      best = distance;
      found = row;
    }
    return found;
  }

  protected rows(): Float32Array {
    return this.#data.subarray(0, this.#count * FLOATS_PER_VEHICLE);
  }

  protected paint(gl: WebGL2RenderingContext, at: Uniforms, map: MapLibre): void {
    gl.uniform1f(at("radius"), radiusAt(map.getZoom()));
    gl.uniform1f(at("ratio"), map.getPixelRatio());
    const { standings, rim, ring } = this.#colors();
    gl.uniform3fv(at("colors"), standings.flat());
    gl.uniform3fv(at("rim"), rim);
    gl.uniform3fv(at("ring"), ring);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, this.#count);
  }

  #grow(count: number): void {
    const capacity = Math.max(256, 2 ** Math.ceil(Math.log2(count)));
    this.#data = new Float32Array(capacity * FLOATS_PER_VEHICLE);
    this.#x = new Float64Array(capacity);
    this.#y = new Float64Array(capacity);
  }
}
