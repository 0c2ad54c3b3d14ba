// Tells who runs the server, until they have read it, how its map gets streets: where one looks so close that there is nothing without.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { isOperator } from "../api/session";
import { strings } from "../strings";
import type { FleetMap } from "./fleet_map";

/** From this zoom on there are no coasts and no cities to go by. */
const CLOSE_ZOOM = 11;
const READ = "waypost.map.streets";

export function NoStreets({ map: { map } }: { map: FleetMap }) {
  const isBare = useSignal(false);
  const isClose = useSignal(map.getZoom() >= CLOSE_ZOOM);
  const isRead = useSignal(localStorage.getItem(READ) !== null);
  useEffect(() => {
    void import("./background").then(({ background }) => background).then((found) => { isBare.value = found === null; });
    const look = () => { isClose.value = map.getZoom() >= CLOSE_ZOOM; };
    map.on("moveend", look);
    // the map may have moved between the first render and this effect
    look();
    return () => { map.off("moveend", look); };
  }, []);
  if (!isOperator.value || !isBare.value || !isClose.value || isRead.value) return null;
  const words = strings.map.streets;
  const read = () => {
    localStorage.setItem(READ, "read");
    isRead.value = true;
  };
  return (
    <aside class="map-streets" aria-label={words.title}>
      <p>{words.text} <code>{words.command}</code></p>
      <button type="button" onClick={read}>{words.read}</button>
    </aside>
  );
}
