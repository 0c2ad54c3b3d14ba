//! Where a vehicle was: its stored fixes, by the device's clock.

use waypost_actors::model::{OrganizationId, Timestamp, VehicleId};

use super::error::OpError;
use crate::auth::{Action, Caller};
use crate::context::Context;
use crate::domain::paging::{Slice, SliceRequest};
use crate::domain::position::{AfterFix, HistoryRequest, StoredPosition};
use crate::store::{position_history, vehicle};

/// Fixes of a vehicle, which may be deleted by now, from a place in its history on.
pub async fn list_positions(
    context: &Context,
    caller: &Caller,
    named: Option<OrganizationId>,
    id: VehicleId,
    asked: &HistoryRequest,
    slice: &SliceRequest,
) -> Result<Slice<StoredPosition>, OpError> {
    let scope = caller.scope(&context.db, Action::ReadPositions, named).await?;
    if !vehicle::existed(context.db.read(), &scope, id).await? {
        return Err(OpError::NotFound);
    }
    let order = if asked.is_newest_first { "newest" } else { "oldest" };
    let purpose = format!("positions {order} {id} {}", scope.organization_id());
    let after = match &slice.after {
        None => None,
        Some(cursor) => {
            let payload = context.auth.sealer.open(&purpose, cursor).ok_or(OpError::Cursor)?;
            Some(after(&payload).ok_or(OpError::Cursor)?)
        }
    };
    let mut items = position_history::list(&context.db, &scope, id, asked, after, slice.limit + 1).await?;
    let has_next = items.len() as i64 > slice.limit;
    items.truncate(usize::try_from(slice.limit).unwrap_or(usize::MAX));
    let end_cursor = match items.last() {
        Some(last) => Some(context.auth.sealer.seal(&purpose, &place_of(last))),
        None => slice.after.clone(),
    };
    Ok(Slice { items, end_cursor, has_next })
}

/// What is inside a cursor: instant and place, to the last bit.
fn place_of(position: &StoredPosition) -> Vec<u8> {
    let micros = position.recorded_at.as_micros().to_be_bytes();
    [micros, position.latitude.to_be_bytes(), position.longitude.to_be_bytes()].concat()
}

fn after(payload: &[u8]) -> Option<AfterFix> {
    let (micros, rest) = payload.split_first_chunk()?;
    let (latitude, longitude) = rest.split_first_chunk()?;
    Some(AfterFix {
        recorded_at: Timestamp::from_micros(i64::from_be_bytes(*micros)),
        latitude: f64::from_be_bytes(*latitude),
        longitude: f64::from_be_bytes(longitude.try_into().ok()?),
    })
}
