// The map of the fleet as it is: what the live view shows on it.

import { type ReadonlySignal, type Signal, effect, useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";

import type { Place } from "../api/schema";

import { conventions } from "../conventions";
import { dayAndTime, hourOfDay } from "../format";
import { fences, organization, suspected, vehicleName, vehicles } from "../state/fleet";
import { loaded } from "../state/loading";
import { notice } from "../state/notices";
import { moment, stays, table } from "../state/past";
import { standings } from "../state/standing";
import { onTheme } from "../state/theme";
import { FenceHere } from "../parts/FenceHere";
import { strings } from "../strings";
import type { FleetMap } from "./fleet_map";
import { Look } from "./look";
import { type Begin, MapFrame } from "./MapFrame";
import { NoStreets } from "./NoStreets";
import type { Point } from "./geodesic";
import { placeText } from "./place_text";
import { rowsOf } from "./rows";

/** What the map shows beside the fleet, and what it is told to do. */
export interface MapLinks {
  /** The vehicle that is marked. */
  readonly chosen: Signal<string | null>;
  readonly isFollowing: Signal<boolean>;
  /** Where the chosen one went. */
  readonly trail: Signal<readonly Point[]>;
  /** The trip or stop that the trail is of; null where it is of now. */
  readonly way: ReadonlySignal<ShownWay | null>;
  readonly pick: (id: string | null) => void;
  readonly backToNow: () => void;
  /** The vehicles that are shown; null for all. */
  readonly onMap: ReadonlySignal<readonly string[] | null>;
}

/** A way from one instant to another, milliseconds since 1970, which may go on. */
interface ShownWay {
  readonly id: string;
  readonly kind: "trip" | "stop";
  readonly from: number;
  readonly to: number | null;
  readonly points: readonly Point[];
}

/** A place that was asked for by the right button, and where on the map's element it is. CSS pixels. */
interface Asked extends Place {
  readonly x: number;
  readonly y: number;
}

const look = new Look("live");

export function MapPanel({ links }: { links: MapLinks }) {
  const map = useSignal<FleetMap | null>(null);
  const asked = useSignal<Asked | null>(null);
  const load = async (): Promise<Begin> => {
    const { FleetMap } = await loaded(() => import("./fleet_map"));
    return (element, whenReady) => {
      const made = new FleetMap(element, whenReady);
      made.map.on("contextmenu", ({ point: { x, y }, lngLat }) => {
        const { lng, lat } = lngLat.wrap();
        asked.value = { x, y, latitude: lat, longitude: lng };
      });
      made.map.on("movestart", () => { asked.value = null; });
      made.map.on("click", () => { asked.value = null; });
      map.value = made;
      return connect(made, links);
    };
  };
  return (
    <MapFrame label={strings.live.map} load={load}>
      {(isReady) => (
        <>
          {map.value && <Controls map={map.value} links={links} />}
          {isReady && map.value && <NoStreets map={map.value} />}
          {asked.value && <PlaceMenu asked={asked.value} onClose={() => { asked.value = null; }} />}
        </>
      )}
    </MapFrame>
  );
}

/** What can be done with a place on the map. */
function PlaceMenu({ asked, onClose }: { asked: Asked; onClose: () => void }) {
  const menu = useRef<HTMLDivElement>(null);
  const text = placeText(asked);
  useLayoutEffect(() => {
    const element = menu.current as HTMLDivElement;
    const { clientWidth, clientHeight } = element.offsetParent as HTMLElement;
    element.style.insetInlineStart = `${Math.min(asked.x, clientWidth - element.offsetWidth)}px`;
    element.style.insetBlockStart = `${Math.min(asked.y, clientHeight - element.offsetHeight)}px`;
    element.querySelector<HTMLElement>("a, button")?.focus({ preventScroll: true });
  }, [asked]);
  const copy = () => {
    // without TLS the browser has no clipboard for us: the text stays there to be read
    void navigator.clipboard?.writeText(text).then(onClose, () => {});
  };
  return (
    <div ref={menu} class="place-menu" role="group" aria-label={text} onKeyDown={(event) => { if (event.key === "Escape") {
      event.preventDefault();
      onClose();
    } }}>
      <FenceHere at={asked} />
      <button type="button" class="plain" onClick={copy}>{strings.map.copyPlace(text)}</button>
    </div>
  );
}

function Controls({ map, links }: { map: FleetMap; links: MapLinks }) {
  const { chosen, isFollowing, way, backToNow } = links;
  const fitAll = () => {
    look.forget();
    map.fitAll();
  };
  return (
    <div class="map-controls">
      <button type="button" onClick={fitAll}>{strings.map.fit}</button>
      {moment.value !== null && <span class="map-moment">{dayAndTime(moment.value)}</span>}
      {way.value && <button type="button" class="primary" onClick={backToNow}>{strings.map.backToNow}</button>}
      {chosen.value && !way.value && (
        <button type="button" aria-pressed={isFollowing.value} onClick={() => { isFollowing.value = !isFollowing.value; }}>{strings.map.follow}</button>
      )}
    </div>
  );
}

/** Fences and units on the map, kept up to date until the returned function is called. */
export function showFences(map: FleetMap): () => void {
  const ends = [
    effect(() => {
      const inside = stays.value;
      inside.revision.value;
      const occupied = new Set(inside.fences());
      map.setFences(fences.value.values(), (id) => occupied.has(id));
    }),
    effect(() => map.setUnits(conventions.value.isImperial)),
  ];
  return () => ends.forEach((end) => end());
}

function connect(map: FleetMap, { chosen, isFollowing, trail, way, pick, onMap }: MapLinks): () => void {
  map.onPick = pick;
  map.onFollowEnd = () => { isFollowing.value = false; };
  let fleet = organization.peek()?.id;
  const ends = [
    effect(() => {
      if (organization.value?.id === fleet) return;
      fleet = organization.value?.id;
      map.forget();
    }),
    look.keep(map, () => isFollowing.peek()),
    showFences(map),
    onTheme(() => map.restyle()),
    effect(() => {
      const positions = table.value;
      positions.revision.value;
      vehicles.value;
      const only = onMap.value;
      if (only === null) map.setVehicles(positions, standings.value, vehicleName);
      else {
        const some = rowsOf(positions, standings.value, chosen.value && !only.includes(chosen.value) ? [...only, chosen.value] : only);
        map.setVehicles(some, some.standings, vehicleName);
      }
    }),
    effect(() => {
      map.choose(chosen.value);
      if (chosen.value) map.reveal(chosen.value);
    }),
    // lines of now would lead there
    effect(() => map.setPast(moment.value !== null)),
    effect(() => map.setTrail(moment.value === null ? trail.value : [])),
    followWay(map, way, chosen, isFollowing),
    effect(() => map.follow(isFollowing.value)),
  ];
  let isOver = false;
  loaded(() => import("../state/alerts")).then(({ alerts }) => {
    if (!isOver) ends.push(effect(() => map.setUrgent(new Set([...alerts.value.flatMap(({ vehicleIds }) => vehicleIds), ...suspected.value.keys()]))));
  }, notice);
  return () => {
    isOver = true;
    ends.forEach((stop) => stop());
    map.remove();
  };
}

/** Goes to a way as it is chosen, marks where it begins and ends, and comes back to the vehicle. */
function followWay(map: FleetMap, way: MapLinks["way"], chosen: Signal<string | null>, isFollowing: Signal<boolean>): () => void {
  let shown: string | null = null;
  return effect(() => {
    const next = way.value;
    map.fill("marks", { type: "FeatureCollection", features: next ? marksOf(next) : [] });
    if (next && next.id !== shown) {
      isFollowing.value = false;
      map.showLine(next.points);
    } else if (!next && shown && chosen.peek()) map.reveal(chosen.peek() ?? "");
    shown = next?.id ?? null;
  });
}

function marksOf({ kind, from, to, points }: ShownWay): GeoJSON.Feature[] {
  const mark = (point: Point | undefined, text: string): GeoJSON.Feature[] =>
    (point ? [{ type: "Feature", geometry: { type: "Point", coordinates: [...point] }, properties: { kind, text } }] : []);
  if (kind === "stop") return mark(points[0], `${hourOfDay(from)} – ${to === null ? "" : hourOfDay(to)}`);
  return [...mark(points[0], hourOfDay(from)), ...(to === null ? [] : mark(points.at(-1), hourOfDay(to)))];
}
