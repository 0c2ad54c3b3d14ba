// The day's way on the map, with its stops and crossings, and the vehicle where it was at the moment.

import { effect } from "@preact/signals";

import type { FleetMap } from "../../map/fleet_map";
import { type Begin, MapFrame } from "../../map/MapFrame";
import { showFences } from "../../map/MapPanel";
import type { Point } from "../../map/geodesic";
import { span, timeOfDay } from "../../format";
import { loaded } from "../../state/loading";
import { STANDINGS } from "../../state/standing";
import { onTheme } from "../../state/theme";
import type { Track } from "../../state/track";
import { strings } from "../../strings";
import type { Day } from "./ReplayView";
import type { Playback } from "./playback";
import { headingAt, placeAt, rowAt } from "./track";

const MOVING = STANDINGS.indexOf("moving");
const STOPPED = STANDINGS.indexOf("stopped");
const UNKNOWN = STANDINGS.indexOf("unknown");
const WALKING_KMH = 3;

export function ReplayMap({ id, day, playback }: { id: string; day: Day; playback: Playback }) {
  const load = async (): Promise<Begin> => {
    const { FleetMap } = await loaded(() => import("../../map/fleet_map"));
    return (element, whenReady) => connect(new FleetMap(element, whenReady, false), id, day, playback);
  };
  return <MapFrame label={strings.live.map} load={load} />;
}

function connect(map: FleetMap, id: string, day: Day, playback: Playback): () => void {
  const line = pointsOf(day.track);
  map.setTrail(line);
  map.fitLine(line);
  map.fill("marks", marksOf(day));
  map.choose(id);
  const now = oneVehicle(id);
  const ends = [
    showFences(map),
    onTheme(() => map.restyle()),
    effect(() => {
      now.put(day.track, playback.at.value);
      map.setVehicles(now, now.standings, () => "");
      if (playback.isPlaying.value) map.reveal(id);
    }),
  ];
  return () => {
    ends.forEach((stop) => stop());
    map.remove();
  };
}

/** Tables as the map takes them, of one row. */
function oneVehicle(id: string) {
  return {
    count: 1,
    ids: [id],
    row: (asked: string) => (asked === id ? 0 : undefined),
    longitudes: new Float64Array(1),
    latitudes: new Float64Array(1),
    headingsDegrees: new Float32Array(1),
    standings: new Uint8Array(1),
    put(track: Track, at: number): void {
      const row = rowAt(track, at);
      [this.longitudes[0], this.latitudes[0]] = placeAt(track, at);
      this.headingsDegrees[0] = headingAt(track, row);
      const speed = track.wentKmh[row] ?? NaN;
      this.standings[0] = Number.isNaN(speed) ? UNKNOWN : speed > WALKING_KMH ? MOVING : STOPPED;
    },
  };
}

const pointsOf = ({ count, longitudes, latitudes }: Track): Point[] =>
  Array.from({ length: count }, (_, row): Point => [longitudes[row] ?? 0, latitudes[row] ?? 0]);

function marksOf({ stops, crossings }: Day): GeoJSON.FeatureCollection {
  const mark = (kind: string, text: string, longitude: number, latitude: number): GeoJSON.Feature => ({
    type: "Feature", geometry: { type: "Point", coordinates: [longitude, latitude] }, properties: { kind, text },
  });
  return {
    type: "FeatureCollection",
    features: [
      ...stops.map((stop) => mark("stop", stop.to === null ? "" : span(stop.to - stop.from), stop.longitude, stop.latitude)),
      ...crossings.map(({ type, occurredAt, location }) => mark(type, timeOfDay(occurredAt), location.longitude, location.latitude)),
    ],
  };
}
