//! Geofences. An edit is complete when every vehicle it touches has its records.

use futures_util::future::try_join_all;
use serde_json::json;
use waypost_actors::model::{GeofenceId, ShapeSpec, Timestamp};

use super::change::Change;
use super::error::OpError;
use super::etag::IfMatch;
use super::geofence_shape::{self, Checked};
use super::own_organization::{Counted, require_room, settings_of};
use super::scoped::Scoped;
use crate::auth::{Action, OrgScope};
use crate::clock;
use crate::context::Context;
use crate::domain::body::{Body, Params};
use crate::domain::geofence::{CreateGeofence, Geofence, GeofenceIn, PastCorrection, UpdateGeofence};
use crate::domain::members::Patch;
use crate::domain::organization_settings::Settings;
use crate::domain::paging::{Page, PageRequest, Sort};
use crate::domain::shape::read_shape;
use crate::store::geofence;
pub use crate::store::geofence::{Filter, SORT_KEYS};

/// Creates a geofence.
pub async fn create_geofence(
    context: &Context,
    by: &Scoped,
    body: Params<CreateGeofence>,
) -> Result<Geofence, OpError> {
    let organization = body.organization()?.or(by.organization);
    let scope = by.caller.scope(&context.db, Action::WriteGeofences, organization).await?;
    let settings = settings_of(context, &scope).await?;
    let now = context.clock.now();
    let geofence = new_geofence(&scope, &settings, body, now).await?;
    let mut change = Change::within(context, Some(&by.caller), Some(scope)).await?.at(now);
    require_room(change.tx(), &scope, Counted::Geofences).await?;
    geofence::insert(change.tx(), &scope, &geofence).await?;
    let recorded = change.created(&geofence).await?;
    let mut shown = json!(geofence);
    shown["insideCount"] = json!(0); // nobody is inside before the commit
    change.commit_created(recorded, shown).await?;
    Ok(geofence)
}

/// A new geofence from a body, with the organization's defaults and a checked shape.
pub(super) async fn new_geofence<B: Body + Into<UpdateGeofence>>(
    scope: &OrgScope,
    settings: &Settings,
    body: Params<B>,
    now: Timestamp,
) -> Result<Geofence, OpError> {
    let UpdateGeofence { attributes, effective_from } =
        body.or("rules", settings.geofence_defaults).made()?.into();
    let checked = check(attributes.shape.clone()).await?;
    Ok(Geofence {
        id: GeofenceId(clock::new_id()),
        organization_id: scope.organization_id(),
        attributes: GeofenceIn { shape: checked.shape, ..attributes },
        effective_from: in_effect(effective_from, now),
        bbox: checked.bbox,
        area_square_meters: checked.area_square_meters,
        version: 1,
        created_at: now,
        updated_at: now,
    })
}

/// A page of geofences.
pub async fn list_geofences(
    context: &Context,
    by: &Scoped,
    filter: &Filter,
    sort: &Sort,
    page: PageRequest,
) -> Result<Page<Geofence>, OpError> {
    let scope = by.scope(context, Action::ReadGeofences).await?;
    Ok(geofence::list(&context.db, &scope, filter, sort, page).await?)
}

/// A geofence, and the scope it was found in.
pub async fn find_geofence(
    context: &Context,
    by: &Scoped,
    id: GeofenceId,
) -> Result<(OrgScope, Geofence), OpError> {
    let scope = by.scope(context, Action::ReadGeofences).await?;
    let found = geofence::find(context.db.read(), &scope, id).await?;
    Ok((scope, found.ok_or(OpError::NotFound)?))
}

/// What of the past awaits a correction because of a geofence.
pub async fn past_correction(
    context: &Context,
    scope: &OrgScope,
    id: GeofenceId,
) -> Result<Option<PastCorrection>, OpError> {
    Ok(geofence::past_correction(context.db.read(), scope, id).await?)
}

/// How many vehicles are inside each of some geofences now.
pub async fn inside_counts(
    context: &Context,
    ids: impl IntoIterator<Item = GeofenceId>,
) -> Result<Vec<usize>, OpError> {
    let inside = try_join_all(ids.into_iter().map(|id| context.live.inside(id))).await?;
    Ok(inside.iter().map(Vec::len).collect())
}

