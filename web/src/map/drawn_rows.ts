// Rows of numbers that a small program of its own draws over the map. Knows not what they mean.

import type { Map as MapLibre } from "maplibre-gl";

import { look, program, readRows } from "./webgl";

/** How a program reads its rows: the columns of floats, side by side; with a `divisor` of 1 a row is an instance, with 0 a corner. */
export interface Rows {
  readonly vertex: string;
  readonly fragment: string;
  readonly columns: readonly (readonly [name: string, floats: number])[];
  readonly divisor: 0 | 1;
}

/** Rows in the memory of the graphics processor. */
export class DrawnRows {
  readonly #gl: WebGL2RenderingContext;
  readonly #program: WebGLProgram;
  readonly #array: WebGLVertexArrayObject;
  readonly #buffer: WebGLBuffer;

  /** Throws what the driver says is wrong with the program. */
  constructor(gl: WebGL2RenderingContext, { vertex, fragment, columns, divisor }: Rows) {
    this.#gl = gl;
    this.#program = program(gl, vertex, fragment);
    this.#buffer = gl.createBuffer();
    this.#array = gl.createVertexArray();
    gl.bindVertexArray(this.#array);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.#buffer);
    readRows(gl, this.#program, columns, divisor);
    gl.bindVertexArray(null);
  }

  /** Gives the memory back. */
  end(): void {
    this.#gl.deleteProgram(this.#program);
    this.#gl.deleteBuffer(this.#buffer);
    this.#gl.deleteVertexArray(this.#array);
  }

  /** Draws over a map. `data` are the rows where they are others than before; `paint` sets what the program asks for, and draws. */
  draw(map: MapLibre, data: Float32Array | null, paint: (at: (name: string) => WebGLUniformLocation | null) => void): void {
    const gl = this.#gl;
    gl.bindVertexArray(this.#array);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.#buffer);
    if (data) gl.bufferData(gl.ARRAY_BUFFER, data, gl.DYNAMIC_DRAW);
    gl.useProgram(this.#program);
    const at = (name: string) => gl.getUniformLocation(this.#program, name);
    look(gl, at, map);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.disable(gl.DEPTH_TEST);
    gl.disable(gl.CULL_FACE);
    paint(at);
    gl.bindVertexArray(null);
  }
}
