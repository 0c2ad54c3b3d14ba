// The fleet as it is: list, map, who is inside, what has just happened; or, of one vehicle, everything.

import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";

import { MapPanel } from "../map/MapPanel";
import { lazy } from "../parts/lazy";
import { organization } from "../state/fleet";
import { followPast, liveHref, moment } from "../state/past";
import { href, route } from "../state/route";
import { way } from "../state/way";
import { EventFeed } from "./live/EventFeed";
import { InsideNow } from "./live/InsideNow";
import { Totals } from "./live/Totals";
import { VehicleList } from "./live/VehicleList";
import { followTrail } from "./live/trail";
import { onMap } from "./live/listing";
import { VehiclePanel } from "./vehicle/VehiclePanel";

const TimeMachine = lazy(async () => (await import("./live/TimeMachine")).TimeMachine);
const Attention = lazy(async () => (await import("./live/Attention")).Attention);

export function LiveView() {
  const chosen = useComputed(() => (route.value.parts[0] === "live" ? route.value.parts[1] ?? null : null));
  const isFollowing = useSignal(false);
  const trail = useMemo(() => followTrail(chosen, way), []);
  useEffect(() => trail.stop, []);
  useEffect(followPast, []);
  const backToNow = () => {
    const { parts, query } = route.peek();
    query.delete("part");
    location.hash = `${href(...parts)}?${query}`;
  };
  const pick = (id: string | null) => {
    if (!id && way.peek()) backToNow();
    else location.hash = liveHref(id);
  };
  const links = useMemo(() => ({ chosen, isFollowing, trail: trail.points, way: trail.way, pick, backToNow, onMap }), []);
  const escape = (event: KeyboardEvent) => {
    // what is being written or answered has an Escape of its own
    const isWriting = event.target instanceof Element && event.target.closest("dialog, form, [type=search]");
    if (event.key !== "Escape" || event.isComposing || event.defaultPrevented || isWriting || !chosen.peek()) return;
    if (way.peek()) backToNow();
    else location.hash = liveHref();
  };
  return (
    <div class="live" onKeyDown={escape}>
      <div class="live-list"><div><Totals /><TimeMachine /></div><div>{moment.value === null && <Attention />}</div><VehicleList chosen={chosen.value} /></div>
      <MapPanel links={links} />
      <div class="live-side">
        {chosen.value ? <VehiclePanel key={`${chosen.value} ${organization.value?.id}`} id={chosen.value} /> : <><InsideNow />{moment.value === null && <EventFeed />}</>}
      </div>
    </div>
  );
}
