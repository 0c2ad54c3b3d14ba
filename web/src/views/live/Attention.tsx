// What asks for somebody's attention, the most urgent first, or that nothing does; and what did before.

import { signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";

import { api, slices } from "../../api/client";
import { may } from "../../api/permissions";
import type { Alert } from "../../api/schema";
import { measure } from "../../format";
import { type Person, Phone, findDriver } from "../../parts/Driver";
import { NearTown } from "../../parts/NearTown";
import { Time } from "../../parts/Time";
import { useAnswer } from "../../parts/answer";
import { acknowledge, alerts, isKnown, isMore, snooze } from "../../state/alerts";
import { now } from "../../state/clock";
import { alertsTold, edits, scope, suspected, vehicleName } from "../../state/fleet";
import { notice } from "../../state/notices";
import { href } from "../../state/route";
import { alertWords as words } from "../../strings_alerts";

/** So many past ones at once. */
const PAST = 20;
/** Of those that ask for attention as many as anybody reads; the others move up as these are seen to. */
const MOST_ROWS = 200;

export function Attention() {
  const isPastShown = useSignal(false);
  const drains = [...suspected.value].filter(([, event]) => event.type === "drain");
  const many = alerts.value.length + drains.length;
  const summary = many > 0 ? words.count(isMore.value ? alerts.value.length : many, isMore.value) : isKnown.value && words.nothing;
  return (
    <section class="panel attention" aria-label={words.title}>
      <header class="panel-head">
        <h2>{words.title}</h2>
        <span class="quiet">{summary}</span>
        <button type="button" class="plain" aria-label={words.past} aria-expanded={isPastShown.value} onClick={() => { isPastShown.value = !isPastShown.value; }}>{words.pastShort}</button>
      </header>
      {(many > 0 || isPastShown.value) && (
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
            {alerts.value.slice(0, MOST_ROWS).map((alert) => <Row key={alert.id} alert={alert} />)}
          </ol>
          {alerts.value.length > MOST_ROWS && <p class="empty quiet">{words.notShown(alerts.value.length - MOST_ROWS, isMore.value)}</p>}
          {isPastShown.value && <Past />}
        </div>
      )}
    </section>
  );
}

/** Those that ask for nobody any more, or not yet again, the newest first. */
function Past() {
  const pages = useSignal(1);
  const past = useAnswer(async () => {
    alertsTold.value;
    edits.value.alert;
    const query = { ...scope.value, open: false, limit: PAST };
    let hasMore = false;
    const found = await slices(async (after) => {
      const slice = await api.get("/v1/alerts", { query: { ...query, after } });
      hasMore = slice.pagination.hasNextPage;
      return slice;
    }, pages.value);
    return { found, hasMore };
  });
  if (!past.value) return null;
  const { found, hasMore } = past.value;
  return (
    <section class="past" aria-label={words.past}>
      <h3>{words.past}</h3>
      {found.length === 0 && <p class="quiet">{words.noPast}</p>}
      <ol class="events">{found.map((alert) => <Row key={alert.id} alert={alert} />)}</ol>
      {hasMore && <button type="button" onClick={() => { pages.value += 1; }}>{words.older}</button>}
    </section>
  );
}

function Row({ alert }: { alert: Alert }) {
  const { rule, open, vehicleId, vehicleName: name, vehicleIds, startedAt } = alert;
  const isBusy = useSignal(false);
  const act = (what: () => Promise<void>) => () => {
    isBusy.value = true;
    what().catch(notice).finally(() => { isBusy.value = false; });
  };
  const what = `${words.rules[rule]}, ${name}`;
  return (
    <li data-event={rule} data-seen={Boolean(alert.acknowledgedAt)}>
      <span class="event-shape" aria-hidden="true" />
      <div class="event-what">
        {vehicleIds.length > 1 ? <b>{words.vehicles(vehicleIds.length)}</b> : <a href={href("live", vehicleId)}>{name}</a>} {words.rules[rule]} {detail(alert)}
        <When alert={alert} />
        {alert.driverId && <Driver id={alert.driverId} />}
      </div>
      <div class="event-actions">
        {rule === "drain" && <a href={href("fuel-event", alert.causeId)} aria-label={words.evidenceOf(name)}>{words.evidence}</a>}
        <a href={`${href("replay", vehicleId)}?at=${startedAt}`} aria-label={words.replayOf(name)}>{words.replay}</a>
        {open && may("handleAlerts") && (
          <>
            {!alert.acknowledgedAt && <button type="button" class="plain" disabled={isBusy.value} aria-label={words.seenLabel(what)} onClick={act(() => acknowledge(alert))}>{words.seen}</button>}
            <button type="button" class="plain" disabled={isBusy.value} aria-label={words.snoozeLabel(what)} onClick={act(() => snooze(alert, now.peek()))}>{words.snooze}</button>
          </>
        )}
      </div>
    </li>
  );
}

function When({ alert: { open, startedAt, endedAt, snoozedUntil, acknowledgedAt, acknowledgedBy, location } }: { alert: Alert }) {
  const isPutOff = !open && !endedAt && snoozedUntil && Date.parse(snoozedUntil) > now.value;
  return (
    <div class="event-when">
      {open && words.since} <Time at={startedAt} />{endedAt && <> – <Time at={endedAt} /></>}<NearTown at={location} before=" · " />
      {acknowledgedAt && <span> · {words.seenBy(acknowledgedBy?.name ?? words.operator)} <Time at={acknowledgedAt} /></span>}
      {isPutOff && <span> · {words.putOff} <Time at={snoozedUntil} /></span>}
    </div>
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
  return <div class="event-when">{driver.name} <Phone number={driver.phone} label={words.call(driver.name, driver.phone)} /></div>;
}
