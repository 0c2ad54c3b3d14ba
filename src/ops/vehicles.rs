//! Vehicles.

use std::collections::HashMap;

use futures_util::future::try_join_all;
use serde_json::{Value, json};
use waypost_actors::model::{OrganizationId, Timestamp, TrackerId, VehicleId};

use super::audit::Subject;
use super::error::{OpError, Taken};
use super::etag::IfMatch;
use super::live_view::LiveVehicle;
use super::own_organization::{Counted, require_room, settings_of};
use super::publish::{self, Thing};
use super::{idempotency, take_organization, trackers};
use crate::auth::{Action, Caller, OrgScope};
use crate::clock;
use crate::context::Context;
use crate::domain::assignment::{CurrentDriver, EndReason};
use crate::domain::audit::AuditResource;
use crate::domain::field::FieldError;
use crate::domain::merge::{all_problems, merged, writable};
use crate::domain::paging::{Page, PageRequest, Sort};
use crate::domain::tracker::unique_id;
use crate::domain::vehicle::{Vehicle, VehicleFuel, VehicleIn};
use crate::domain::vehicle_fuel::lift_tank;
use crate::store::assignment::{self, Ending, Open};
use crate::store::calibration::{self, NewCalibration};
use crate::store::sql::{SqlError, Tx};
pub use crate::store::vehicle::{Filter, SORT_KEYS};
use crate::store::{out_of_service, tracker, vehicle};

/// Members of a vehicle that a client may send back but not change.
const READ_ONLY: &[&str] = &["id", "organizationId", "createdAt", "updatedAt"];
/// Members that the server finds out.
const DERIVED: &[&str] = &["live", "driver"];
/// Members that a PUT replaces whole.
const WHOLE: &[&str] = &["sensor"];

/// A new vehicle, with its new tracker if one was asked for.
pub struct Created {
    /// The vehicle.
    pub vehicle: Vehicle,
    /// Its tracker, and the token that is shown once.
    pub tracker: Option<trackers::Issued>,
}

/// Makes a vehicle.
pub async fn create_vehicle(context: &Context, caller: &Caller, mut body: Value) -> Result<Created, OpError> {
    let named = take_organization(&mut body)?;
    let scope = caller.scope(&context.db, Action::WriteVehicles, named).await?;
    let (unique_id, problems) = take_tracker(&mut body);
    let starting = serde_json::to_value(VehicleIn { name: String::new(), ..VehicleIn::default() });
    let mut starting = starting.map_err(|error| OpError::Internal(error.to_string()))?;
    starting["name"] = Value::Null;
    lift_tank(&mut body);
    let mut said = all_problems(problems, VehicleIn::read(&merged(starting, &body, WHOLE)))?;
    // What a new vehicle has it always had, as far as anybody knows.
    let (fuel, is_calibrated) = said.fuel.dated(&VehicleFuel::default(), None);
    said.fuel = fuel;
    refuse_tracker_id(None, &said)?;
    if unique_id.is_some() {
        caller.may(Action::WriteTrackers)?;
    }
    let now = context.clock.now();
    let vehicle = Vehicle {
        id: VehicleId(clock::new_id()),
        organization_id: scope.organization_id(),
        said,
        created_at: now,
        updated_at: now,
    };
    let mut tx = context.db.begin().await?;
    require_room(&mut tx, &scope, Counted::Vehicles).await?;
    refuse_taken(&mut tx, &scope, &vehicle).await?;
    conflict(vehicle::insert(tx.on(), &scope, &vehicle).await)?;
    let tracker = match unique_id {
        Some(unique_id) => {
            Some(trackers::issue_for_vehicle(&mut tx, &scope, unique_id, vehicle.id, now).await?)
        }
        None => None,
    };
    let vehicle = vehicle::find(tx.on(), &scope, vehicle.id).await?.ok_or(OpError::NotFound)?;
    keep_service(&mut tx, &scope, &vehicle).await?;
    if is_calibrated {
        keep_calibration(&mut tx, &scope, &vehicle, false).await?;
    }
    let created = Created { vehicle, tracker };
    subject(caller, &created.vehicle, now).created(&mut tx, &created.vehicle).await?;
    idempotency::keep_made(&mut tx, &created.shown()).await?;
    publish::commit(context, tx, scope, Thing::Vehicle(created.vehicle.id)).await?;
    context.sessions.trackers_changed(scope.organization_id());
    Ok(created)
}

