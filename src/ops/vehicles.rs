//! Vehicles.

use std::collections::HashMap;

use futures_util::future::try_join_all;
use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;
use waypost_actors::model::{ChangeKind, ChangedResource, Timestamp, TrackerId, VehicleId};

use super::change::Change;
use super::error::{OpError, Taken, conflict};
use super::etag::IfMatch;
use super::live_filter::{Fleet, LiveFilter};
use super::live_view::{LiveGeofence, LiveVehicle};
use super::own_organization::{Counted, require_room, settings_of};
use super::scoped::Scoped;
use super::trackers;
use crate::auth::{Action, Caller, OrgScope};
use crate::clock;
use crate::context::Context;
use crate::domain::assignment::{CurrentDriver, EndReason};
use crate::domain::body::Params;
use crate::domain::field::FieldError;
use crate::domain::paging::{Page, PageRequest, Sort};
use crate::domain::vehicle::{CreateVehicle, NewTrackerIn, Vehicle, VehicleFuel, VehicleIn};
use crate::domain::vehicle_fuel::lift_tank;
use crate::sessions::End;
use crate::store::assignment::{self, Ending, Open};
use crate::store::calibration::{self, NewCalibration};
use crate::store::sql::Tx;
pub use crate::store::vehicle::{Filter, SORT_KEYS};
use crate::store::{out_of_service, past, purge, tracker, vehicle};

/// A new vehicle, with its new tracker if one was requested.
#[derive(Debug, Serialize)]
pub struct Created {
    /// The vehicle.
    #[serde(flatten)]
    pub vehicle: Vehicle,
    /// The tracker created with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tracker: Option<NewTracker>,
}

/// The tracker made with a vehicle.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewTracker {
    /// Which.
    pub id: TrackerId,
    /// The device's own id.
    pub unique_id: String,
    /// The credential, shown this once.
    pub token: String,
}

/// Creates a vehicle.
pub async fn create_vehicle(
    context: &Context,
    by: &Scoped,
    body: Params<CreateVehicle>,
) -> Result<Created, OpError> {
    let scope = by.scope(context, Action::WriteVehicles).await?;
    let CreateVehicle { vehicle: mut attributes, tracker, .. } = body.reworded(lift_tank).made()?;
    // The sensor of a new vehicle is taken to have been there always.
    let (fuel, is_calibrated) = attributes.fuel.dated(&VehicleFuel::default(), None);
    attributes.fuel = fuel;
    refuse_tracker_id(None, &attributes)?;
    if tracker.is_some() {
        by.caller.may(Action::WriteTrackers)?;
    }
    let mut change = Change::within(context, Some(&by.caller), Some(scope)).await?;
    require_room(change.tx(), &scope, Counted::Vehicles).await?;
    let now = change.now();
    let vehicle = Vehicle {
        id: VehicleId(clock::new_id()),
        organization_id: scope.organization_id(),
        attributes,
        created_at: now,
        updated_at: now,
    };
    refuse_taken(change.tx(), &scope, &vehicle).await?;
    // Another request may have taken the plate or the VIN at the same moment.
    conflict(vehicle::insert(change.on(), &scope, &vehicle).await, Taken::Plate)?;
    let tracker = match tracker {
        Some(NewTrackerIn { unique_id }) => {
            let issued = trackers::issue_for_vehicle(&mut change, &scope, unique_id, vehicle.id).await?;
            change.log(ChangedResource::Tracker, issued.tracker.id.0, ChangeKind::Created);
            Some(NewTracker::of(issued))
        }
        None => None,
    };
    let vehicle = vehicle::find(change.on(), &scope, vehicle.id).await?.ok_or(OpError::NotFound)?;
    keep_service(change.tx(), &scope, &vehicle).await?;
    if is_calibrated {
        keep_calibration(change.tx(), &scope, &vehicle, false).await?;
    }
    let recorded = change.created(&vehicle).await?;
    change.tell_sessions(move |sessions| sessions.trackers_changed(scope.organization_id()));
    change.commit_created(recorded, Created { vehicle, tracker }).await
}

impl NewTracker {
    fn of(issued: trackers::TrackerWithToken) -> Self {
        let trackers::TrackerWithToken { tracker, token } = issued;
        Self { id: tracker.id, unique_id: tracker.attributes.unique_id, token }
    }
}

/// A page of vehicles.
pub async fn list_vehicles(
    context: &Context,
    by: &Scoped,
    filter: &Filter,
    live: &LiveFilter,
    sort: &Sort,
    page: PageRequest,
) -> Result<(OrgScope, Page<Vehicle>), OpError> {
    let scope = by.scope(context, Action::ReadVehicles).await?;
    live.require(&by.caller)?;
    if !filter.driver_ids.is_empty() {
        by.caller.may(Action::ReadDrivers)?;
    }
    let page = match live.is_empty() {
        true => vehicle::list(&context.db, &scope, filter, sort, page).await?,
        false => page_of_live(context, &scope, filter, live, sort, page).await?,
    };
    Ok((scope, page))
}

