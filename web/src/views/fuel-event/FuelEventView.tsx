// One refuel or drain with its evidence, and what somebody found of it. Prints on one page.

import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useId, useLayoutEffect } from "preact/hooks";

import { api } from "../../api/client";
import { may } from "../../api/permissions";
import { Problem, sentence } from "../../api/problem";
import type { FuelOutcome, JudgedFuelEvent } from "../../api/schema";
import { measure, span } from "../../format";
import { placeText } from "../../map/place_text";
import { type Person, Phone } from "../../parts/Driver";
import { Empty } from "../../parts/Empty";
import { Refused, useDraft } from "../../parts/form";
import { Time } from "../../parts/Time";
import { NearTown } from "../../parts/NearTown";
import { useAnswer } from "../../parts/answer";
import { edits, fenceName, scope } from "../../state/fleet";
import { hold, href } from "../../state/route";
import { fuelEventWords as words } from "../../strings_fuel_event";
import "../../styles/fuel_event.css";
import { FuelChart } from "../vehicle/FuelChart";
import { type Evidence, loadEvidence } from "./evidence";

export function FuelEventView({ parts: [id = ""] }: { parts: readonly string[] }) {
  return <OneEvent key={id} id={id} />;
}

function OneEvent({ id }: { id: string }) {
  const fault = useSignal("");
  const judged = useSignal<JudgedFuelEvent | null>(null);
  const ask = () => {
    // a verdict is told with the alert it is of
    edits.value.alert;
    return api.get("/v1/fuel/events/{eventId}", { path: { eventId: id }, query: scope.value });
  };
  const found = useAnswer(ask, (problem) => {
    fault.value = problem instanceof Problem && problem.status === 404 ? words.unknown : sentence(problem);
  });
  useSignalEffect(() => { judged.value = found.value; });
  // no verdict changes the evidence
  const revision = useComputed(() => found.value?.revision);
  const evidence = useAnswer<Evidence | null>(async () => {
    revision.value;
    const event = found.peek();
    return event && loadEvidence(event);
  });
  const event = judged.value;
  if (!event) return fault.value ? <Empty what={fault.value} next="" /> : <p class="quiet" role="status">{words.loading}</p>;
  return <Sheet event={event} evidence={evidence.value} onJudged={(next) => { judged.value = next; }} />;
}

interface Props {
  readonly event: JudgedFuelEvent;
  readonly evidence: Evidence | null;
  readonly onJudged: (event: JudgedFuelEvent) => void;
}

function Sheet({ event, evidence, onJudged }: Props) {
  const title = useId();
  return (
    <div class="fuel-event" tabIndex={0} role="group" aria-labelledby={title}>
      <article class="fuel-event-sheet">
        <header>
          <h2 id={title}>{words.titles[event.type]}, {event.vehicleName}</h2>
          {event.status === "retracted" && <b>{words.takenBack}</b>}
          <span class="grow" />
          <a href={`${href("replay", event.vehicleId)}?at=${event.startedAt}`}>{words.replay}</a>
          <button type="button" onClick={() => print()}>{words.print}</button>
        </header>
        <Facts event={event} driver={evidence?.driver ?? null} />
        <Verdict event={event} onJudged={onJudged} />
        {evidence && (
          <>
            {evidence.columns.recordedAt.length > 0 && (
              <section class="wide"><FuelChart columns={evidence.columns} label={words.chart(event.vehicleName)} at={Date.parse(event.startedAt)} /></section>
            )}
            <Readings evidence={evidence} />
            <Near event={event} evidence={evidence} />
          </>
        )}
      </article>
    </div>
  );
}

function Facts({ event, driver }: { event: JudgedFuelEvent; driver: Person | null }) {
  const { type, vehicleId, vehicleName, startedAt, endedAt, levelBeforeLiters, levelAfterLiters, volumeLiters, confidence, motion, location, geofenceIds } = event;
  return (
    <section>
      <h3>{words.facts}</h3>
      <dl>
        <dt>{words.vehicle}</dt><dd><a href={href("live", vehicleId)}>{vehicleName}</a></dd>
        <dt>{words.when}</dt><dd><Time at={startedAt} /> – <Time at={endedAt} /></dd>
        <dt>{words.lost[type]}</dt><dd><b>{measure("volume", volumeLiters)}</b></dd>
        <dt>{words.before}</dt><dd>{measure("volume", levelBeforeLiters)}</dd>
        <dt>{words.after}</dt><dd>{measure("volume", levelAfterLiters)}</dd>
        <dt>{words.confidence}</dt><dd>{words.percent(confidence)}</dd>
        <dt>{words.motion}</dt><dd>{words.motions[motion]}</dd>
        <dt>{words.place}</dt><dd>{location ? <>{placeText(location)}<NearTown at={location} before=", " /></> : words.noPlace}</dd>
        {geofenceIds.length > 0 && <><dt>{words.fences}</dt><dd>{geofenceIds.map(fenceName).join(", ")}</dd></>}
        <dt>{words.driver}</dt>
        <dd><span>{driver ? driver.name : words.nobody}</span> {driver && <Phone number={driver.phone} />}</dd>
        <dt>{words.found}</dt><dd><Time at={event.detectedAt} /></dd>
      </dl>
    </section>
  );
}

