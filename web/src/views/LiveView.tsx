// The fleet as it is: list, map, who is inside, what has just happened; or, of one vehicle, everything.

import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";

import { MapPanel } from "../map/MapPanel";
import { href, route } from "../state/route";
import { EventFeed } from "./live/EventFeed";
import { InsideNow } from "./live/InsideNow";
import { Totals } from "./live/Totals";
import { VehicleList } from "./live/VehicleList";
import { followTrail } from "./live/trail";
import { onMap } from "./live/listing";
import { VehiclePanel } from "./vehicle/VehiclePanel";

export function LiveView() {
  const chosen = useComputed(() => (route.value.parts[0] === "live" ? route.value.parts[1] ?? null : null));
  const isFollowing = useSignal(false);
  const trail = useMemo(() => followTrail(chosen), []);
  useEffect(() => trail.stop, []);
  const pick = (id: string | null) => { location.hash = id ? href("live", id) : href("live"); };
  const links = useMemo(() => ({ chosen, isFollowing, trail: trail.points, pick, onMap }), []);
  return (
    <div class="live">
      <div class="live-list"><Totals /><VehicleList chosen={chosen.value} /></div>
      <MapPanel links={links} />
      <div class="live-side">
        {chosen.value ? <VehiclePanel key={chosen.value} id={chosen.value} /> : <><InsideNow /><EventFeed /></>}
      </div>
    </div>
  );
}
