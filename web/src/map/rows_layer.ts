// A layer of the map that is rows of numbers, drawn by a small program of its own. Knows not what they mean.

import type { CustomLayerInterface, Map as MapLibre } from "maplibre-gl";

import { look, program, readRows } from "./webgl";

/** How a layer's program reads its rows: the columns of floats, side by side; with a `divisor` of 1 a row is an instance, with 0 a corner. */
interface Reading {
  readonly vertex: string;
  readonly fragment: string;
  readonly columns: readonly (readonly [name: string, floats: number])[];
  readonly divisor: 0 | 1;
}

/** Where a uniform of the program in use is. */
export type Uniforms = (name: string) => WebGLUniformLocation | null;

/** What a layer has in the graphics processor. */
interface Memory {
  readonly program: WebGLProgram;
  readonly array: WebGLVertexArrayObject;
  readonly buffer: WebGLBuffer;
}

/** The layer; goes on with what it was last given after the map's style was changed. */
export abstract class RowsLayer implements CustomLayerInterface {
  readonly type = "custom";
  readonly renderingMode = "2d";
  readonly id: string;
  readonly #reading: Reading;
  #map: MapLibre | null = null;
  #memory: Memory | null = null;
  #isChanged = false;

  constructor(id: string, reading: Reading) {
    this.id = id;
    this.#reading = reading;
  }

  /** What is to be drawn; nothing is drawn of no rows. */
  protected abstract rows(): Float32Array;

  /** Sets the uniforms of the layer's own, and draws. */
  protected abstract paint(gl: WebGL2RenderingContext, at: Uniforms, map: MapLibre): void;

  /** To be called when the rows have become others. */
  protected changed(): void {
    this.#isChanged = true;
    this.#map?.triggerRepaint();
  }

  onAdd(map: MapLibre, gl: WebGL2RenderingContext): void {
    const { vertex, fragment, columns, divisor } = this.#reading;
    const memory = { program: program(gl, vertex, fragment), buffer: gl.createBuffer(), array: gl.createVertexArray() };
    gl.bindVertexArray(memory.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, memory.buffer);
    readRows(gl, memory.program, columns, divisor);
    gl.bindVertexArray(null);
    this.#map = map;
    this.#memory = memory;
    this.#isChanged = true;
  }

  onRemove(_: MapLibre, gl: WebGL2RenderingContext): void {
    gl.deleteProgram(this.#memory?.program ?? null);
    gl.deleteBuffer(this.#memory?.buffer ?? null);
    gl.deleteVertexArray(this.#memory?.array ?? null);
    this.#memory = null;
  }

  render(gl: WebGL2RenderingContext): void {
    const [map, memory, rows] = [this.#map, this.#memory, this.rows()];
    if (!map || !memory || rows.length === 0) return;
    gl.bindVertexArray(memory.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, memory.buffer);
    if (this.#isChanged) gl.bufferData(gl.ARRAY_BUFFER, rows, gl.DYNAMIC_DRAW);
    this.#isChanged = false;
    gl.useProgram(memory.program);
    const at: Uniforms = (name) => gl.getUniformLocation(memory.program, name);
    look(gl, at, map);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.disable(gl.DEPTH_TEST);
    gl.disable(gl.CULL_FACE);
    this.paint(gl, at, map);
    gl.bindVertexArray(null);
  }
}