/// A page of the vehicles that are now as `live` asks: of all ids in their order, those that the core accepts.
async fn page_of_live(
    context: &Context,
    scope: &OrgScope,
    filter: &Filter,
    live: &LiveFilter,
    sort: &Sort,
    page: PageRequest,
) -> Result<Page<Vehicle>, OpError> {
    let mut ids = vehicle::list_ids(&context.db, scope, filter, sort).await?;
    let fleet = Fleet::of(context, scope).await?;
    ids.retain(|id| fleet.accepts(*id, live));
    let total = i64::try_from(ids.len()).unwrap_or(i64::MAX);
    let (offset, limit) = (usize::try_from(page.offset()), usize::try_from(page.limit));
    let ids: Vec<VehicleId> =
        ids.into_iter().skip(offset.unwrap_or(usize::MAX)).take(limit.unwrap_or(0)).collect();
    let found = vehicle::find_each(context.db.read(), scope, &ids).await?;
    let mut found: HashMap<VehicleId, Vehicle> = found.into_iter().map(|one| (one.id, one)).collect();
    Ok(Page { items: ids.iter().filter_map(|id| found.remove(id)).collect(), total })
}

/// A vehicle.
pub async fn find_vehicle(
    context: &Context,
    by: &Scoped,
    id: VehicleId,
) -> Result<(OrgScope, Vehicle), OpError> {
    let scope = by.scope(context, Action::ReadVehicles).await?;
    let vehicle = vehicle::find(context.db.read(), &scope, id).await?.ok_or(OpError::NotFound)?;
    Ok((scope, vehicle))
}

/// The drivers of some vehicles now or at an instant, by vehicle; empty if the caller may not read drivers.
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

/// The live state of some vehicles, as far as the caller may see it.
pub async fn live_vehicles(
    context: &Context,
    caller: &Caller,
    ids: impl IntoIterator<Item = VehicleId>,
) -> Result<Vec<LiveVehicle>, OpError> {
    caller.may(Action::ReadLivePositions)?;
    let views = try_join_all(ids.into_iter().map(|id| context.live.vehicle(id))).await?;
    let sees = caller.sees();
    Ok(views.into_iter().map(|view| LiveVehicle::of(view, sees)).collect())
}

/// Where some vehicles were at a past instant, as far as the caller may see it, by what is stored today: late data counts.
/// Without fuel; whether one moved is told by the speed that its tracker gave.
pub async fn past_vehicles(
    context: &Context,
    caller: &Caller,
    scope: &OrgScope,
    ids: &[VehicleId],
    at: Timestamp,
) -> Result<Vec<LiveVehicle>, OpError> {
    caller.may(Action::ReadPositions)?;
    let (settings, sees) = (settings_of(context, scope).await?, caller.sees());
    let fixes = past::fixes_at(&context.db, &context.track, ids, at).await?;
    let held = if sees.occupancy { past::held_at(&context.db, scope, ids, at).await? } else { Vec::new() };
    let past = |id: &VehicleId| {
        let geofences = held.iter().filter(|held| held.vehicle_id == *id).map(LiveGeofence::from).collect();
        LiveVehicle::past(fixes.get(id).cloned(), geofences, sees, &settings, at)
    };
    Ok(ids.iter().map(past).collect())
}

/// Changes a vehicle.
pub async fn update_vehicle(
    context: &Context,
    by: &Scoped,
    id: VehicleId,
    if_match: &IfMatch,
    body: Params<VehicleIn>,
) -> Result<(OrgScope, Vehicle), OpError> {
    let (mut change, scope) = Change::begin(context, by, Action::WriteVehicles).await?;
    vehicle::hold(change.on(), &scope, id).await?;
    let current = vehicle::find(change.on(), &scope, id).await?.ok_or(OpError::NotFound)?;
    let mut present = json!(current.attributes);
    if let Some(fuel) = present["fuel"].as_object_mut() {
        fuel.remove("effectiveFrom"); // its absence has a meaning
    }
    let is_whole = body.is_whole();
    let mut attributes = body.reworded(lift_tank).changed(&current, &present)?;
    let now = change.now();
    if is_whole && attributes.fuel.effective_from == current.attributes.fuel.effective_from {
        attributes.fuel.effective_from = None;
    }
    let (fuel, is_calibrated) = attributes.fuel.dated(&current.attributes.fuel, Some(now));
    attributes.fuel = fuel;
    refuse_tracker_id(current.attributes.tracking.tracker_id, &attributes)?;
    if attributes == current.attributes {
        return Ok((scope, current)); // it is as asked already, whatever the client thinks it was
    }
    if_match.check(&current)?;
    let vehicle = Vehicle { attributes, updated_at: now, ..current.clone() };
    refuse_taken(change.tx(), &scope, &vehicle).await?;
    conflict(vehicle::update(change.on(), &scope, &vehicle).await, Taken::Plate)?;
    keep_service(change.tx(), &scope, &vehicle).await?;
    if is_calibrated {
        keep_calibration(change.tx(), &scope, &vehicle, true).await?;
    }
    let recorded = change.updated(&current, &vehicle).await?;
    if vehicle.attributes.tracking.config() != current.attributes.tracking.config() {
        change.tell_sessions(move |sessions| sessions.trackers_changed(scope.organization_id()));
    }
    Ok((scope, change.commit(recorded, vehicle).await?))
}

