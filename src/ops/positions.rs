//! Where the vehicles of a fleet are now, from the live core's memory.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;
use waypost_actors::live::VehicleView;
use waypost_actors::model::{OrganizationId, Timestamp, VehicleId};
use waypost_actors::tracking::VehicleState;

use super::error::OpError;
use super::listing::Listing;
use super::live_filter::{Fleet, LiveFilter};
use super::live_view::{Connection, LiveVehicle, connection};
use super::own_organization::settings_of;
use super::scoped::Scoped;
use crate::auth::{Action, Caller, Sees};
use crate::context::Context;
use crate::domain::organization_settings::Settings;
use crate::domain::paging::{Slice, SliceRequest};

/// The newest position of a vehicle.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VehiclePosition {
    /// Which.
    pub vehicle_id: VehicleId,
    /// Where it is, and what it does.
    #[serde(flatten)]
    pub live: LiveVehicle,
}

/// The newest positions of the vehicles that ever had one, by the vehicle's id. `vehicles`: of these, if there are any.
pub async fn list_newest(
    context: &Context,
    by: &Scoped,
    vehicles: &[VehicleId],
    filter: &LiveFilter,
    request: &SliceRequest,
) -> Result<Slice<VehiclePosition>, OpError> {
    let scope = by.scope(context, Action::ReadLivePositions).await?;
    filter.require(&by.caller)?;
    let listing = Listing::new(context, format!("newest positions {}", scope.organization_id()), request);
    let after: Option<VehicleId> = listing.after()?;
    let fleet = Fleet::of(context, &scope).await?;
    let sees = by.caller.sees();
    let mut found: Vec<_> = fleet
        .accepted(filter)
        .filter(|(vehicle, now)| {
            now.state.last.is_some()
                && after.is_none_or(|after| *vehicle > after)
                && (vehicles.is_empty() || vehicles.contains(vehicle))
        })
        .collect();
    found.sort_unstable_by_key(|(vehicle, _)| *vehicle);
    let shown = |(vehicle_id, now)| {
        let view = Some(VehicleView::of(vehicle_id, now));
        Some(VehiclePosition { vehicle_id, live: LiveVehicle::of(view, sees) })
    };
    Ok(listing.slice(found, |(vehicle, _)| *vehicle)?.filter_map(shown))
}

/// The newest positions of an organization as an orgAdmin sees them, for what is published.
pub struct Newest {
    sees: Sees,
    settings: Settings,
    now: Timestamp,
}

/// A vehicle with its committed state.
pub type Committed = (VehicleId, Arc<VehicleState>, Connection);

impl Newest {
    /// Reads them: the vehicles that ever had a position, in no order.
    pub async fn read(
        context: &Context,
        organization: OrganizationId,
    ) -> Result<(Self, Vec<Committed>), OpError> {
        let by = Scoped { caller: Caller::webhook(organization, None), organization: None };
        let scope = by.scope(context, Action::ReadLivePositions).await?;
        let (settings, sees) = (settings_of(context, &scope).await?, by.caller.sees());
        let now = context.clock.now();
        let fleet = context.live.fleet(organization).await?;
        let with_position = |(vehicle, state): (VehicleId, Arc<VehicleState>)| {
            let heard = connection(state.last.as_ref()?, &settings, now);
            Some((vehicle, state, heard))
        };
        let vehicles = fleet.into_iter().filter_map(with_position).collect();
        Ok((Self { sees, settings, now }, vehicles))
    }

    /// The form in which GET gives one.
    #[must_use]
    pub fn show(&self, vehicle_id: VehicleId, state: &VehicleState) -> VehiclePosition {
        let view = Some(VehicleView::of(vehicle_id, state));
        VehiclePosition { vehicle_id, live: LiveVehicle::of(view, self.sees, &self.settings, self.now) }
    }
}
