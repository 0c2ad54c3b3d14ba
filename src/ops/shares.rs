//! Links that show where some vehicles are, without an account.

use futures_util::future::try_join_all;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;
use waypost_actors::live::VehicleView;
use waypost_actors::model::{Connection, Motion, VehicleId};

use super::change::Change;
use super::error::OpError;
use super::etag::IfMatch;
use super::scoped::Scoped;
use crate::auth::{Action, OrgScope, secret};
use crate::clock;
use crate::context::Context;
use crate::domain::body::Params;
use crate::domain::field::FieldError;
use crate::domain::paging::{Page, PageRequest, Sort};
use crate::domain::share::{
    CreateShare, MAX_SHARES, Share, ShareFilter, SharedVehicle, ShownVehicle, ShownVehicles,
};
use crate::store::share::Opened;
pub use crate::store::share::SORT_KEYS;
use crate::store::sql::Tx;
use crate::store::{geofence, organization, share, vehicle};

/// Prefix of links' tokens, by which leak scanners recognize them.
const TOKEN_PREFIX: &str = "wpf_";

/// A new link with its token.
#[derive(Debug, Serialize, ToSchema)]
pub struct ShareWithToken {
    /// The link.
    #[serde(flatten)]
    pub share: Share,
    /// The credential, shown this once: whoever has it sees the vehicles at `/s/{token}`.
    pub token: String,
    /// The address to hand on; absent where the setting `publicUrl` does not say how people reach the server.
    #[schema(format = "uri")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// Creates a link.
pub async fn create_share(
    context: &Context,
    by: &Scoped,
    body: Params<CreateShare>,
) -> Result<ShareWithToken, OpError> {
    let scope = by.scope(context, Action::WriteShares).await?;
    let new = body.made_if(|members| CreateShare::check(members, context.clock.now()))?;
    let mut change = Change::within(context, Some(&by.caller), Some(scope)).await?;
    refuse_foreign(change.tx(), &scope, &new).await?;
    let now = change.now();
    organization::hold(change.on(), &scope).await?;
    if share::count(change.on(), &scope, now).await? >= MAX_SHARES {
        return Err(OpError::ShareLimit);
    }
    let token = secret::new(TOKEN_PREFIX);
    let shared = |vehicle_id| SharedVehicle { vehicle_id, arrived_at: None };
    // As they are read, so that the answer's ETag is that of the link.
    let mut vehicle_ids = new.vehicle_ids;
    vehicle_ids.sort_unstable();
    let share = Share {
        id: clock::new_id(),
        organization_id: scope.organization_id(),
        name: new.name,
        vehicles: vehicle_ids.into_iter().map(shared).collect(),
        ends_at: new.ends_at,
        geofence_id: new.geofence_id,
        created_by: by.caller.id,
        created_at: now,
        open: true,
    };
    share::insert(change.tx(), &share, &secret::hash(&token)).await?;
    let recorded = change.created(&share).await?;
    let settings = &context.settings;
    let url = settings.public_url.as_ref().map(|_| format!("{}/s/{token}", settings.public_url()));
    change.commit_created(recorded, ShareWithToken { share, token, url }).await
}

/// A page of links, without their tokens.
pub async fn list_shares(
    context: &Context,
    by: &Scoped,
    filter: (Vec<VehicleId>, Option<bool>),
    sort: &Sort,
    page: PageRequest,
) -> Result<Page<Share>, OpError> {
    let scope = by.scope(context, Action::ReadShares).await?;
    let now = context.clock.now();
    let (vehicle_ids, open) = filter;
    let filter = ShareFilter { vehicle_ids, open: open.map(|open| (open, now)) };
    Ok(share::list(&context.db, &scope, &filter, sort, page, now).await?)
}

/// Revokes a link: it is unknown from now on.
pub async fn delete_share(
    context: &Context,
    by: &Scoped,
    id: Uuid,
    if_match: &IfMatch,
) -> Result<(), OpError> {
    let (mut change, scope) = Change::begin(context, by, Action::RevokeShares).await?;
    let now = change.now();
    let found = share::find(change.tx(), &scope, id, now).await?.ok_or(OpError::NotFound)?;
    if_match.check(&found.tagged())?;
    if !share::delete(change.on(), &scope, id).await? {
        return Err(OpError::NotFound); // another request has just revoked it
    }
    let recorded = change.deleted(&found).await?;
    change.commit(recorded, ()).await
}

/// What a link shows to anyone who has its token.
pub async fn shown_vehicles(context: &Context, token: &str) -> Result<ShownVehicles, OpError> {
    let Opened { ends_at, is_active, vehicles } =
        share::open(&context.db, &secret::hash(token)).await?.ok_or(OpError::NotFound)?;
    let as_of = context.clock.now();
    if !is_active || ends_at <= as_of || vehicles.is_empty() {
        return Err(OpError::ShareOver);
    }
    let shown = vehicles.into_iter().map(|vehicle| shown(context, vehicle));
    let mut vehicles = try_join_all(shown).await?;
    vehicles.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(ShownVehicles { as_of, ends_at, vehicles })
}

async fn shown(context: &Context, (id, name): (VehicleId, String)) -> Result<ShownVehicle, OpError> {
    let view = context.live.vehicle(id).await?.unwrap_or_else(VehicleView::never);
    Ok(ShownVehicle {
        name,
        position: view.fix.map(|fix| fix.place),
        // Of one that is not heard of nobody knows it.
        motion: if view.connection == Connection::Online { view.motion } else { Motion::Unknown },
        last_heard_at: view.fix.map(|fix| fix.received_at),
    })
}

/// Refuses vehicles and a geofence that are not the organization's.
async fn refuse_foreign(tx: &mut Tx, scope: &OrgScope, new: &CreateShare) -> Result<(), OpError> {
    let known = vehicle::existing(tx.on(), scope, &new.vehicle_ids).await?;
    let mut problems: Vec<FieldError> =
        FieldError::strangers("vehicleIds", "vehicle", &new.vehicle_ids, &known).collect();
    let wanted: Vec<_> = new.geofence_id.into_iter().collect();
    if geofence::existing(tx.on(), scope, &wanted).await?.len() < wanted.len() {
        problems.push(FieldError::new("/geofenceId", "notFound", "must be a geofence of the organization"));
    }
    if problems.is_empty() { Ok(()) } else { Err(OpError::Invalid(problems)) }
}
