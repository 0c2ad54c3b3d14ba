//! Trackers, their tokens and their installations.

use serde_json::{Value, json};
use waypost_actors::model::{OrganizationId, Timestamp, TrackerId, VehicleId};

use super::audit::Subject;
use super::error::{OpError, Taken};
use super::etag::IfMatch;
use super::{idempotency, take_organization};
use crate::auth::{Action, Caller, OrgScope, secret};
use crate::clock;
use crate::context::Context;
use crate::domain::audit::{AuditAction, AuditResource};
use crate::domain::field::FieldError;
use crate::domain::merge::{all_problems, merged, writable};
use crate::domain::paging::{Page, PageRequest, Sort};
use crate::domain::tracker::{Tracker, TrackerIn, TrackerStatus};
use crate::sessions::End;
use crate::store::sql::{SqlError, Tx, is_conflict};
pub use crate::store::tracker::{Filter, SORT_KEYS};
use crate::store::{tracker, vehicle};

/// Members of a tracker that a client may send back but not change.
const READ_ONLY: &[&str] = &["id", "organizationId", "createdAt", "updatedAt"];
/// What leak scanners know a tracker's token by.
const TOKEN_PREFIX: &str = "wpt_";

/// A tracker and its token, which is shown this once.
pub struct Issued {
    /// The tracker.
    pub tracker: Tracker,
    /// The token.
    pub token: String,
}

/// Makes a tracker.
pub async fn create_tracker(context: &Context, caller: &Caller, mut body: Value) -> Result<Issued, OpError> {
    let named = take_organization(&mut body)?;
    let scope = caller.scope(&context.db, Action::WriteTrackers, named).await?;
    let now = context.clock.now();
    let mut starting = json!(TrackerIn::default());
    starting["uniqueId"] = Value::Null;
    let said = TrackerIn::read(&merged(starting, &body, &["installations"]), now)?;
    let mut tx = context.db.begin().await?;
    refuse_foreign_vehicles(&mut tx, &scope, &said).await?;
    let issued = issue(&mut tx, &scope, said, now).await?;
    subject(caller, &issued.tracker, now).created(&mut tx, &issued.tracker).await?;
    idempotency::keep_made(&mut tx, &issued.shown()).await?;
    tx.commit().await?;
    context.sessions.trackers_changed(scope.organization_id());
    Ok(issued)
}

impl Issued {
    /// As the answer shows it.
    fn shown(&self) -> Value {
        let mut shown = json!(self.tracker);
        shown["token"] = json!(self.token);
        shown
    }
}

fn subject<'a>(caller: &'a Caller, tracker: &Tracker, at: Timestamp) -> Subject<'a> {
    let (organization_id, id) = (Some(tracker.organization_id), tracker.id.into());
    Subject { caller: Some(caller), organization_id, resource: AuditResource::Tracker, id, at }
}

/// Makes a tracker for a vehicle that is being made.
pub(super) async fn issue_for_vehicle(
    tx: &mut Tx,
    scope: &OrgScope,
    unique_id: String,
    vehicle: VehicleId,
    now: Timestamp,
) -> Result<Issued, OpError> {
    let mut said = TrackerIn { unique_id, ..TrackerIn::default() };
    said.move_to(Some(vehicle), now);
    issue(tx, scope, said, now).await
}

async fn issue(tx: &mut Tx, scope: &OrgScope, said: TrackerIn, now: Timestamp) -> Result<Issued, OpError> {
    let token = secret::new(TOKEN_PREFIX);
    let tracker = Tracker {
        id: TrackerId(clock::new_id()),
        organization_id: scope.organization_id(),
        vehicle_id: said.vehicle_id(),
        said,
        created_at: now,
        updated_at: now,
    };
    conflict(tracker::insert(tx, scope, &tracker, &secret::hash(&token)).await)?;
    Ok(Issued { tracker, token })
}

/// A page of trackers.
pub async fn list_trackers(
    context: &Context,
    caller: &Caller,
    named: Option<OrganizationId>,
    filter: &Filter,
    sort: &Sort,
    page: PageRequest,
) -> Result<Page<Tracker>, OpError> {
    let scope = caller.scope(&context.db, Action::ReadTrackers, named).await?;
    Ok(tracker::list(&context.db, &scope, filter, sort, page).await?)
}

/// A tracker.
pub async fn find_tracker(
    context: &Context,
    caller: &Caller,
    named: Option<OrganizationId>,
    id: TrackerId,
) -> Result<Tracker, OpError> {
    let scope = caller.scope(&context.db, Action::ReadTrackers, named).await?;
    tracker::find_now(&context.db, &scope, id).await?.ok_or(OpError::NotFound)
}

