// The map itself: MapLibre with our style, fences and vehicles. Loaded when it is shown; knows no views.

import { type GeoJSONSource, type LngLatLike, Map as MapLibre, NavigationControl, ScaleControl, setWorkerUrl } from "maplibre-gl";
import workerUrl from "maplibre-gl/dist/maplibre-gl-worker.mjs?url";
import "maplibre-gl/dist/maplibre-gl.css";

import type { Fence } from "../api/types";
import { type Camera, camera } from "../state/camera";
import { beside, unwrapped } from "./antimeridian";
import { type Background, background, together } from "./background";
import type { Cluster } from "./cluster";
import { type Frame, around, aroundLine, cornersOf, isWithin } from "./frame";
import { graticule } from "./graticule";
import type { Point } from "./geodesic";
import { strings } from "../strings";
import { Markers } from "./markers";
import { fenceFeatures, fenceNames } from "./shapes";
import { FILLED, type Filled, ROOM, ROOM_PIXELS, style } from "./style";
import { token } from "./tokens";
import type { Drawn } from "./vehicle_layer";
import { WakeLayer } from "./wake_layer";
import { rgb } from "./webgl";

setWorkerUrl(workerUrl);

/** Names are shown from this zoom on, and while so many vehicles are in view that people can read them. */
const NAMES_FROM_ZOOM = 10.5;
const MOST_NAMES = 120;
/** Names keep off so many markers; with more, few names are shown. */
const MOST_ROOMS = 500;
/** Names of so many vehicles move with each of their positions, of more once a second. */
const FEW = 200;
/** How close the map comes by itself, and to a cluster that is clicked. */
const CLOSE = 15;
const CLOSEST = 18;
/** What is smaller than this share of the map is not seen. */
const LEAST_SHARE = 0.02;
/** From this zoom on the coasts of the first load are corners. */
const FINER_FROM_ZOOM = 3.5;

const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** Vehicles by row, as state/vehicles.ts has them. */
export interface Shown extends Drawn {
  readonly ids: readonly string[];
  row(id: string): number | undefined;
}

/** A map in an element. The constructor throws where the browser has no WebGL2. */
export class FleetMap {
  /** MapLibre's own map, for what draws on it. */
  readonly map: MapLibre;
  /** Called when somebody clicks on a vehicle, or beside all of them. */
  onPick: (id: string | null) => void = () => {};
  /** Called when somebody moves the map by hand while it follows a vehicle. */
  onFollowEnd: () => void = () => {};
  /** Whether it opens on vehicles and fences alike; else on fences only where there is no vehicle. */
  fitsFences = false;
  #background: Background | null = null;
  readonly #filled = new Map<Filled, GeoJSON.FeatureCollection | GeoJSON.Feature>();
  readonly #markers = new Markers();
  readonly #wakes = new WakeLayer(() => rgb(token("--wake")));
  readonly #scale = new ScaleControl({});
  #finer: Promise<GeoJSON.FeatureCollection | GeoJSON.Feature> | null = null;
  #refined: GeoJSONSource | null = null;
  #shown: Shown | null = null;
  #standings: Uint8Array = new Uint8Array(0);
  #nameOf: (id: string) => string = () => "";
  #chosen: string | null = null;
  #namedAt = 0;
  #isFollowing = false;
  /** Whether the vehicle that is followed went on while the map was on its way to it. */
  #isBehind = false;
  /** What the map was fitted to: fences only as long as there is no vehicle. Then the view is the dispatcher's own; moved by hand, it stays. */
  #fitted: "nothing" | "fences" | "all" | "moved" = "nothing";
  #isPast = false;
  readonly #isLive: boolean;

