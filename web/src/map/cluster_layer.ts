// Clusters on the map: a disc with a ring whose parts are those that move, stand and are silent. Their number is a word of the map's own.

import { type Cluster, radiusOf } from "./cluster";
import { RowsLayer, type Uniforms } from "./rows_layer";
import type { Rgb } from "./webgl";

/** The middle as two floats each, the radius, and up to which share of the ring they move, and stand. */
const FLOATS_PER_CLUSTER = 7;
const RING_PIXELS = 5;

const VERTEX = `#version 300 es
precision highp float;
uniform vec2 center_high, center_low, viewport;
uniform float world;
in vec2 high, low;
in float radius, moving, standing;
out vec2 place;
flat out float size;
flat out vec2 shares;
void main() {
  vec2 corner = vec2(float(gl_VertexID & 1), float(gl_VertexID >> 1)) * 2.0 - 1.0;
  vec2 from_center = (high - center_high) + (low - center_low);
  from_center.x -= floor(from_center.x + 0.5);
  size = radius;
  shares = vec2(moving, standing);
  place = corner * (radius + 2.0);
  vec2 pixels = from_center * world + vec2(place.x, -place.y);
  gl_Position = vec4(pixels * 2.0 / viewport * vec2(1.0, -1.0), 0.0, 1.0);
}`;

const FRAGMENT = `#version 300 es
precision highp float;
uniform vec3 colors[3];
uniform vec3 ground;
in vec2 place;
flat in float size;
flat in vec2 shares;
out vec4 color;
void main() {
  float distance = length(place);
  float turn = fract(atan(place.x, place.y) / 6.2831853 + 1.0);
  vec3 part = turn < shares.x ? colors[0] : turn < shares.y ? colors[1] : colors[2];
  float ring = smoothstep(size - ${RING_PIXELS.toFixed(1)} - 0.7, size - ${RING_PIXELS.toFixed(1)} + 0.7, distance);
  color = vec4(mix(ground, part, ring), 1.0) * (1.0 - smoothstep(size - 0.7, size + 0.7, distance));
}`;

interface Colors {
  /** Of those that move, stand and are silent. */
  readonly parts: readonly Rgb[];
  readonly ground: Rgb;
}

export class ClusterLayer extends RowsLayer {
  #data = new Float32Array(0);
  readonly #colors: () => Colors;

  constructor(colors: () => Colors) {
    const columns = [["high", 2], ["low", 2], ["radius", 1], ["moving", 1], ["standing", 1]] as const;
    super("clusters", { vertex: VERTEX, fragment: FRAGMENT, columns, divisor: 1 });
    this.#colors = colors;
  }

  set(clusters: readonly Cluster[]): void {
    if (clusters.length === 0 && this.#data.length === 0) return;
    this.#data = new Float32Array(clusters.length * FLOATS_PER_CLUSTER);
    clusters.forEach(({ x, y, count, moving, silent }, index) => {
      const [highX, highY] = [Math.fround(x), Math.fround(y)];
      this.#data.set([highX, highY, x - highX, y - highY, radiusOf(count), moving / count, (count - silent) / count], index * FLOATS_PER_CLUSTER);
    });
    this.changed();
  }

  protected rows(): Float32Array {
    return this.#data;
  }

  protected paint(gl: WebGL2RenderingContext, at: Uniforms): void {
    const { parts, ground } = this.#colors();
    gl.uniform3fv(at("colors"), parts.flat());
    gl.uniform3fv(at("ground"), ground);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, this.#data.length / FLOATS_PER_CLUSTER);
  }
}