impl Created {
    /// As the answer shows it.
    fn shown(&self) -> Value {
        let mut shown = json!(self.vehicle);
        if let Some(issued) = &self.tracker {
            let unique_id = &issued.tracker.said.unique_id;
            shown["tracker"] =
                json!({ "id": issued.tracker.id, "uniqueId": unique_id, "token": issued.token });
        }
        shown
    }
}

fn subject<'a>(caller: &'a Caller, vehicle: &Vehicle, at: Timestamp) -> Subject<'a> {
    let (organization_id, id) = (Some(vehicle.organization_id), vehicle.id.into());
    Subject { caller: Some(caller), organization_id, resource: AuditResource::Vehicle, id, at }
}

/// Takes `tracker{uniqueId}` out of a body.
fn take_tracker(body: &mut Value) -> (Option<String>, Vec<FieldError>) {
    let given = body.as_object_mut().and_then(|members| members.remove("tracker"));
    let Some(given) = given.filter(|value| !value.is_null()) else { return (None, Vec::new()) };
    let mut members = crate::domain::members::Members::at(&given, "/tracker".to_owned());
    let found = members.required("uniqueId", unique_id);
    match members.finish(|| found) {
        Ok(unique_id) => (Some(unique_id), Vec::new()),
        Err(problems) => (None, problems),
    }
}

/// A page of vehicles.
pub async fn list_vehicles(
    context: &Context,
    caller: &Caller,
    named: Option<OrganizationId>,
    filter: &Filter,
    sort: &Sort,
    page: PageRequest,
) -> Result<(OrgScope, Page<Vehicle>), OpError> {
    let scope = caller.scope(&context.db, Action::ReadVehicles, named).await?;
    let page = vehicle::list(&context.db, &scope, filter, sort, page).await?;
    Ok((scope, page))
}

/// A vehicle.
pub async fn find_vehicle(
    context: &Context,
    caller: &Caller,
    named: Option<OrganizationId>,
    id: VehicleId,
) -> Result<(OrgScope, Vehicle), OpError> {
    let scope = caller.scope(&context.db, Action::ReadVehicles, named).await?;
    let vehicle = vehicle::find(context.db.read(), &scope, id).await?.ok_or(OpError::NotFound)?;
    Ok((scope, vehicle))
}

/// Who drives some vehicles now, or drove them at an instant, by vehicle; of nobody for who may not read drivers.
pub async fn drivers_of(
    context: &Context,
    caller: &Caller,
    scope: &OrgScope,
    ids: &[VehicleId],
    at: Option<Timestamp>,
) -> Result<HashMap<VehicleId, CurrentDriver>, OpError> {
    if caller.may(Action::ReadDrivers).is_err() {
        return Ok(HashMap::new());
    }
    Ok(assignment::drivers_of(context.db.read(), scope, ids, at).await?.into_iter().collect())
}

/// Where some vehicles are now, as far as the caller is shown it.
pub async fn live_vehicles(
    context: &Context,
    caller: &Caller,
    scope: &OrgScope,
    ids: impl IntoIterator<Item = VehicleId>,
) -> Result<Vec<LiveVehicle>, OpError> {
    caller.may(Action::ReadLivePositions)?;
    let settings = settings_of(context, scope).await?;
    let views = try_join_all(ids.into_iter().map(|id| context.live.vehicle(id))).await?;
    let (now, sees) = (context.clock.now(), caller.sees());
    Ok(views.into_iter().map(|view| LiveVehicle::of(view, sees, &settings, now)).collect())
}

/// Changes a vehicle.
pub async fn update_vehicle(
    context: &Context,
    caller: &Caller,
    named: Option<OrganizationId>,
    id: VehicleId,
    if_match: &IfMatch,
    body: Value,
) -> Result<(OrgScope, Vehicle), OpError> {
    let scope = caller.scope(&context.db, Action::WriteVehicles, named).await?;
    let mut tx = context.db.begin().await?;
    vehicle::hold(tx.on(), &scope, id).await?;
    let current = vehicle::find(tx.on(), &scope, id).await?.ok_or(OpError::NotFound)?;
    let (mut body, problems) = writable(body, &json!(current), READ_ONLY, DERIVED);
    lift_tank(&mut body);
    let mut present = json!(current.said);
    if let Some(fuel) = present["fuel"].as_object_mut() {
        fuel.remove("effectiveFrom"); // its absence has a meaning
    }
    let mut said = all_problems(problems, VehicleIn::read(&merged(present, &body, WHOLE)))?;
    let now = context.clock.now();
    let (fuel, is_calibrated) = said.fuel.dated(&current.said.fuel, Some(now));
    said.fuel = fuel;
    refuse_tracker_id(current.said.tracking.tracker_id, &said)?;
    if said == current.said {
        return Ok((scope, current)); // it is as asked already, whatever the client thinks it was
    }
    if_match.check(&current)?;
    let vehicle = Vehicle { said, updated_at: now, ..current.clone() };
    refuse_taken(&mut tx, &scope, &vehicle).await?;
    conflict(vehicle::update(tx.on(), &scope, &vehicle).await)?;
    keep_service(&mut tx, &scope, &vehicle).await?;
    if is_calibrated {
        keep_calibration(&mut tx, &scope, &vehicle, true).await?;
    }
    subject(caller, &vehicle, vehicle.updated_at).updated(&mut tx, &current, &vehicle).await?;
    publish::commit(context, tx, scope, Thing::Vehicle(id)).await?;
    if vehicle.said.tracking.config() != current.said.tracking.config() {
        context.sessions.trackers_changed(scope.organization_id());
    }
    Ok((scope, vehicle))
}

