declare module "virtual:land" {
  const land: GeoJSON.FeatureCollection | GeoJSON.Feature;
  export default land;
}

declare module "virtual:land-50m" {
  const land: import("topojson-specification").Topology;
  export default land;
}
