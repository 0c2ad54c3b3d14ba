// What has just happened, newest first. Holds still while somebody points at it or has the focus in it.

import { useSignal, useSignalEffect } from "@preact/signals";

import type { ConnectionEvent, Event, FuelRecord, OverspeedEvent } from "../../api/schema";
import { Empty } from "../../parts/Empty";
import { NearTown } from "../../parts/NearTown";
import { Time } from "../../parts/Time";
import { measure, span } from "../../format";
import { fenceName, suspected, vehicleName } from "../../state/fleet";
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
  const known = new Set(held.value?.map(idOf));
  const waiting = held.value ? current.filter((one) => !known.has(idOf(one))).length : 0;
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
        <Suspects />
        {shown.length === 0 && <Empty what={muted.value.length > 0 ? words.allMuted : words.empty} next={words.emptyNext} />}
        <ol class="events">{shown.map(lineOf)}</ol>
      </div>
    </section>
  );
}

function lineOf(one: Happening) {
  if ("fuel" in one) return <FuelLine key={one.key} record={one.fuel} />;
  if ("over" in one) return <OverspeedLine key={one.key} record={one.over} />;
  if ("heard" in one) return <ConnectionLine key={one.key} record={one.heard} />;
  const { key, ...stay } = one;
  return <Line key={key} {...stay} />;
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

/** What is found and not certain yet: nothing of it is stored. */
function Suspects() {
  const words = strings.events;
  if (suspected.value.size === 0) return null;
  return (
    <ol class="events" aria-label={words.suspected}>
      {[...suspected.value].map(([vehicleId, { type, volumeLiters, startedAt }]) => (
        <li key={vehicleId} data-event={type} data-status="provisional">
          <span class="event-shape" aria-hidden="true" />
          <div class="event-what">
            <a href={href("live", vehicleId)}>{vehicleName(vehicleId)}</a> {words.maybe[type]} <b>{measure("volume", volumeLiters)}</b>
            <div class="event-when"><Time at={startedAt} /> · {words.notCertain}</div>
          </div>
        </li>
      ))}
    </ol>
  );
}

function FuelLine({ record: { id, type, status, vehicleId, vehicleName, volumeLiters, startedAt } }: { record: FuelRecord }) {
  const words = strings.events;
  return (
    <li data-event={type} data-status={status}>
      <span class="event-shape" aria-hidden="true" />
      <div class="event-what">
        <a href={href("live", vehicleId)}>{vehicleName}</a> {words.words[type]} <b>{measure("volume", volumeLiters)}</b>
        {status === "retracted" && <em> ({words.takenBack})</em>}
        <div class="event-when"><Time at={startedAt} /></div>
      </div>
      <div class="event-actions">
        <a href={href("fuel-event", id)} aria-label={words.evidenceOf(vehicleName)}>{words.evidence}</a>
        <a href={`${href("replay", vehicleId)}?at=${startedAt}`} aria-label={words.replayOf(vehicleName)}>{words.replay}</a>
      </div>
    </li>
  );
}

function ConnectionLine({ record: { type, vehicleId, vehicleName, occurredAt } }: { record: ConnectionEvent }) {
  const words = strings.events;
  return (
    <li data-event={type} data-status="active">
      <span class="event-shape" aria-hidden="true" />
      <div class="event-what">
        <a href={href("live", vehicleId)}>{vehicleName}</a> {words.heard[type]}
        <div class="event-when"><Time at={occurredAt} /></div>
      </div>
      <div class="event-actions">
        <a href={`${href("replay", vehicleId)}?at=${occurredAt}`} aria-label={words.replayOf(vehicleName)}>{words.replay}</a>
      </div>
    </li>
  );
}

function OverspeedLine({ record }: { record: OverspeedEvent }) {
  const words = strings.events;
  const { type, status, vehicleId, vehicleName, geofenceName, limitKmh, maxSpeedKmh, startedAt, endedAt, durationSeconds, location } = record;
  return (
    <li data-event={type} data-status={status}>
      <span class="event-shape" aria-hidden="true" />
      <div class="event-what">
        <a href={href("live", vehicleId)}>{vehicleName}</a> {words.overspeed} <b>{measure("speed", maxSpeedKmh)}</b> {words.insteadOf(measure("speed", limitKmh), geofenceName)}
        {status === "retracted" && <em> ({words.takenBack})</em>}
        <div class="event-when"><Time at={startedAt} /> · {endedAt ? words.stay(span(durationSeconds * 1000)) : words.goesOn}<NearTown at={location} before=" · " /></div>
      </div>
      <div class="event-actions">
        <a href={`${href("replay", vehicleId)}?at=${startedAt}`} aria-label={words.replayOf(vehicleName)}>{words.replay}</a>
      </div>
    </li>
  );
}

function Line({ last, entry, exit }: Omit<Extract<Happening, { last: Event }>, "key">) {
  const words = strings.events;
  return (
    <li data-event={last.type} data-status={last.status}>
      <span class="event-shape" aria-hidden="true" />
      <div class="event-what">
        <a href={href("live", last.vehicleId)}>{last.vehicleName}</a> {words.words[last.type]} <b>{last.geofenceName}</b>
        {last.status === "retracted" && <em> ({words.takenBack})</em>}
        <div class="event-when">
          {exit && entry && <><Time at={entry.occurredAt} /> → </>}
          <Time at={last.occurredAt} />
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

const idOf = (one: Happening): string => ("last" in one ? one.last.id : one.key);
