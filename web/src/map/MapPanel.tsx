// The map as a part of the page: loaded after the page stands, and missing with a reason where it cannot be.

import { type Signal, effect, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { sentence } from "../api/problem";
import { fences, inside, organization, positions, vehicleName, vehicles } from "../state/fleet";
import { standings } from "../state/standing";
import { theme } from "../state/theme";
import { strings } from "../strings";
import type { FleetMap } from "./fleet_map";
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
  const container = useRef<HTMLDivElement>(null);
  const map = useSignal<FleetMap | null>(null);
  const state = useSignal<"loading" | "ready" | "missing">("loading");
  const reason = useSignal("");

  useEffect(() => {
    let end = () => {};
    let isGone = false;
    const element = container.current as HTMLDivElement;
    load(element, () => { state.value = "ready"; })
      .then((loaded) => {
        if (isGone) return loaded.remove();
        map.value = loaded;
        end = connect(loaded, links);
      })
      .catch((error: unknown) => {
        reason.value = whyMissing(error);
        state.value = "missing";
      });
    return () => {
      isGone = true;
      end();
    };
  }, []);

  return (
    <section class="map-panel" aria-label={strings.live.map} data-map={state}>
      <div ref={container} class="map" hidden={state.value === "missing"} />
      {state.value === "loading" && <p class="map-note">{strings.map.loading}</p>}
      {state.value === "missing" && <p class="map-note" role="status">{reason}</p>}
      {map.value && <Controls map={map.value} links={links} />}
    </section>
  );
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

function hasWebgl2(): boolean {
  return document.createElement("canvas").getContext("webgl2") !== null;
}

/** Why there is no map, as a sentence. */
export const whyMissing = (error: unknown): string => (hasWebgl2() ? strings.map.failed(sentence(error)) : strings.map.noWebgl);

/** The map's program, which is most of the page's bytes, and a map. */
export async function load(container: HTMLElement, whenReady: () => void, isLive = true): Promise<FleetMap> {
  const { FleetMap } = await import("./fleet_map");
  const map = new FleetMap(container, whenReady, isLive);
  // for tests, and for whoever looks into the page
  Object.assign(container, { fleetMap: map });
  return map;
}

/** Fences on the map, kept up to date until the returned function is called. */
export function showFences(map: FleetMap): () => void {
  return effect(() => {
    inside.revision.value;
    const occupied = new Set(inside.fences());
    map.setFences(fences.value.values(), (id) => occupied.has(id));
  });
}

/** The map's colours follow the page's. */
export function followTheme(map: FleetMap): () => void {
  let shown = theme.peek();
  return effect(() => {
    if (theme.value === shown) return;
    shown = theme.value;
    map.restyle();
  });
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
    followTheme(map),
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
