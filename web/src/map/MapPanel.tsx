// The map of the fleet as it is: what the live view shows on it.

import { type Signal, effect, useSignal } from "@preact/signals";

import { conventions } from "../conventions";
import { fences, inside, organization, positions, vehicleName, vehicles } from "../state/fleet";
import { standings } from "../state/standing";
import { onTheme } from "../state/theme";
import { strings } from "../strings";
import type { FleetMap } from "./fleet_map";
import { type Begin, MapFrame } from "./MapFrame";
import type { Point } from "./geodesic";

/** What the map shows beside the fleet, and what it is told to do. */
export interface MapLinks {
  /** The vehicle that is marked. */
  readonly chosen: Signal<string | null>;
  readonly isFollowing: Signal<boolean>;
  /** Where the chosen one went. */
  readonly trail: Signal<readonly Point[]>;
  readonly pick: (id: string | null) => void;
}

export function MapPanel({ links }: { links: MapLinks }) {
  const map = useSignal<FleetMap | null>(null);
  const load = async (): Promise<Begin> => {
    const { FleetMap } = await import("./fleet_map");
    return (element, whenReady) => {
      map.value = new FleetMap(element, whenReady);
      return connect(map.value, links);
    };
  };
  return <MapFrame label={strings.live.map} load={load}>{() => map.value && <Controls map={map.value} links={links} />}</MapFrame>;
}

function Controls({ map, links }: { map: FleetMap; links: MapLinks }) {
  const { chosen, isFollowing } = links;
  return (
    <div class="map-controls">
      <button type="button" onClick={() => map.fitAll()}>{strings.map.fit}</button>
      {chosen.value && (
        <button type="button" aria-pressed={isFollowing.value} onClick={() => { isFollowing.value = !isFollowing.value; }}>{strings.map.follow}</button>
      )}
    </div>
  );
}

/** Fences and units on the map, kept up to date until the returned function is called. */
export function showFences(map: FleetMap): () => void {
  const ends = [
    effect(() => {
      inside.revision.value;
      const occupied = new Set(inside.fences());
      map.setFences(fences.value.values(), (id) => occupied.has(id));
    }),
    effect(() => map.setUnits(conventions.value.isImperial)),
  ];
  return () => ends.forEach((end) => end());
}

function connect(map: FleetMap, { chosen, isFollowing, trail, pick }: MapLinks): () => void {
  map.onPick = pick;
  map.onFollowEnd = () => { isFollowing.value = false; };
  let fleet = organization.peek()?.id;
  const ends = [
    effect(() => {
      if (organization.value?.id === fleet) return;
      fleet = organization.value?.id;
      map.forget();
    }),
    showFences(map),
    onTheme(() => map.restyle()),
    effect(() => {
      positions.revision.value;
      vehicles.value;
      map.setVehicles(positions, standings.value, vehicleName);
    }),
    effect(() => {
      map.choose(chosen.value);
      if (chosen.value) map.reveal(chosen.value);
    }),
    effect(() => map.setTrail(trail.value)),
    effect(() => map.follow(isFollowing.value)),
  ];
  return () => {
    ends.forEach((stop) => stop());
    map.remove();
  };
}
