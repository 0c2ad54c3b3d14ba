// Everything of one vehicle: where it is and how fast, who drives it, the fences it is in, what it did on a day, what its device reports,
// its fuel, and how it is entered.

import { useComputed, useSignal } from "@preact/signals";
import { useId, useLayoutEffect } from "preact/hooks";

import { api } from "../../api/client";
import { may } from "../../api/permissions";
import { Problem, sentence } from "../../api/problem";
import type { VehicleOut } from "../../api/schema";
import { measure, span } from "../../format";
import { placeText } from "../../map/place_text";
import { Age } from "../../parts/Age";
import { FenceHere } from "../../parts/FenceHere";
import { Time } from "../../parts/Time";
import { NearTown } from "../../parts/NearTown";
import { useAnswer } from "../../parts/answer";
import { fenceName, loadVehicle, scope, vehicleName, vehicles } from "../../state/fleet";
import { clock, driversThen, liveHref, moment, stays as shownStays, table } from "../../state/past";
import { href } from "../../state/route";
import { speedNow, standing } from "../../state/standing";
import { strings } from "../../strings";
import { AsEntered } from "./AsEntered";
import { Curl } from "./Curl";
import { DayPart } from "./DayPart";
import { Driving } from "./Driving";
import { Fuel } from "./Fuel";
import { Reported } from "./Reported";
import { VehicleForm } from "./VehicleForm";

export function VehiclePanel({ id }: { id: string }) {
  const title = useId();
  const fault = useSignal("");
  const isEditing = useSignal(false);
  const held = useComputed(() => vehicles.value.get(id));
  const ask = () => {
    // another one as soon as somebody changed it
    held.value;
    return api.get("/v1/vehicles/{id}", { path: { id }, query: scope.value });
  };
  const vehicle = useAnswer(ask, (problem) => {
    fault.value = problem instanceof Problem && problem.status === 404 ? strings.detail.unknown : sentence(problem);
  });
  // whoever comes by keyboard goes on reading here
  useLayoutEffect(() => { document.getElementById(title)?.focus({ preventScroll: true }); }, []);
  const words = strings.detail;
  // there may be an answer after all, once the server is found again; and none any more, once the vehicle is deleted
  const isMissing = fault.value !== "" && (vehicle.value === null || !held.value);
  return (
    <section class="panel vehicle" aria-labelledby={title}>
      <header class="panel-head">
        <h2 id={title} tabIndex={-1}>{isMissing && !held.value ? strings.manage.vehicles.vehicle : vehicleName(id)}</h2>
        <span class="grow" />
        <a class="close" href={liveHref()} aria-label={words.close}>✕</a>
      </header>
      <div class="panel-body" tabIndex={0} role="group" aria-labelledby={title}>
        {isMissing && <p class="vehicle-part" role="alert">{fault.value}</p>}
        {!isMissing && isEditing.value && vehicle.value && <Edited vehicle={vehicle.value} onDone={() => { isEditing.value = false; }} />}
        {!isMissing && !isEditing.value && <Told id={id} vehicle={vehicle.value} onEdit={() => { isEditing.value = true; }} />}
      </div>
    </section>
  );
}

function Edited({ vehicle, onDone }: { vehicle: VehicleOut; onDone: () => void }) {
  const saved = async () => {
    await loadVehicle(vehicle.id);
    onDone();
  };
  return <div class="vehicle-part"><VehicleForm vehicle={vehicle} onSaved={saved} onCancel={onDone} /></div>;
}

/** What of it is of now is left out where a moment of the past is shown. */
function Told({ id, vehicle, onEdit }: { id: string; vehicle: VehicleOut | null; onEdit: () => void }) {
  const words = strings.detail;
  const isNow = moment.value === null;
  return (
    <>
      <Now id={id} vehicle={vehicle} />
      <p class="vehicle-part vehicle-links">
        <a href={`${href("replay", id)}${moment.value === null ? "" : `?at=${new Date(moment.value).toISOString()}`}`}>{words.replay}</a>
        {may("share") && vehicle && <a href={`${href("shares", "new")}?vehicle=${id}`}>{strings.manage.shares.share}</a>}
        {may("writeVehicles") && vehicle && isNow && <button type="button" class="plain" onClick={onEdit}>{strings.manage.form.edit}</button>}
      </p>
      {vehicle && isNow && <><DayPart id={id} /><Reported id={id} /><Fuel id={id} /><AsEntered vehicle={vehicle} /></>}
      {isNow && <Curl id={id} />}
    </>
  );
}

function Now({ id, vehicle }: { id: string; vehicle: VehicleOut | null }) {
  const positions = table.value;
  positions.revision.value;
  const row = positions.row(id);
  const words = strings.detail;
  return (
    <div class="vehicle-part">
      {row === undefined ? <p class="quiet">{words.never}</p> : <Fix row={row} />}
      <dl class="vehicle-facts">
        <dt>{words.inside}</dt>
        <dd><Inside id={id} /></dd>
        <dt>{words.driver}</dt>
        <dd>{moment.value !== null ? driversThen.value.get(id) ?? words.noDriver : vehicle && <Driving vehicle={vehicle} />}</dd>
      </dl>
    </div>
  );
}

/** The columns at the moment; drawn again with each change of them. */
function Fix({ row }: { row: number }) {
  const words = strings.detail;
  const state = standing(row);
  const positions = table.value;
  const heading = positions.headingsDegrees[row] ?? NaN;
  const [latitude, longitude] = [positions.latitudes[row] ?? 0, positions.longitudes[row] ?? 0];
  return (
    <>
      <p class="vehicle-state">
        <span class="chip" data-standing={state}>{strings.vehicles.states[state]}</span>
        <Speed row={row} />
      </p>
      <dl class="vehicle-facts">
        <dt>{words.heard}</dt>
        <dd><Age at={positions.receivedAt[row] ?? 0} /></dd>
        <dt>{words.fixAt}</dt>
        <dd><Time at={positions.recordedAt[row] ?? 0} /></dd>
        {!Number.isNaN(heading) && <><dt>{words.heading}</dt><dd>{words.degrees(heading, words.compass(heading))}</dd></>}
        <dt>{words.position}</dt>
        <dd><NearTown at={{ latitude, longitude }} /> <span class="quiet">{placeText({ latitude, longitude })}</span> · <FenceHere at={{ latitude, longitude }} /></dd>
      </dl>
    </>
  );
}

/** How fast it is; of a vehicle that is not heard of, how fast it was, and when. */
function Speed({ row }: { row: number }) {
  const positions = table.value;
  const speed = positions.speedsKmh[row] ?? NaN;
  if (Number.isNaN(speed)) return null;
  if (!Number.isNaN(speedNow(row))) return <b class="vehicle-speed">{measure("speed", speed)}</b>;
  return <span class="quiet">{strings.detail.speedBefore(measure("speed", speed), span(clock.value - (positions.recordedAt[row] ?? 0)))}</span>;
}

function Inside({ id }: { id: string }) {
  const inside = shownStays.value;
  inside.revision.value;
  const stays = inside.of(id);
  if (stays.length === 0) return <>{strings.detail.nowhere}</>;
  return <ul>{stays.map(({ geofenceId, enteredAt }) => <li key={geofenceId}>{fenceName(geofenceId)} <span class="quiet"><Age at={enteredAt} /></span></li>)}</ul>;
}
