// The fleet as it is: list, map, who is inside, what has just happened.

import { MapPanel } from "../map/MapPanel";
import { EventFeed } from "./live/EventFeed";
import { InsideNow } from "./live/InsideNow";
import { Totals } from "./live/Totals";
import { VehicleList } from "./live/VehicleList";

export function LiveView() {
  return (
    <div class="live">
      <div class="live-list"><Totals /><VehicleList /></div>
      <MapPanel />
      <div class="live-side"><InsideNow /><EventFeed /></div>
    </div>
  );
}