/// Records that a vehicle went out of service or came back, if it did.
async fn keep_service(tx: &mut Tx, scope: &OrgScope, vehicle: &Vehicle) -> Result<(), OpError> {
    let now = vehicle.updated_at.into();
    match vehicle.attributes.status.is_in_service() {
        true => out_of_service::end(tx.on(), scope, vehicle.id, now).await?,
        false => out_of_service::begin(tx.on(), scope, vehicle.id, now).await?,
    }
    Ok(())
}

/// Stores a vehicle's tank and sensor as a new version of its calibration.
async fn keep_calibration(
    tx: &mut Tx,
    scope: &OrgScope,
    vehicle: &Vehicle,
    has_past: bool,
) -> Result<(), OpError> {
    let VehicleFuel { tank_capacity_liters, sensor, effective_from, .. } = vehicle.attributes.fuel.clone();
    let new = NewCalibration { effective_from: effective_from.flatten(), tank_capacity_liters, sensor };
    Ok(calibration::add(tx.on(), scope, vehicle.id, &new, vehicle.updated_at.into(), has_past).await?)
}

/// Deletes a vehicle. Its stays in geofences, its trackers' installations and its driver's assignment end now. `purges`: all
/// that was recorded of it goes soon after, also if it was deleted before.
pub async fn delete_vehicle(
    context: &Context,
    by: &Scoped,
    id: VehicleId,
    if_match: &IfMatch,
    purges: bool,
) -> Result<(), OpError> {
    let (mut change, scope) = Change::begin(context, by, Action::WriteVehicles).await?;
    let now = change.now();
    // Edits of trackers lock the tracker before its vehicles, so that is the order here, too.
    tracker::hold_of_vehicle(change.tx(), &scope, id, now.into()).await?;
    vehicle::hold(change.on(), &scope, id).await?;
    let Some(current) = vehicle::find(change.on(), &scope, id).await? else {
        if !purges {
            return Err(OpError::NotFound);
        }
        if_match.check_gone()?;
        return purge_deleted(change, &scope, id).await;
    };
    if_match.check(&current)?;
    out_of_service::begin(change.on(), &scope, id, now.into()).await?;
    vehicle::delete(change.on(), &scope, id, now.into()).await?;
    let (in_it, planned) = tracker::leave_vehicle(change.tx(), &scope, id, now.into()).await?;
    let deleted = in_it.into_iter().map(|tracker| (tracker, End::VehicleDeleted));
    for (tracker, end) in deleted.chain(planned.into_iter().map(|tracker| (tracker, End::Changed))) {
        change.affects(ChangedResource::Tracker, tracker.0);
        let organization = scope.organization_id();
        change.tell_sessions(move |sessions| sessions.end(tracker, organization, end));
    }
    let ending = Ending { at: now, by: Some(by.caller.id), reason: EndReason::VehicleDeleted };
    change.end_assignments(&scope, Open::OfVehicle(id), ending).await?;
    let recorded = if purges {
        purge::mark_vehicle(change.on(), &scope, id, now.into()).await?;
        change.purged(&current, Some(json!(current))).await?
    } else {
        change.deleted(&current).await?
    };
    change.tell_sessions(move |sessions| sessions.trackers_changed(scope.organization_id()));
    change.commit(recorded, ()).await
}

/// Has all go that was recorded of a vehicle that was deleted before.
async fn purge_deleted(mut change: Change<'_>, scope: &OrgScope, id: VehicleId) -> Result<(), OpError> {
    let deleted = vehicle::find_each(change.on(), scope, &[id]).await?.pop().ok_or(OpError::NotFound)?;
    let now = change.now();
    purge::mark_vehicle(change.on(), scope, id, now.into()).await?;
    let recorded = change.purged(&deleted, None).await?;
    change.commit(recorded, ()).await
}

/// Refuses a tracker id: trackers are installed through the tracker, not by naming them here.
fn refuse_tracker_id(current: Option<TrackerId>, attributes: &VehicleIn) -> Result<(), OpError> {
    if attributes.tracking.tracker_id == current {
        return Ok(());
    }
    let detail = "cannot be changed here; set vehicleId of the tracker";
    Err(OpError::Invalid(vec![FieldError::new("/tracking/trackerId", "readOnly", detail)]))
}

async fn refuse_taken(tx: &mut Tx, scope: &OrgScope, vehicle: &Vehicle) -> Result<(), OpError> {
    match vehicle::taken(tx.on(), scope, vehicle.id, &vehicle.attributes).await? {
        (true, _) => Err(OpError::Taken(Taken::Plate)),
        (_, true) => Err(OpError::Taken(Taken::Vin)),
        (false, false) => Ok(()),
    }
}