const OUTCOMES = Object.keys(words.outcomes) as FuelOutcome[];

function Verdict({ event: { id, status, verdict }, onJudged }: Omit<Props, "evidence">) {
  const draft = useDraft(() => ({ note: verdict?.note ?? "" }), verdict?.decidedAt);
  const field = useId();
  useLayoutEffect(() => hold(() => Object.keys(draft.changes()).length > 0), [draft]);
  const judge = (outcome: FuelOutcome) => draft.submit(async () => {
    const body = { outcome, note: String(draft.value.peek()["note"]).trim() || null };
    onJudged(await api.put("/v1/fuel/events/{eventId}/verdict", { path: { eventId: id }, query: scope.peek(), body }));
  });
  return (
    <section>
      <h3>{words.verdict}</h3>
      <p role="status">
        {verdict ? <><b>{words.outcomes[verdict.outcome]}</b> {words.decided(verdict.decidedBy.name ?? words.operator)}, <Time at={verdict.decidedAt} /></> : <span class="quiet">{words.none}</span>}
      </p>
      {verdict?.note && <p class="fuel-event-note">{verdict.note}</p>}
      {may("handleAlerts") && status !== "retracted" && (
        <form class="form" onSubmit={(event) => event.preventDefault()}>
          <div class="field">
            <label for={field}>{words.note}</label>
            <textarea id={field} rows={2} maxLength={1000} aria-describedby={`${field}-hint`} value={String(draft.at("/note"))} onInput={(event) => draft.put("/note", event.currentTarget.value)} />
            <p class="hint" id={`${field}-hint`}>{words.noteHint}</p>
          </div>
          <Refused draft={draft} />
          <div class="fuel-event-verdicts">
            {OUTCOMES.map((outcome) => (
              <button key={outcome} type="button" disabled={draft.isBusy.value} aria-pressed={verdict?.outcome === outcome} onClick={() => void judge(outcome)}>{words.outcomes[outcome]}</button>
            ))}
          </div>
        </form>
      )}
    </section>
  );
}

function Readings({ evidence: { readings } }: { evidence: Evidence }) {
  const liters = (value: number | null | undefined) => (typeof value === "number" ? measure("volume", value) : "");
  return (
    <section>
      <h3>{words.readings}</h3>
      {readings.length === 0 ? <p class="quiet">{words.noReadings}</p> : (
        <table>
          <thead><tr><th scope="col">{words.time}</th><th scope="col" class="number">{words.raw}</th><th scope="col" class="number">{words.read}</th><th scope="col" class="number">{words.smoothed}</th><th scope="col" class="number">{words.speed}</th></tr></thead>
          <tbody>
            {readings.map(({ id, recordedAt, rawValue, levelRawLiters, levelLiters, speedKmh }) => (
              <tr key={id}>
                <th scope="row"><Time at={recordedAt} /></th>
                <td class="number">{rawValue}</td>
                <td class="number">{liters(levelRawLiters)}</td>
                <td class="number">{liters(levelLiters)}</td>
                <td class="number">{typeof speedKmh === "number" ? measure("speed", speedKmh) : ""}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function Near({ event, evidence: { neighbours } }: { event: JudgedFuelEvent; evidence: Evidence }) {
  if (!event.location) return null;
  return (
    <section>
      <h3>{words.near}</h3>
      <p class="hint">{words.nearHint}</p>
      {neighbours === null && <p class="quiet">{words.tooMany}</p>}
      {neighbours?.length === 0 && <p class="quiet">{words.nobodyNear}</p>}
      <ul>
        {neighbours?.map(({ id, name, meters, ageMs, driver }) => (
          <li key={id}><a href={href("live", id)}>{name}</a>{driver && `, ${driver}`} <span class="quiet">{words.away(measure("length", meters), span(ageMs))}</span></li>
        ))}
      </ul>
    </section>
  );
}
