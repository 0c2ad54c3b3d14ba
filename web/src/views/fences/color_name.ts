// What people call a colour: who cannot tell it by sight reads it.

import { strings } from "../../strings";

const { hues, grays } = strings.manage.fences;
/** Where each of the hues ends, degrees of the colour wheel; beyond the last it is the first again. */
const HUES_END = [15, 45, 70, 165, 195, 255, 290, 345] as const;
/** Less of a colour is none. */
const LEAST_CHROMA = 0.1;

/** The name of a colour written as `#RRGGBB`. */
export function colorName(color: string): string {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16) / 255);
  const [most, least] = [Math.max(red, green, blue), Math.min(red, green, blue)];
  const chroma = most - least;
  if (chroma < LEAST_CHROMA) return grays[most < 0.25 ? 0 : most < 0.9 ? 1 : 2] ?? "";
  const sixth = most === red ? (green - blue) / chroma : most === green ? 2 + (blue - red) / chroma : 4 + (red - green) / chroma;
  const hue = (sixth * 60 + 360) % 360;
  return hues[HUES_END.findIndex((end) => hue < end)] ?? hues[0] ?? "";
}