/// Changes a geofence.
pub async fn update_geofence(
    context: &Context,
    by: &Scoped,
    id: GeofenceId,
    if_match: &IfMatch,
    body: Params<UpdateGeofence>,
) -> Result<Geofence, OpError> {
    by.scope(context, Action::WriteGeofences).await?;
    // Off this thread, and before the transaction, which holds locks.
    let (body, checked) = with_checked_shape(body).await?;
    let (mut change, scope) = Change::begin(context, by, Action::WriteGeofences).await?;
    geofence::hold(change.on(), &scope, id).await?;
    let current = geofence::find(change.on(), &scope, id).await?.ok_or(OpError::NotFound)?;
    let is_whole = body.is_whole();
    let mut new = body.changed(&current, &current.attributes)?;
    if is_whole && new.effective_from == Patch::Set(current.effective_from) {
        new.effective_from = Patch::Keep;
    }
    let is_new_version = current.is_changed_by(&new);
    if !is_new_version && new.attributes == current.attributes {
        return Ok(current);
    }
    if_match.check(&current)?;
    let geofence = changed(current.clone(), new, checked, is_new_version, change.now());
    geofence::update(change.tx(), &scope, &geofence, is_new_version).await?;
    // A new name makes no version, but the live core still needs it, because events carry it.
    let recorded = change.updated(&current, &geofence).await?;
    change.commit(recorded, geofence).await
}

/// Checks and normalises the shape of a body, if it has one.
async fn with_checked_shape(
    body: Params<UpdateGeofence>,
) -> Result<(Params<UpdateGeofence>, Option<Checked>), OpError> {
    let shape = body.sent("shape").map(|shape| read_shape(shape, "/shape"));
    // An unreadable shape is reported later, with all other problems of the body.
    let Some(Ok(shape)) = shape else { return Ok((body, None)) };
    let checked = check(shape).await?;
    Ok((body.reworded(|body| body["shape"] = json!(checked.shape)), Some(checked)))
}

fn changed(
    current: Geofence,
    new: UpdateGeofence,
    checked: Option<Checked>,
    is_new_version: bool,
    now: Timestamp,
) -> Geofence {
    let mut geofence = Geofence { attributes: new.attributes, updated_at: now, ..current };
    if let Some(checked) = checked {
        geofence.bbox = checked.bbox;
        geofence.area_square_meters = checked.area_square_meters;
    }
    if is_new_version {
        geofence.version += 1;
        geofence.effective_from = in_effect(new.effective_from, now);
    }
    geofence
}

/// When a version takes effect: at the given instant, else at its creation or change.
fn in_effect(given: Patch<Option<Timestamp>>, now: Timestamp) -> Option<Timestamp> {
    match given {
        Patch::Keep => Some(now),
        Patch::Set(from) => from,
    }
}

/// Deletes a geofence: the stays in it end now.
pub async fn delete_geofence(
    context: &Context,
    by: &Scoped,
    id: GeofenceId,
    if_match: &IfMatch,
) -> Result<(), OpError> {
    let (mut change, scope) = Change::begin(context, by, Action::WriteGeofences).await?;
    geofence::hold(change.on(), &scope, id).await?;
    let current = geofence::find(change.on(), &scope, id).await?.ok_or(OpError::NotFound)?;
    if_match.check(&current)?;
    // Read once the row is locked, so that a concurrent change comes before the end.
    let now = change.now();
    let version = current.version + 1;
    let ended = Geofence { version, effective_from: Some(now), updated_at: now, ..current.clone() };
    geofence::delete(change.tx(), &scope, &ended).await?;
    let recorded = change.deleted(&current).await?;
    change.commit(recorded, ()).await
}

/// Checks a shape on a thread that may block: 30,000 vertices take a while.
async fn check(shape: ShapeSpec) -> Result<Checked, OpError> {
    let checked = tokio::task::spawn_blocking(move || geofence_shape::checked(shape)).await;
    Ok(checked.map_err(|error| OpError::Internal(error.into()))??)
}

/// The scope of a geofence, after checking that the geofence exists.
pub(super) async fn require_geofence(
    context: &Context,
    by: &Scoped,
    id: GeofenceId,
) -> Result<OrgScope, OpError> {
    let scope = by.scope(context, Action::ReadEvents).await?;
    let found = geofence::find(context.db.read(), &scope, id).await?;
    found.map(|_| scope).ok_or(OpError::NotFound)
}
