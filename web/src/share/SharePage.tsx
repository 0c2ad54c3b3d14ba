// Where some vehicles are, for whoever has the link: a list and a map.

import { effect } from "@preact/signals";

import { moment, zone } from "../format";
import type { FleetMap } from "../map/fleet_map";
import { type Begin, MapFrame } from "../map/MapFrame";
import { Age } from "../parts/Age";
import { Updated } from "../parts/Updated";
import { loaded } from "../state/loading";
import { onTheme } from "../state/theme";
import { shareWords as words } from "../strings_shares";
import { keyed, places, shown, standing } from "./shown";

export function SharePage() {
  const said = words.standings[standing.value];
  return (
    <main class="share" aria-label={words.pageTitle} data-share={standing.value}>
      <section class="share-list" aria-labelledby="title">
        <h1 id="title">{words.pageTitle}</h1>
        <p role="status">{said}</p>
        <Updated />
        {shown.value && <Vehicles />}
      </section>
      {shown.value && <MapFrame label={words.map} load={load} />}
    </main>
  );
}

function Vehicles() {
  const found = shown.value;
  if (!found) return null;
  return (
    <>
      <ul>
        {keyed(found.vehicles).map(([key, { name, motion, lastHeardAt }]) => (
          <li key={key}>
            <b>{name}</b>
            <span class="chip" data-standing={motion}>{words.motions[motion]}</span>
            <span class="quiet">{lastHeardAt ? <>{words.heard} <Age at={Date.parse(lastHeardAt)} /></> : words.never}</span>
          </li>
        ))}
      </ul>
      <p class="quiet">{words.until(moment(found.endsAt), zone())}</p>
    </>
  );
}

const load = async (): Promise<Begin> => {
  const { FleetMap } = await loaded(() => import("../map/fleet_map"));
  return (element, whenReady) => connect(new FleetMap(element, whenReady));
};

function connect(map: FleetMap): () => void {
  const ends = [
    onTheme(() => map.restyle()),
    effect(() => {
      places.revision.value;
      map.setVehicles(places, places.motions.slice(0, places.count), (key) => key);
      map.keepAllInView();
    }),
  ];
  return () => {
    ends.forEach((stop) => stop());
    map.remove();
  };
}
