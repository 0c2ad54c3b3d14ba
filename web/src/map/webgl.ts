// Small things that drawing with WebGL2 needs.

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

/** A colour as the style sheet writes it: `#rrggbb`, or `#rgb` where the build shortened it. */
export function rgb(hex: string): Rgb {
  const long = hex.length === 4 ? hex.replace(/[0-9a-f]/gi, "$&$&") : hex;
  const number = Number.parseInt(long.slice(1), 16);
  return [(number >> 16 & 255) / 255, (number >> 8 & 255) / 255, (number & 255) / 255];
}