/// Writes down that a vehicle went out of service or is back, if it did.
async fn keep_service(tx: &mut Tx, scope: &OrgScope, vehicle: &Vehicle) -> Result<(), OpError> {
    let now = vehicle.updated_at.into();
    match vehicle.said.status.is_in_service() {
        true => out_of_service::end(tx.on(), scope, vehicle.id, now).await?,
        false => out_of_service::begin(tx.on(), scope, vehicle.id, now).await?,
    }
    Ok(())
}

/// Makes a vehicle's tank and sensor a new version of its calibration.
async fn keep_calibration(
    tx: &mut Tx,
    scope: &OrgScope,
    vehicle: &Vehicle,
    has_past: bool,
) -> Result<(), OpError> {
    let VehicleFuel { tank_capacity_liters, sensor, effective_from, .. } = vehicle.said.fuel.clone();
    let new = NewCalibration { effective_from: effective_from.flatten(), tank_capacity_liters, sensor };
    Ok(calibration::add(tx.on(), scope, vehicle.id, &new, vehicle.updated_at.into(), has_past).await?)
}

/// Deletes a vehicle: its stays in geofences, its trackers' stays in it and its driver's assignment end now.
pub async fn delete_vehicle(
    context: &Context,
    caller: &Caller,
    named: Option<OrganizationId>,
    id: VehicleId,
    if_match: &IfMatch,
) -> Result<(), OpError> {
    let scope = caller.scope(&context.db, Action::WriteVehicles, named).await?;
    let now = context.clock.now();
    let mut tx = context.db.begin().await?;
    vehicle::hold(tx.on(), &scope, id).await?;
    let current = vehicle::find(tx.on(), &scope, id).await?.ok_or(OpError::NotFound)?;
    if_match.check(&current)?;
    out_of_service::begin(tx.on(), &scope, id, now.into()).await?;
    vehicle::delete(tx.on(), &scope, id, now.into()).await?;
    tracker::leave_vehicle(tx.on(), &scope, id, now.into()).await?;
    let ending = Ending { at: now, by: Some(caller.id), reason: EndReason::VehicleDeleted };
    assignment::end(tx.on(), &scope, Open::OfVehicle(id), ending, now).await?;
    subject(caller, &current, now).deleted(&mut tx, &current).await?;
    publish::commit(context, tx, scope, Thing::Vehicle(id)).await?;
    context.sessions.trackers_changed(scope.organization_id());
    Ok(())
}

/// The tracker is installed through the tracker, not by naming it here.
fn refuse_tracker_id(current: Option<TrackerId>, said: &VehicleIn) -> Result<(), OpError> {
    if said.tracking.tracker_id == current {
        return Ok(());
    }
    let detail = "cannot be changed here; set vehicleId of the tracker";
    Err(OpError::Invalid(vec![FieldError::new("/tracking/trackerId", "readOnly", detail)]))
}

async fn refuse_taken(tx: &mut Tx, scope: &OrgScope, vehicle: &Vehicle) -> Result<(), OpError> {
    match vehicle::taken(tx.on(), scope, vehicle.id, &vehicle.said).await? {
        (true, _) => Err(OpError::Taken(Taken::Plate)),
        (_, true) => Err(OpError::Taken(Taken::Vin)),
        (false, false) => Ok(()),
    }
}

/// A conflict that nobody saw coming: another request took plate or VIN at the same moment.
fn conflict<T>(written: Result<T, SqlError>) -> Result<T, OpError> {
    written.map_err(|error| {
        if crate::store::sql::is_conflict(&error) { OpError::Taken(Taken::Plate) } else { error.into() }
    })
}
