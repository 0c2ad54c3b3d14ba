//! Where the vehicles of a fleet are now, from the live core's memory.

use serde::Serialize;
use utoipa::ToSchema;
use waypost_actors::live::{VehicleNow, VehicleView};
use waypost_actors::model::{OrganizationId, VehicleId};

use super::error::OpError;
use super::listing::Listing;
use super::live_filter::{Fleet, LiveFilter};
use super::live_view::LiveVehicle;
use super::scoped::Scoped;
use crate::auth::{Action, Caller, Sees};
use crate::context::Context;
use crate::domain::paging::{Slice, SliceRequest};
use crate::store::vehicle;

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
}

impl Newest {
    /// Reads them: the vehicles that ever had a position, in no order.
    pub async fn read(
        context: &Context,
        organization: OrganizationId,
    ) -> Result<(Self, Vec<(VehicleId, VehicleNow)>), OpError> {
        let by = Scoped { caller: Caller::webhook(organization, None), organization: None };
        by.scope(context, Action::ReadLivePositions).await?;
        let mut vehicles = context.live.fleet(organization).await?;
        vehicles.retain(|(_, now)| now.state.last.is_some());
        Ok((Self { sees: by.caller.sees() }, vehicles))
    }

    /// Reads what all vehicles are called, those without a position too.
    pub async fn names(
        context: &Context,
        organization: OrganizationId,
    ) -> Result<Vec<(VehicleId, String)>, OpError> {
        let by = Scoped { caller: Caller::webhook(organization, None), organization: None };
        let scope = by.scope(context, Action::ReadVehicles).await?;
        Ok(vehicle::list_names(&context.db, &scope).await?)
    }

    /// The form in which GET gives one.
    #[must_use]
    pub fn show(&self, vehicle_id: VehicleId, now: &VehicleNow) -> VehiclePosition {
        let view = Some(VehicleView::of(vehicle_id, now));
        VehiclePosition { vehicle_id, live: LiveVehicle::of(view, self.sees) }
    }
}
