// Small things that drawing with WebGL2 needs.

import type { Map as MapLibre } from "maplibre-gl";

import { mercatorX, mercatorY } from "./mercator";

/** Red, green, blue; 0 to 1. */
export type Rgb = readonly [number, number, number];

/** A program from its two shaders. Throws what the driver says is wrong with them. */
export function program(gl: WebGL2RenderingContext, vertex: string, fragment: string): WebGLProgram {
  const made = gl.createProgram();
  for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]] as const) {
    const shader = gl.createShader(kind);
    if (!shader) throw new Error("the browser makes no shader");
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader) ?? "shader");
    gl.attachShader(made, shader);
    gl.deleteShader(shader);
  }
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made) ?? "program");
  return made;
}

/** Reads the bound buffer as rows of floats, these columns side by side. With a `divisor` of 1 a row is an instance. */
export function readRows(gl: WebGL2RenderingContext, of: WebGLProgram, columns: readonly (readonly [string, number])[], divisor: number): void {
  const stride = columns.reduce((floats, [, size]) => floats + size, 0) * Float32Array.BYTES_PER_ELEMENT;
  let offset = 0;
  for (const [name, size] of columns) {
    const location = gl.getAttribLocation(of, name);
    gl.enableVertexAttribArray(location);
    gl.vertexAttribPointer(location, size, gl.FLOAT, false, stride, offset * Float32Array.BYTES_PER_ELEMENT);
    gl.vertexAttribDivisor(location, divisor);
    offset += size;
  }
}

/** Tells the program in use where the map looks: its centre as two floats each, the world's size and its own, in pixels. */
export function look(gl: WebGL2RenderingContext, at: (name: string) => WebGLUniformLocation | null, map: MapLibre): void {
  const center = map.getCenter();
  const [x, y] = [mercatorX(center.lng), mercatorY(center.lat)];
  const { clientWidth, clientHeight } = map.getContainer();
  gl.uniform2f(at("center_high"), Math.fround(x), Math.fround(y));
  gl.uniform2f(at("center_low"), x - Math.fround(x), y - Math.fround(y));
  gl.uniform2f(at("viewport"), clientWidth, clientHeight);
  gl.uniform1f(at("world"), 512 * 2 ** map.getZoom());
}

/** A colour as the style sheet writes it: `#rrggbb`, or `#rgb` where the build shortened it. */
export function rgb(hex: string): Rgb {
  const long = hex.length === 4 ? hex.replace(/[0-9a-f]/gi, "$&$&") : hex;
  const number = Number.parseInt(long.slice(1), 16);
  return [(number >> 16 & 255) / 255, (number >> 8 & 255) / 255, (number & 255) / 255];
}
