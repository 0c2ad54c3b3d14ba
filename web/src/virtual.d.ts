declare module "virtual:land" {
  const land: GeoJSON.FeatureCollection | GeoJSON.Feature;
  export default land;
}