  /** `isLive`: whether vehicles have names and leave wakes; a replay has one vehicle and its whole trail. */
  constructor(container: HTMLElement, whenReady: () => void, isLive = true) {
    this.#isLive = isLive;
    // for tests, and for whoever looks into the page
    Object.assign(container, { fleetMap: this });
    this.map = new MapLibre({
      container,
      style: style(null),
      center: [10, 30],
      zoom: 1,
      maxPitch: 0,
      fadeDuration: 0,
      attributionControl: { compact: true },
      dragRotate: false,
      pitchWithRotate: false,
      locale: { "Map.Title": strings.map.canvas },
    });
    this.map.touchZoomRotate.disableRotation();
    this.map.keyboard.disableRotation();
    this.map.addControl(new NavigationControl({ showCompass: false }), "top-right");
    this.map.addControl(this.#scale, "bottom-left");
    this.map.on("style.load", () => this.#fillAll());
    this.map.on("moveend", () => this.#look());
    this.map.on("moveend", () => {
      const { lng, lat } = this.map.getCenter();
      camera.value = { latitude: lat, longitude: lng, zoom: this.map.getZoom() };
    });
    this.map.on("moveend", () => { if (this.#isBehind) this.#keepInView(); });
    this.map.on("dragstart", () => this.#endFollowing());
    this.map.on("movestart", ({ originalEvent }) => { if (originalEvent) this.#fitted = "moved"; });
    this.map.on("zoom", () => { if (Math.floor(this.map.getZoom()) !== this.#markers.level) this.#draw(); });
    this.map.on("click", ({ point }) => {
      const id = this.vehicleAt(point.x, point.y);
      const cluster = id === null ? this.#markers.clusterAt(this.map, point.x, point.y) : undefined;
      if (cluster) this.#show(around(this.#places(cluster.rows)), !isStill(), CLOSEST);
      else this.onPick(id);
    });
    this.map.on("mousemove", ({ point }) => {
      this.map.getCanvas().style.cursor = this.vehicleAt(point.x, point.y) || this.#markers.clusterAt(this.map, point.x, point.y) ? "pointer" : "";
    });
    // a fleet that moves is never idle
    if (isLive) this.map.once("style.load", () => this.map.once("render", whenReady));
    else this.map.once("idle", whenReady);
    void background.then((found) => {
      this.#background = found;
      if (found) this.restyle();
    });
  }

  /** Which units its scale shows. */
  setUnits(isImperial: boolean): void {
    this.#scale.setUnit(isImperial ? "imperial" : "metric");
  }

  /** Draws the fences; `occupied` tells those somebody is in. */
  setFences(fences: Iterable<Fence>, occupied: (id: string) => boolean): void {
    const list = [...fences];
    this.fill("fences", fenceFeatures(list, occupied));
    this.fill("fence-names", fenceNames(list));
    this.#fit();
  }

  /** Draws the vehicles where they are, by their standings (state/standing.ts). */
  setVehicles(vehicles: Shown, standings: Uint8Array, nameOf: (id: string) => string): void {
    this.#shown = vehicles;
    this.#nameOf = nameOf;
    if (this.#isLive && !this.#isPast) this.#wakes.set(vehicles.ids, vehicles);
    this.#standings = standings;
    this.#draw();
    if (vehicles.count <= FEW || performance.now() - this.#namedAt > 1000) this.#showNames();
    this.#keepInView();
    this.#fit();
  }

  /** Puts features into one of our sources. */
  fill(source: Filled, features: GeoJSON.FeatureCollection | GeoJSON.Feature): void {
    this.#filled.set(source, features);
    this.map.getSource<GeoJSONSource>(source)?.setData(features);
  }

  /** Marks a vehicle; null for none. */
  choose(id: string | null): void {
    this.#chosen = id;
    this.#draw();
    this.#showNames();
  }

  /** Vehicles that ask for attention: they are drawn by themselves, however many are around. */
  setUrgent(ids: ReadonlySet<string>): void {
    this.#markers.urgent = ids;
    this.#draw();
  }

  /** Draws where somebody went: longitude, latitude. */
  setTrail(points: readonly Point[]): void {
    this.fill("trail", { type: "Feature", properties: {}, geometry: { type: "LineString", coordinates: unwrapped(points).map((point) => [...point]) } });
  }

  /** Keeps the chosen vehicle in the middle, or does not any more. */
  follow(isOn: boolean): void {
    this.#isFollowing = isOn;
    const place = this.#place(this.#chosen);
    if (isOn && place) this.#moveTo(place, Math.max(this.map.getZoom(), 13));
  }

  /** Shows a vehicle, if it is out of view. */
  reveal(id: string): void {
    const place = this.#place(id);
    // the map may be a turn further
    if (place && !this.map.getBounds().contains([beside(place[0], this.map.getCenter().lng), place[1]])) this.#moveTo(place, Math.max(this.map.getZoom(), 12));
  }

  /** Shows all vehicles and the fences that are places. */
  fitAll(): void {
    this.#endFollowing();
    this.#show(around(this.#everything()), !isStill());
  }

  /** Shows all vehicles whenever one has left the picture, until somebody moves the map. */
  keepAllInView(): void {
    const all = this.#fitted === "moved" ? null : around(this.#everyone());
    if (all && !isWithin(all, this.#view())) this.#show(all, !isStill());
  }

  /** Shows all of a line. */
  fitLine(points: readonly Point[]): void {
    this.#fitted = "all";
    this.#show(aroundLine(points), false);
  }

  /** Shows all of a line, unless all of it is in view and large enough to see. */
  showLine(points: readonly Point[]): void {
    const [line, view] = [aroundLine(points), this.#view()];
    if (!line) return;
    const share = (line.east - line.west) / (view.east - view.west);
    if (!isWithin(line, view) || share < LEAST_SHARE) this.#show(line, false);
  }

  /** Goes to a place, and stays there though vehicles come elsewhere. */
  lookAt({ latitude, longitude, zoom }: Camera): void {
    this.#fitted = "all";
    this.map.jumpTo({ center: [longitude, latitude], zoom });
  }

  /** The vehicles that are drawn by themselves. */
  drawn(): readonly string[] {
    return [...this.#markers.alone?.ids ?? []];
  }

  /** The clusters that are drawn. */
  clusters(): readonly Cluster[] {
    return this.#markers.clusters;
  }

  /** The vehicle at a point of the map's element, CSS pixels. */
  vehicleAt(x: number, y: number): string | null {
    return this.#markers.vehicleAt(this.map, x, y);
  }

  /** Where a vehicle is drawn: degrees. */
  whereIs(id: string): Point | null {
    return this.#place(id);
  }

  /** Shows a moment of the past, in which nobody leaves a wake, or goes on with now. */
  setPast(isPast: boolean): void {
    if (isPast !== this.#isPast) this.#wakes.clear();
    this.#isPast = isPast;
  }

  /** Forgets where everybody was: another fleet is shown. */
  forget(): void {
    this.#wakes.clear();
    this.#fitted = "nothing";
  }

  /** Takes over the colours of the theme in force. */
  restyle(): void {
    const theirs = this.#background?.style;
    if (theirs) this.map.setStyle(theirs, { diff: false, transformStyle: (_, next) => together(next, style(this.#background)) });
    else this.map.setStyle(style(this.#background), { diff: false });
  }

  remove(): void {
    this.map.remove();
  }

  #fillAll(): void {
    if (!this.map.hasImage(ROOM)) this.map.addImage(ROOM, { width: ROOM_PIXELS, height: ROOM_PIXELS, data: new Uint8Array(4 * ROOM_PIXELS ** 2) });
    for (const source of FILLED) {
      const features = this.#filled.get(source);
      if (features) this.map.getSource<GeoJSONSource>(source)?.setData(features);
    }
    if (!this.map.getLayer("wakes")) this.map.addLayer(this.#wakes, "fences-name");
    const { clusterLayer, vehicleLayer } = this.#markers;
    // vehicles above clusters: who is chosen or asks for attention is seen in the midst of one
    for (const layer of [clusterLayer, vehicleLayer]) if (!this.map.getLayer(layer.id)) this.map.addLayer(layer, "names");
    this.#look();
  }

  /** What is drawn only where one looks. */
  #look(): void {
    this.#draw();
    this.#showNames();
    const { west, south, east, north } = this.#view();
    this.map.getSource<GeoJSONSource>("graticule")?.setData(graticule(west, south, east, north));
    if (this.map.getZoom() < FINER_FROM_ZOOM || !this.map.getSource("land")) return;
    this.#finer ??= import("./land").then(({ finerLand }) => finerLand);
    // coasts that do not arrive are no fault worth a word: the others stay
    this.#finer.then((land) => this.#refine(land)).catch(() => { this.#finer = null; });
  }

  #refine(land: GeoJSON.FeatureCollection | GeoJSON.Feature): void {
    const source = this.map.getSource<GeoJSONSource>("land");
    if (!source || source === this.#refined) return;
    this.#refined = source;
    source.setData(land);
  }

  #place(id: string | null): Point | null {
    const row = id === null ? undefined : this.#shown?.row(id);
    if (row === undefined || !this.#shown) return null;
    return [this.#shown.longitudes[row] ?? 0, this.#shown.latitudes[row] ?? 0];
  }

  #draw(): void {
    const shown = this.#shown;
    if (!shown) return;
    this.#markers.draw(this.map, shown, this.#standings, this.#chosen, this.#isLive);
    if (this.#markers.clusters.length > 0 || this.#filled.has("counts")) this.fill("counts", this.#markers.counts());
  }

  #keepInView(): void {
    const place = this.#isFollowing ? this.#place(this.#chosen) : null;
    this.#isBehind = place !== null && this.map.isMoving();
    if (place && !this.#isBehind) this.#moveTo(place, this.map.getZoom());
  }

  #showNames(): void {
    this.#namedAt = performance.now();
    const [named, rooms] = this.#nameable();
    const features = rooms.map((row): GeoJSON.Feature => {
      const id = this.#markers.alone?.ids[row] ?? "";
      const coordinates = [this.#markers.alone?.longitudes[row] ?? 0, this.#markers.alone?.latitudes[row] ?? 0];
      const name = named.has(row) ? this.#nameOf(id) : "";
      return { type: "Feature", geometry: { type: "Point", coordinates }, properties: { name, order: id === this.#chosen ? 0 : 1 } };
    });
    if (features.length > 0 || this.#filled.has("names")) this.fill("names", { type: "FeatureCollection", features });
  }

  /** The rows of those drawn that have a name, and of those whose markers names keep off. */
  #nameable(): readonly [named: ReadonlySet<number>, rooms: readonly number[]] {
    const shown = this.#markers.alone;
    const rows: number[] = [];
    if (!shown || !this.#isLive) return [new Set(), rows];
    const chosen = this.#chosen === null ? undefined : shown.row(this.#chosen);
    const only = chosen === undefined ? [] : [chosen];
    const { west, east, south, north } = this.#view();
    const middle = (west + east) / 2;
    for (let row = 0; row < shown.count; row += 1) {
      // the map may be a turn further
      const [x, y] = [beside(shown.longitudes[row] ?? 0, middle), shown.latitudes[row] ?? 0];
      if (x < west || x > east || y < south || y > north) continue;
      rows.push(row);
      if (rows.length > MOST_ROOMS) return [new Set(only), only];
    }
    const isFew = this.map.getZoom() >= NAMES_FROM_ZOOM && rows.length <= MOST_NAMES;
    return [new Set(isFew ? rows : only), rows];
  }

  #moveTo(center: LngLatLike, zoom: number): void {
    if (isStill()) this.map.jumpTo({ center, zoom });
    else this.map.easeTo({ center, zoom, duration: 400 });
  }

  #endFollowing(): void {
    if (!this.#isFollowing) return;
    this.#isFollowing = false;
    this.onFollowEnd();
  }

  /** Where these rows of the vehicles shown are. */
  #places(rows: Iterable<number>): Point[] {
    return Array.from(rows, (row): Point => [this.#shown?.longitudes[row] ?? 0, this.#shown?.latitudes[row] ?? 0]);
  }

  #everyone(): Point[] {
    return this.#places(Array(this.#shown?.count ?? 0).keys());
  }

  #everything(): Point[] {
    const fences = this.#filled.get("fences");
    return [...this.#everyone(), ...cornersOf(fences?.type === "FeatureCollection" ? fences.features : [])];
  }

  /** To the vehicles, once there are any; to the fences as long as there are none. */
  #fit(): void {
    const hasVehicles = (this.#shown?.count ?? 0) > 0;
    if (this.#fitted === "all" || this.#fitted === "moved" || (this.#fitted === "fences" && !hasVehicles)) return;
    const frame = around(hasVehicles && !this.fitsFences ? this.#everyone() : this.#everything());
    if (!frame) return;
    this.#fitted = hasVehicles || this.fitsFences ? "all" : "fences";
    this.#show(frame, false);
  }

  #show(frame: Frame | null, animate: boolean, maxZoom = CLOSE): void {
    if (!frame) return;
    const { west, south, east, north } = frame;
    this.map.fitBounds([west, south, east, north], { padding: 48, maxZoom, animate });
  }

  #view(): Frame {
    const bounds = this.map.getBounds();
    return { west: bounds.getWest(), south: bounds.getSouth(), east: bounds.getEast(), north: bounds.getNorth() };
  }
}
