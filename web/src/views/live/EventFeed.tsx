// What has just happened, newest first. Holds still while somebody points at it or has the focus in it.

import { useSignal, useSignalEffect } from "@preact/signals";

import type { Event } from "../../api/schema";
import { Empty } from "../../parts/Empty";
import { span, timeOfDay } from "../../format";
import { fenceName } from "../../state/fleet";
import { href } from "../../state/route";
import { strings } from "../../strings";
import { type Happening, happenings, mute, muted } from "./happenings";

/** As many as somebody may want to look back through; the list of events has the rest. */
const SHOWN = 100;

export function EventFeed() {
  const words = strings.events;
  const held = useSignal<readonly Happening[] | null>(null);
  const current = happenings.value;
  // whoever mutes wants to see it, also while pointing
  useSignalEffect(() => {
    muted.value;
    if (held.peek()) held.value = happenings.peek();
  });
  const shown = (held.value ?? current).slice(0, SHOWN);
  const known = new Set(held.value?.map(({ last }) => last.id));
  const waiting = held.value ? current.filter(({ last }) => !known.has(last.id)).length : 0;
  const hold = () => { held.value ??= happenings.peek(); };
  const release = (event: PointerEvent | FocusEvent) => {
    const panel = event.currentTarget as HTMLElement;
    const stays = event.type === "focusout" ? panel.contains(event.relatedTarget as Node | null) || panel.matches(":hover") : panel.matches(":focus-within");
    if (!stays) held.value = null;
  };
  return (
    <section class="panel" aria-label={words.title} onPointerEnter={hold} onPointerLeave={release} onFocusIn={hold} onFocusOut={release}>
      <header class="panel-head">
        <h2>{words.title}</h2>
        {waiting > 0 && <button type="button" class="pill" title={words.held} onClick={() => { held.value = happenings.peek(); }}>{words.waiting(waiting)}</button>}
      </header>
      <Muted />
      <div class="panel-body" tabIndex={0} role="group" aria-label={words.title} data-held={held.value !== null}>
        {shown.length === 0 && <Empty what={muted.value.length > 0 ? words.allMuted : words.empty} next={words.emptyNext} />}
        <ol class="events">{shown.map((each) => <Line key={each.visitId} {...each} />)}</ol>
      </div>
    </section>
  );
}

function Muted() {
  const words = strings.events;
  if (muted.value.length === 0) return null;
  return (
    <p class="muted">
      {words.muted}
      {muted.value.map((id) => (
        <button key={id} type="button" class="pill" aria-label={words.unmute(fenceName(id))} onClick={() => mute(id, false)}>{fenceName(id)} ✕</button>
      ))}
    </p>
  );
}

function Line({ last, entry, exit }: Happening) {
  const words = strings.events;
  return (
    <li data-event={last.type} data-status={last.status}>
      <span class="event-shape" aria-hidden="true" />
      <div class="event-what">
        <a href={href("live", last.vehicleId)}>{last.vehicleName}</a> {words.words[last.type]} <b>{last.geofenceName}</b>
        {last.status === "retracted" && <em> ({words.takenBack})</em>}
        <div class="event-when">
          {exit && entry && <><Time event={entry} /> → </>}
          <Time event={last} />
          {exit && entry && <span> · {words.stay(span(Date.parse(exit.occurredAt) - Date.parse(entry.occurredAt)))}</span>}
        </div>
      </div>
      <div class="event-actions">
        <a href={`${href("replay", last.vehicleId)}?at=${last.occurredAt}`} aria-label={words.replayOf(last.vehicleName)}>{words.replay}</a>
        <button type="button" class="plain" aria-label={words.muteFence(last.geofenceName)} onClick={() => mute(last.geofenceId, true)}>{words.mute}</button>
      </div>
    </li>
  );
}

function Time({ event }: { event: Event }) {
  return <time dateTime={event.occurredAt}>{timeOfDay(event.occurredAt)}</time>;
}
