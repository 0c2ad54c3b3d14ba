//! Trackers, their tokens and their installations.

use std::collections::BTreeSet;

use serde::Serialize;
use utoipa::ToSchema;
use waypost_actors::model::{ChangedResource, TrackerId, VehicleId};

use super::change::Change;
use super::error::{OpError, Taken, conflict};
use super::etag::IfMatch;
use super::scoped::Scoped;
use crate::auth::{Action, OrgScope, secret};
use crate::clock;
use crate::context::Context;
use crate::domain::audit::AuditAction;
use crate::domain::body::Params;
use crate::domain::field::FieldError;
use crate::domain::members::Patch;
use crate::domain::paging::{Page, PageRequest, Sort};
use crate::domain::tracker::{CreateTracker, Tracker, TrackerIn, TrackerStatus, UpdateTracker};
use crate::sessions::End;
use crate::store::sql::Tx;
pub use crate::store::tracker::{Filter, SORT_KEYS};
use crate::store::{tracker, vehicle};

/// The prefix by which leak scanners recognize a tracker's token.
const TOKEN_PREFIX: &str = "wpt_";

/// A tracker with its new token.
#[derive(Debug, Serialize, ToSchema)]
pub struct TrackerWithToken {
    /// The tracker.
    #[serde(flatten)]
    pub tracker: Tracker,
    /// The credential, shown this once.
    pub token: String,
}

/// Creates a tracker.
pub async fn create_tracker(
    context: &Context,
    by: &Scoped,
    body: Params<CreateTracker>,
) -> Result<TrackerWithToken, OpError> {
    let scope = by.scope(context, Action::WriteTrackers).await?;
    let CreateTracker { tracker, vehicle_id, .. } = body.made()?;
    let mut change = Change::within(context, Some(&by.caller), Some(scope)).await?;
    let attributes = tracker.moved(vehicle_id, change.now());
    refuse_foreign_vehicles(change.tx(), &scope, None, &attributes).await?;
    let issued = issue(&mut change, &scope, attributes).await?;
    let recorded = change.created(&issued.tracker).await?;
    affect_vehicles(&mut change, &scope, &[issued.tracker.vehicle_id]).await?;
    change.tell_sessions(move |sessions| sessions.trackers_changed(scope.organization_id()));
    change.commit_created(recorded, issued).await
}

/// Creates a tracker for a vehicle about to be created.
pub(super) async fn issue_for_vehicle(
    change: &mut Change<'_>,
    scope: &OrgScope,
    unique_id: String,
    vehicle: VehicleId,
) -> Result<TrackerWithToken, OpError> {
    let mut attributes = TrackerIn::of(unique_id);
    attributes.move_to(Some(vehicle), change.now());
    issue(change, scope, attributes).await
}

async fn issue(
    change: &mut Change<'_>,
    scope: &OrgScope,
    attributes: TrackerIn,
) -> Result<TrackerWithToken, OpError> {
    let (token, now) = (secret::new(TOKEN_PREFIX), change.now());
    let tracker = Tracker {
        id: TrackerId(clock::new_id()),
        organization_id: scope.organization_id(),
        vehicle_id: attributes.vehicle_id(),
        attributes,
        created_at: now,
        updated_at: now,
    };
    conflict(tracker::insert(change.tx(), scope, &tracker, &secret::hash(&token)).await, Taken::UniqueId)?;
    Ok(TrackerWithToken { tracker, token })
}

/// A page of trackers.
pub async fn list_trackers(
    context: &Context,
    by: &Scoped,
    filter: &Filter,
    sort: &Sort,
    page: PageRequest,
) -> Result<Page<Tracker>, OpError> {
    let scope = by.scope(context, Action::ReadTrackers).await?;
    Ok(tracker::list(&context.db, &scope, filter, sort, page).await?)
}

/// A tracker.
pub async fn find_tracker(context: &Context, by: &Scoped, id: TrackerId) -> Result<Tracker, OpError> {
    let scope = by.scope(context, Action::ReadTrackers).await?;
    tracker::find_now(&context.db, &scope, id).await?.ok_or(OpError::NotFound)
}

