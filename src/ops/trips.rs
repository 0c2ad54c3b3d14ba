//! Trips and stops: views of the log, with up to when each stands.

use std::collections::HashMap;

use waypost_actors::model::{Timestamp, VehicleId};
use waypost_actors::tracking::{RecordView, TripEvent, TripKind};

use super::error::OpError;
use super::events::records_in;
use super::scoped::Scoped;
use crate::auth::Action;
use crate::context::Context;
use crate::domain::event::{EventFilter, EventOrder};
use crate::domain::paging::{Slice, SliceRequest};

/// The trips or the stops that a filter lets through, from a place in the list on.
pub async fn list_trips(
    context: &Context,
    by: &Scoped,
    kind: TripKind,
    filter: EventFilter,
    order: EventOrder,
    request: &SliceRequest,
) -> Result<Slice<TripEvent>, OpError> {
    let scope = by.scope(context, Action::ReadEvents).await?;
    let filter = EventFilter { kinds: vec![kind.into()], ..filter };
    let purpose = format!("{}s {}", kind.as_str(), order.as_str());
    let found = records_in(context, &scope, &purpose, &filter, order, request).await?;
    let mut trips = found.filter_map(|record| RecordView::from(&record).trip());
    let settled = settled(context, &trips.items).await?;
    for trip in &mut trips.items {
        trip.settled_through = settled.get(&trip.vehicle_id).copied();
    }
    Ok(trips)
}

/// Up to when the timelines of some vehicles stand.
async fn settled(context: &Context, trips: &[TripEvent]) -> Result<HashMap<VehicleId, Timestamp>, OpError> {
    let mut vehicles: Vec<_> = trips.iter().map(|trip| trip.vehicle_id).collect();
    vehicles.sort_unstable();
    vehicles.dedup();
    if vehicles.is_empty() {
        return Ok(HashMap::new());
    }
    Ok(context.live.running_visits(vehicles).await?.settled.into_iter().collect())
}
