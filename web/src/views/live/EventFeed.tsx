// What has just happened, newest first.

import type { Event } from "../../api/schema";
import { Empty } from "../../parts/Empty";
import { Panel } from "../../parts/Panel";
import { timeOfDay } from "../../format";
import { events } from "../../state/fleet";
import { strings } from "../../strings";

/** As many as somebody may want to look back through; the list of events has the rest. */
const SHOWN = 200;

export function EventFeed() {
  const words = strings.events;
  const list = events.list.value.slice(0, SHOWN);
  return (
    <Panel title={words.title}>
      {list.length === 0 ? <Empty what={words.empty} next={words.emptyNext} /> : (
        <ol class="events">{list.map((event) => <Line key={event.id} event={event} />)}</ol>
      )}
    </Panel>
  );
}

function Line({ event }: { event: Event }) {
  return (
    <li data-event={event.type} data-status={event.status}>
      <time dateTime={event.occurredAt}>{timeOfDay(event.occurredAt)}</time>
      <span>
        <b>{event.vehicleName}</b> {strings.events.words[event.type]} <b>{event.geofenceName}</b>
        {event.status === "retracted" && <em> ({strings.events.takenBack})</em>}
      </span>
    </li>
  );
}
