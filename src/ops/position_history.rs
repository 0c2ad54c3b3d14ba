//! A vehicle's stored fixes, by the device's clock.

use waypost_actors::model::VehicleId;

use super::error::OpError;
use super::listing::Listing;
use super::scoped::Scoped;
use crate::auth::Action;
use crate::context::Context;
use crate::domain::paging::{Slice, SliceRequest};
use crate::domain::position::{AfterFix, HistoryRequest, StoredPosition};
use crate::store::{position_history, vehicle};

/// Fixes of a vehicle, even if it was deleted, from a place in its history on. After many that are left out the slice ends early.
pub async fn list_positions(
    context: &Context,
    by: &Scoped,
    id: VehicleId,
    asked: &HistoryRequest,
    slice: &SliceRequest,
) -> Result<Slice<StoredPosition>, OpError> {
    let scope = by.scope(context, Action::ReadPositions).await?;
    if !vehicle::existed(context.db.read(), &scope, id).await? {
        return Err(OpError::NotFound);
    }
    let order = if asked.is_newest_first { "newest" } else { "oldest" };
    let purpose = format!("positions {order} {id} {}", scope.organization_id());
    let listing = Listing::new(context, purpose, slice);
    let (mut items, ended_at) =
        position_history::list(&context.db, &context.track, id, asked, listing.after()?, listing.limit())
            .await?;
    if !by.caller.sees().fuel {
        items.iter_mut().for_each(|stored| stored.fuel = None);
    }
    let place = |last: &StoredPosition| AfterFix {
        recorded_at: last.recorded_at,
        latitude: last.latitude,
        longitude: last.longitude,
    };
    listing.slice_until(items, place, ended_at)
}
