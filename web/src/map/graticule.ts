// Lines of whole degrees, minutes or tens of seconds: what moves, and how far, where the map has nothing else to hold on to.

/** Distances between two lines, degrees. */
const STEPS = [30, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001];
const LINES_ACROSS = 7;

/** Meridians and parallels within bounds and a little around them. */
export function graticule(west: number, south: number, east: number, north: number): GeoJSON.FeatureCollection {
  const step = STEPS.find((one) => (east - west) / one > LINES_ACROSS) ?? 0.001;
  const features: GeoJSON.Feature[] = [];
  const line = (from: [number, number], to: [number, number]): void => {
    features.push({ type: "Feature", properties: {}, geometry: { type: "LineString", coordinates: [from, to] } });
  };
  const [bottom, top] = [Math.max(-85, south - step), Math.min(85, north + step)];
  for (let x = Math.floor(west / step) * step; x <= east + step; x += step) line([x, bottom], [x, top]);
  for (let y = Math.ceil(bottom / step) * step; y <= top; y += step) line([west - step, y], [east + step, y]);
  return { type: "FeatureCollection", features };
}
