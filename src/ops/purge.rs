//! Purges: what was recorded of vehicles and organizations that were deleted with all of it goes, while the server goes on working.
//!
//! Owns the order and the pace. The deletion has left a mark (`store::purge`), which stands until nothing is left, however often
//! the server stops in between.

use waypost_actors::model::{OrganizationId, VehicleId};

use super::retention::{FEWEST_ROWS, Hindered, in_slices};
use super::tracker_reports;
use crate::context::Context;
use crate::store::purge::{self, Recorded, Waiting};
use crate::store::sql::SqlError;
use crate::store::{driver_file, tracker_report};

/// What a pass did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purged {
    /// Vehicles of which nothing is left.
    pub vehicles: u64,
    /// Rows that were deleted of them, and geofences.
    pub rows: u64,
    /// Vehicles that the live core is not done with yet: soon to be tried again.
    pub waiting: u64,
}

/// Deletes what was recorded of all that is marked; what hinders it with one is the error in the end, once the others are done. May be
/// cancelled at any time; the next call continues.
pub async fn purge(context: &Context) -> Result<Purged, SqlError> {
    let Context { db, track, .. } = context;
    let (mut purged, mut hindered) = (Purged::default(), Hindered::default());
    let marked = purge::vehicles(db).await?;
    if !marked.is_empty() {
        let ids: Vec<_> = marked.iter().map(|vehicle| vehicle.id).collect();
        let done_with = context.live.forgotten(&ids).await.unwrap_or_default();
        purged.waiting = (marked.len() - done_with.len()) as u64;
        if !done_with.is_empty() {
            // What is in the fix log and in memory only goes to its rows first, and with them.
            track.save_states().await?;
            tracker_reports::save(context, false).await?;
        }
        for vehicle in marked.into_iter().filter(|vehicle| done_with.contains(&vehicle.id)) {
            let done = purge_vehicle(context, vehicle, &mut purged).await;
            hindered.by(done, vehicle.id.0)?;
        }
    }
    for organization in purge::organizations(db).await? {
        let done = purge_organization(context, organization, &mut purged).await;
        hindered.by(done, organization.id.0)?;
    }
    in_slices(|parts| driver_file::forget_parts(db, parts / FEWEST_ROWS)).await?;
    hindered.end(purged)
}

async fn purge_organization(
    Context { db, clock, .. }: &Context,
    organization: Waiting<OrganizationId>,
    purged: &mut Purged,
) -> Result<(), SqlError> {
    let Waiting { id, .. } = organization;
    tracker_report::forget(db, id, clock.now()).await?;
    purged.rows += in_slices(|rows| purge::delete_fences(db, id, rows / FEWEST_ROWS)).await?;
    purge::finish_organization(db, organization, clock.now()).await
}

async fn purge_vehicle(
    Context { db, track, clock, .. }: &Context,
    vehicle: Waiting<VehicleId>,
    purged: &mut Purged,
) -> Result<(), SqlError> {
    if !purge::begin(track, vehicle.id).await? {
        return Ok(()); // another server goes on
    }
    for table in Recorded::ALL {
        purged.rows += in_slices(|rows| table.delete(db, vehicle.id, rows)).await?;
    }
    purge::finish(track, vehicle, clock.now()).await?;
    purged.vehicles += 1;
    Ok(())
}