/// Changes a tracker; `vehicleId` moves it now.
pub async fn update_tracker(
    context: &Context,
    caller: &Caller,
    named: Option<OrganizationId>,
    id: TrackerId,
    if_match: &IfMatch,
    body: Value,
) -> Result<Tracker, OpError> {
    let scope = caller.scope(&context.db, Action::WriteTrackers, named).await?;
    let now = context.clock.now();
    let mut tx = context.db.begin().await?;
    tracker::hold(tx.on(), &scope, id).await?;
    let current = tracker::find(&mut tx, &scope, id).await?.ok_or(OpError::NotFound)?;
    let (body, problems) = writable(body, &json!(current), READ_ONLY, &[]);
    let read = TrackerIn::read(&merged(json!(current.said), &body, &["installations"]), now);
    let said = all_problems(problems, read)?;
    if said == current.said {
        return Ok(current);
    }
    if_match.check(&current)?;
    refuse_foreign_vehicles(&mut tx, &scope, &said).await?;
    let tracker = Tracker { vehicle_id: said.vehicle_id(), said, updated_at: now, ..current.clone() };
    conflict(tracker::update(&mut tx, &scope, &tracker).await)?;
    subject(caller, &tracker, now).updated(&mut tx, &current, &tracker).await?;
    let vehicle = match tracker.vehicle_id {
        Some(id) => vehicle::find(tx.on(), &scope, id).await?,
        None => None,
    };
    tx.commit().await?;
    let config = vehicle.map(|vehicle| vehicle.said.tracking.config()).unwrap_or_default();
    context.sessions.configure(id, config);
    // An open socket knows the tracker as it was: it ends, and one that may come back does.
    let why = if tracker.said.status == TrackerStatus::Active { End::Restarting } else { End::Disabled };
    context.sessions.end(id, why);
    context.sessions.trackers_changed(scope.organization_id());
    Ok(tracker)
}

/// Gives a tracker a new token; the old one is refused from now on.
pub async fn rotate_token(
    context: &Context,
    caller: &Caller,
    named: Option<OrganizationId>,
    id: TrackerId,
) -> Result<Issued, OpError> {
    let scope = caller.scope(&context.db, Action::WriteTrackers, named).await?;
    let token = secret::new(TOKEN_PREFIX);
    let now = context.clock.now();
    let mut tx = context.db.begin().await?;
    if !tracker::set_token(tx.on(), &scope, id, &secret::hash(&token), now.into()).await? {
        return Err(OpError::NotFound);
    }
    let tracker = tracker::find(&mut tx, &scope, id).await?.ok_or(OpError::NotFound)?;
    let issued = Issued { tracker, token };
    subject(caller, &issued.tracker, now).noted(&mut tx, AuditAction::RotateToken).await?;
    idempotency::keep_done(&mut tx, &issued.shown()).await?;
    tx.commit().await?;
    context.sessions.end(id, End::Credential);
    Ok(issued)
}

/// Deletes a tracker; its token is refused from now on, its fixes stay.
pub async fn delete_tracker(
    context: &Context,
    caller: &Caller,
    named: Option<OrganizationId>,
    id: TrackerId,
    if_match: &IfMatch,
) -> Result<(), OpError> {
    let scope = caller.scope(&context.db, Action::WriteTrackers, named).await?;
    let mut tx = context.db.begin().await?;
    tracker::hold(tx.on(), &scope, id).await?;
    let current = tracker::find(&mut tx, &scope, id).await?.ok_or(OpError::NotFound)?;
    if_match.check(&current)?;
    let now = context.clock.now();
    tracker::delete(&mut tx, &scope, id, now.into()).await?;
    subject(caller, &current, now).deleted(&mut tx, &current).await?;
    tx.commit().await?;
    context.sessions.end(id, End::Credential);
    context.sessions.trackers_changed(scope.organization_id());
    Ok(())
}

/// A tracker sits in vehicles of its own organization only. Past stays in vehicles that were
/// deleted since may be sent back.
async fn refuse_foreign_vehicles(tx: &mut Tx, scope: &OrgScope, said: &TrackerIn) -> Result<(), OpError> {
    let ids: Vec<VehicleId> = said.installations.iter().map(|stay| stay.vehicle_id).collect();
    let there: Vec<VehicleId> =
        vehicle::find_each(tx.on(), scope, &ids).await?.into_iter().map(|vehicle| vehicle.id).collect();
    let missing = |id: &VehicleId| !there.contains(id);
    let open = said.vehicle_id();
    let gone = match open {
        Some(open) => vehicle::count_each(tx.on(), scope, &[open]).await? == 0,
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

fn conflict<T>(written: Result<T, SqlError>) -> Result<T, OpError> {
    written.map_err(|error| if is_conflict(&error) { OpError::Taken(Taken::UniqueId) } else { error.into() })
}
