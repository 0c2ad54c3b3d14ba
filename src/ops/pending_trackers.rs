//! Devices that reported for an organization and are no trackers of it yet. A user who makes a tracker of one, in a vehicle, gives
//! that vehicle what the device had sent.

use super::change::Change;
use super::error::OpError;
use super::etag::IfMatch;
use super::scoped::Scoped;
use super::tracker_reports::save;
use crate::auth::{Action, AuthError};
use crate::context::Context;
use crate::domain::paging::{Page, PageRequest, Sort};
use crate::domain::pending_tracker::PendingTracker;
pub use crate::store::pending_tracker::SORT_KEYS;
use crate::store::pending_tracker::{self, Accepted};
use crate::store::sql::SqlError;
use uuid::Uuid;
use waypost_actors::live::LiveError;
use waypost_actors::model::{AttributesByFix, OrganizationId, Timestamp};

/// A change of a tracker or its vehicle is known everywhere after this.
const SETTLED_SECONDS: f64 = 60.0;

/// Why kept fixes could not be taken. They stay, and are tried again.
#[derive(Debug, thiserror::Error)]
pub enum NotTaken {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] SqlError),
    /// The tracker could not be looked up.
    #[error(transparent)]
    Tracker(#[from] AuthError),
    /// The live core refused.
    #[error(transparent)]
    Live(#[from] LiveError),
}

/// A page of an organization's.
pub async fn list_pending_trackers(
    context: &Context,
    by: &Scoped,
    sort: &Sort,
    page: PageRequest,
) -> Result<Page<PendingTracker>, OpError> {
    let scope = by.scope(context, Action::ReadTrackers).await?;
    save(context, false).await?;
    Ok(pending_tracker::list(&context.db, &scope, sort, page).await?)
}

/// Dismisses a device: it is not listed any more however often it reports, and of what it sends nothing is kept. It can be made
/// a tracker by its name all the same.
pub async fn dismiss_pending_tracker(
    context: &Context,
    by: &Scoped,
    id: Uuid,
    if_match: &IfMatch,
) -> Result<(), OpError> {
    let (mut change, scope) = Change::begin(context, by, Action::WriteTrackers).await?;
    let device = pending_tracker::find(change.on(), &scope, id).await?.ok_or(OpError::NotFound)?;
    if_match.check(&device.tagged())?;
    let now = change.now();
    pending_tracker::dismiss(change.tx(), &scope, id, now).await?;
    let recorded = change.deleted(&device).await?;
    change.commit(recorded, ()).await
}

/// Reports the kept fixes of devices that are trackers in a vehicle by now, then forgets the devices. Doing it twice stores
/// nothing twice.
pub async fn take_kept(context: &Context) -> Result<(), NotTaken> {
    for device in pending_tracker::accepted(&context.db).await? {
        take(context, &device).await?;
    }
    Ok(())
}

async fn take(context: &Context, device: &Accepted) -> Result<(), NotTaken> {
    let organization = OrganizationId(device.organization_id);
    let Some(tracker) = context.auth.device(organization, &device.unique_id).await? else { return Ok(()) };
    let fixes = pending_tracker::fixes(context.db.read(), device).await?;
    let (mut report, mut carried) = (Vec::new(), AttributesByFix::default());
    for (fix, attributes) in fixes {
        let Some(vehicle) = tracker.vehicle_at(fix.recorded_at) else { continue };
        if let Some(attributes) = attributes {
            carried.add(vehicle, &fix, attributes);
        }
        report.push((vehicle, fix));
    }
    if !report.is_empty() {
        let outcome = context.live.reporter().report_all(report, carried).await?.outcome().await?;
        // A vehicle made just now may not be known to the live core yet.
        let settled_at = Timestamp::from(device.updated_at).plus_seconds(SETTLED_SECONDS);
        if !outcome.out_of_use.is_empty() && context.clock.now() < settled_at {
            return Ok(());
        }
    }
    Ok(pending_tracker::forget(&context.db, device).await?)
}
