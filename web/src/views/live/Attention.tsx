// What asks for somebody's attention, the most urgent first; nothing where nothing does.

import { signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { may } from "../../api/permissions";
import type { Alert } from "../../api/schema";
import { measure } from "../../format";
import { type Person, Phone, findDriver } from "../../parts/Driver";
import { NearTown } from "../../parts/NearTown";
import { Time } from "../../parts/Time";
import { acknowledge, alerts, isMore, snooze } from "../../state/alerts";
import { now } from "../../state/clock";
import { suspected, vehicleName } from "../../state/fleet";
import { notice } from "../../state/notices";
import { href } from "../../state/route";
import { alertWords as words } from "../../strings_alerts";

export function Attention() {
  const drains = [...suspected.value].filter(([, event]) => event.type === "drain");
  const many = alerts.value.length + drains.length;
  if (many === 0) return null;
  return (
    <section class="panel attention" aria-label={words.title}>
      <header class="panel-head">
        <h2>{words.title}</h2>
        <span class="quiet">{words.count(many, isMore.value)}</span>
      </header>
      <div class="panel-body" tabIndex={0} role="group" aria-label={words.title}>
        <ol class="events">
          {drains.map(([vehicleId, { volumeLiters, startedAt }]) => (
            <li key={vehicleId} data-event="drain" data-status="provisional">
              <span class="event-shape" aria-hidden="true" />
              <div class="event-what">
                <a href={href("live", vehicleId)}>{vehicleName(vehicleId)}</a> {words.perhaps} <b>{measure("volume", volumeLiters)}</b>
                <div class="event-when"><Time at={startedAt} /> · {words.notCertain}</div>
              </div>
            </li>
          ))}
          {alerts.value.map((alert) => <Row key={alert.id} alert={alert} />)}
        </ol>
      </div>
    </section>
  );
}

function Row({ alert }: { alert: Alert }) {
  const { rule, vehicleId, vehicleName: name, vehicleIds, startedAt, acknowledgedAt, acknowledgedBy, location } = alert;
  const isBusy = useSignal(false);
  const act = (what: () => Promise<void>) => () => {
    isBusy.value = true;
    what().catch(notice).finally(() => { isBusy.value = false; });
  };
  const what = `${words.rules[rule]}, ${name}`;
  return (
    <li data-event={rule} data-seen={Boolean(acknowledgedAt)}>
      <span class="event-shape" aria-hidden="true" />
      <div class="event-what">
        {vehicleIds.length > 1 ? <b>{words.vehicles(vehicleIds.length)}</b> : <a href={href("live", vehicleId)}>{name}</a>} {words.rules[rule]} {detail(alert)}
        <div class="event-when">
          {words.since} <Time at={startedAt} /><NearTown at={location} before=" · " />
          {acknowledgedAt && <span> · {words.seenBy(acknowledgedBy?.name ?? words.operator)} <Time at={acknowledgedAt} /></span>}
        </div>
        {alert.driverId && <Driver id={alert.driverId} />}
      </div>
      <div class="event-actions">
        {rule === "drain" && <a href={href("fuel-event", alert.causeId)} aria-label={words.evidenceOf(name)}>{words.evidence}</a>}
        <a href={`${href("replay", vehicleId)}?at=${startedAt}`} aria-label={words.replayOf(name)}>{words.replay}</a>
        {may("handleAlerts") && (
          <>
            {!acknowledgedAt && <button type="button" class="plain" disabled={isBusy.value} aria-label={words.seenLabel(what)} onClick={act(() => acknowledge(alert))}>{words.seen}</button>}
            <button type="button" class="plain" disabled={isBusy.value} aria-label={words.snoozeLabel(what)} onClick={act(() => snooze(alert, now.peek()))}>{words.snooze}</button>
          </>
        )}
      </div>
    </li>
  );
}

function detail({ rule, volumeLiters, maxSpeedKmh, limitKmh, geofenceName }: Alert) {
  if (rule === "drain" && typeof volumeLiters === "number") return <b>{measure("volume", volumeLiters)}</b>;
  if (rule === "overspeed" && typeof maxSpeedKmh === "number" && typeof limitKmh === "number") {
    return <b>{words.insteadOf(measure("speed", maxSpeedKmh), measure("speed", limitKmh))}</b>;
  }
  return geofenceName && <b>{geofenceName}</b>;
}

/** Who was asked for: alerts are few, and their drivers come again. */
const people = signal<ReadonlyMap<string, Person>>(new Map());

function Driver({ id }: { id: string }) {
  useEffect(() => {
    if (people.peek().has(id)) return;
    void findDriver(id).then((driver) => { if (driver) people.value = new Map(people.peek()).set(id, driver); });
  }, [id]);
  const driver = people.value.get(id);
  if (!driver) return null;
  return <div class="event-when">{driver.name} <Phone number={driver.phone} label={words.call(driver.name)} /></div>;
}
