declare module "virtual:land" {
  const land: GeoJSON.FeatureCollection | GeoJSON.Feature;
  export default land;
}

declare module "virtual:land-50m" {
  const land: import("topojson-specification").Topology;
  export default land;
}

declare module "swagger-ui-dist/swagger-ui-es-bundle.js" {
  const start: (options: { url: string; dom_id: string; deepLinking: boolean }) => void;
  export default start;
}

declare module "virtual:towns" {
  /** Packed; see map/packed_towns.ts. */
  const towns: string;
  export default towns;
}