/// Changes a tracker; `vehicleId` moves it now.
pub async fn update_tracker(
    context: &Context,
    by: &Scoped,
    id: TrackerId,
    if_match: &IfMatch,
    body: Params<UpdateTracker>,
) -> Result<Tracker, OpError> {
    let (mut change, scope) = Change::begin(context, by, Action::WriteTrackers).await?;
    tracker::hold(change.on(), &scope, id).await?;
    let now = change.now();
    let current = tracker::find(change.tx(), &scope, id).await?.ok_or(OpError::NotFound)?;
    let has_history = body.sent("installations").is_some();
    let UpdateTracker { tracker, vehicle_id } = body.changed(&current, &current.attributes)?;
    // Who puts the history right and sends back the rest as it was read does not mean to move the tracker.
    let is_moved = !has_history || vehicle_id != Patch::Set(current.vehicle_id);
    let attributes = if is_moved { tracker.moved(vehicle_id, now) } else { tracker };
    if attributes == current.attributes {
        return Ok(current);
    }
    if_match.check(&current)?;
    refuse_foreign_vehicles(change.tx(), &scope, current.vehicle_id, &attributes).await?;
    let tracker =
        Tracker { vehicle_id: attributes.vehicle_id(), attributes, updated_at: now, ..current.clone() };
    conflict(tracker::update(change.tx(), &scope, &tracker).await, Taken::UniqueId)?;
    let recorded = change.updated(&current, &tracker).await?;
    affect_vehicles(&mut change, &scope, &[current.vehicle_id, tracker.vehicle_id]).await?;
    let vehicle = match tracker.vehicle_id {
        Some(id) => vehicle::find(change.on(), &scope, id).await?,
        None => None,
    };
    let config = vehicle.map(|vehicle| vehicle.attributes.tracking.config()).unwrap_or_default();
    // An open socket knows the tracker's former state, so it ends; a tracker that is still active may reconnect.
    let why = match tracker.attributes.status == TrackerStatus::Active {
        false => End::Disabled,
        true if tracker.vehicle_id != current.vehicle_id => End::Moved,
        true => End::Changed,
    };
    change.tell_sessions(move |sessions| {
        sessions.configure(id, config);
        sessions.end(id, scope.organization_id(), why);
    });
    change.commit(recorded, tracker).await
}

/// Gives a tracker a new token; the old one becomes invalid.
pub async fn rotate_token(
    context: &Context,
    by: &Scoped,
    id: TrackerId,
) -> Result<TrackerWithToken, OpError> {
    let scope = by.scope(context, Action::WriteTrackers).await?;
    let token = secret::new(TOKEN_PREFIX);
    let mut change = Change::within(context, Some(&by.caller), Some(scope)).await?;
    let now = change.now().into();
    if !tracker::set_token(change.on(), &scope, id, &secret::hash(&token), now).await? {
        return Err(OpError::NotFound);
    }
    let tracker = tracker::find(change.tx(), &scope, id).await?.ok_or(OpError::NotFound)?;
    let recorded = change.noted(&tracker, AuditAction::RotateToken).await?;
    change.tell_sessions(move |sessions| sessions.end(id, scope.organization_id(), End::Credential));
    change.commit(recorded, TrackerWithToken { tracker, token }).await
}

/// Deletes a tracker and its token; its fixes stay.
pub async fn delete_tracker(
    context: &Context,
    by: &Scoped,
    id: TrackerId,
    if_match: &IfMatch,
) -> Result<(), OpError> {
    let (mut change, scope) = Change::begin(context, by, Action::WriteTrackers).await?;
    tracker::hold(change.on(), &scope, id).await?;
    let current = tracker::find(change.tx(), &scope, id).await?.ok_or(OpError::NotFound)?;
    if_match.check(&current)?;
    let now = change.now().into();
    tracker::delete(change.tx(), &scope, id, now).await?;
    let recorded = change.deleted(&current).await?;
    affect_vehicles(&mut change, &scope, &[current.vehicle_id]).await?;
    change.tell_sessions(move |sessions| sessions.end(id, scope.organization_id(), End::Credential));
    change.commit(recorded, ()).await
}

/// Notes and logs that vehicles tell of another tracker.
async fn affect_vehicles(
    change: &mut Change<'_>,
    scope: &OrgScope,
    vehicles: &[Option<VehicleId>],
) -> Result<(), OpError> {
    let now = change.now().into();
    for vehicle in vehicles.iter().flatten() {
        vehicle::touch(change.on(), scope, *vehicle, now).await?;
        change.affects(ChangedResource::Vehicle, vehicle.0);
    }
    Ok(())
}

/// Refuses installations in vehicles of other organizations. Past installations in vehicles deleted since then may be
/// sent back. Locks the vehicle that the tracker is in and the one it was in, `former`, in the order of their ids.
async fn refuse_foreign_vehicles(
    tx: &mut Tx,
    scope: &OrgScope,
    former: Option<VehicleId>,
    attributes: &TrackerIn,
) -> Result<(), OpError> {
    let ids: Vec<VehicleId> = attributes.installations.iter().map(|stay| stay.vehicle_id).collect();
    let there: Vec<VehicleId> =
        vehicle::find_each(tx.on(), scope, &ids).await?.into_iter().map(|vehicle| vehicle.id).collect();
    let missing = |id: &VehicleId| !there.contains(id);
    let open = attributes.vehicle_id();
    // A deletion at the same moment would not find the tracker there.
    for id in former.into_iter().chain(open).collect::<BTreeSet<_>>() {
        vehicle::hold(tx.on(), scope, id).await?;
    }
    let gone = match open {
        Some(open) => vehicle::existing(tx.on(), scope, &[open]).await?.is_empty(),
        None => false,
    };
    let mut problems: Vec<FieldError> = Vec::new();
    for (i, _) in ids.iter().enumerate().filter(|(_, id)| missing(id)) {
        let pointer = format!("/installations/{i}/vehicleId");
        problems.push(FieldError::new(pointer, "notFound", "must be a vehicle of the organization"));
    }
    if gone && problems.is_empty() {
        problems.push(FieldError::new("/vehicleId", "notFound", "must be a vehicle of the organization"));
    }
    if problems.is_empty() { Ok(()) } else { Err(OpError::Invalid(problems)) }
}
