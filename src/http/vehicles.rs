//! `/v1/vehicles`.

use actix_web::{HttpRequest, HttpResponse};
use serde::Serialize;
use utoipa::ToSchema;
use waypost_actors::model::{Connection, DriverId, GeofenceId, Motion, Timestamp, VehicleId};

use super::answer::{self, Answer, PageOf};
use super::code::Code;
use super::geofences::bbox;
use super::problem::Problem;
use super::query::{Query, id, instant, word};
use super::request::{InOrganization, Matching, PathId, Purging, Shared, SignedCaller};
use crate::auth::{Action, Caller, OrgScope};
use crate::domain::assignment::CurrentDriver;
use crate::domain::body::Params;
use crate::domain::paging::{MAX_LIMIT, MAX_VEHICLES_LIMIT, Page, SortKey};
use crate::domain::vehicle::{CreateVehicle, Vehicle, VehicleCategory, VehicleIn, VehicleStatus};
use crate::ops::live_filter::LiveFilter;
use crate::ops::live_view::LiveVehicle;
use crate::ops::vehicles::{self as ops, NewTracker};

const NEWEST_FIRST: SortKey = SortKey { name: "createdAt", is_descending: true };

/// A vehicle, where it is now, who drives it, and the tracker that was made with it.
#[derive(Debug, Serialize, ToSchema)]
pub struct VehicleOut {
    #[serde(flatten)]
    vehicle: Vehicle,
    /// Where it is now, or was at `asOf`; not part of the ETag.
    #[serde(skip_serializing_if = "Option::is_none")]
    live: Option<LiveVehicle>,
    /// Who drives it now, or drove it at `asOf`, for system users with the scope `drivers:read`; not part of the ETag.
    #[serde(skip_serializing_if = "Option::is_none")]
    driver: Option<CurrentDriver>,
    /// The tracker made with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    tracker: Option<NewTracker>,
}

/// What vehicles are shown with.
#[derive(Clone, Copy)]
pub(super) enum Shown {
    /// Their drivers of now, or of an instant.
    Plain(Option<Timestamp>),
    /// Their drivers, and where they are now.
    Live,
    /// Who drove them and where they were then.
    AsOf(Timestamp),
}

/// Adds to each vehicle its driver and, if wanted, where it is or was.
pub(super) async fn shown(
    context: &Shared,
    caller: &Caller,
    scope: &OrgScope,
    vehicles: Vec<Vehicle>,
    with: Shown,
) -> Result<Vec<VehicleOut>, Problem> {
    let ids: Vec<VehicleId> = vehicles.iter().map(|vehicle| vehicle.id).collect();
    let at = match with {
        Shown::Plain(at) => at,
        Shown::Live => None,
        Shown::AsOf(at) => Some(at),
    };
    let mut drivers = ops::drivers_of(context, caller, scope, &ids, at).await?;
    let live = match with {
        Shown::Plain(_) => Vec::new(),
        Shown::Live => ops::live_vehicles(context, caller, ids).await?,
        Shown::AsOf(at) => ops::past_vehicles(context, caller, scope, &ids, at).await?,
    };
    let mut live = live.into_iter();
    let out = |vehicle: Vehicle| VehicleOut {
        driver: drivers.remove(&vehicle.id),
        live: live.next(),
        tracker: None,
        vehicle,
    };
    Ok(vehicles.into_iter().map(out).collect())
}

/// The answer with one vehicle.
async fn answered(
    context: &Shared,
    caller: &Caller,
    scope: &OrgScope,
    vehicle: Vehicle,
    with: Shown,
) -> Answer {
    let out = shown(context, caller, scope, vec![vehicle], with).await?.pop();
    let out = out.ok_or_else(|| Problem::new(Code::NotFound))?;
    Ok(answer::with_derived(&out.vehicle, &out))
}

/// Reads `include`: whether vehicles are shown `with` where they are. `is_usual`: without that parameter they are.
fn included(query: &mut Query, is_usual: bool, with: Shown) -> Shown {
    let included = query.many("include", word(&[("live", true), ("none", false)]));
    let is_wanted = if included.is_empty() { is_usual } else { included.contains(&true) };
    match with {
        _ if is_wanted => with,
        Shown::AsOf(at) => Shown::Plain(Some(at)),
        _ => Shown::Plain(None),
    }
}

/// List vehicles.
///
/// With `asOf` each is shown as it was at that instant, by what is stored today: `live` is its newest fix up to then, without
/// fuel, and the stays that went on; which vehicles are listed is told by what they are now. With `include=live` or `asOf`
/// `limit` is at most 200.
#[utoipa::path(get, path = "/v1/vehicles", tag = "vehicles",
    params(("q" = Option<String>, Query, description = "Text to find in name, plate, VIN, make or model"),
        ("status" = Option<Vec<VehicleStatus>>, Query, description = "Only of these states"),
        ("category" = Option<Vec<VehicleCategory>>, Query, description = "Only of these categories"),
        ("driverId" = Option<Vec<DriverId>>, Query, description = "Only those that one of these drives now"),
        ("vehicleId" = Option<Vec<VehicleId>>, Query, description = "Only these"),
        ("geofenceId" = Option<Vec<GeofenceId>>, Query, description = "Only those in one of these now; takes a system user the scope events:read"),
        ("bbox" = Option<String>, Query, description = "west,south,east,north: only those within now; this and the next two take a system user the scope positions:read"),
        ("state" = Option<Vec<Connection>>, Query, description = "Only those that are heard of like this now"),
        ("motion" = Option<Vec<Motion>>, Query, description = "Only those that move like this now"),
        ("include" = Option<String>, Query, description = "live: with where each is now; takes a system user the scope positions:read"),
        ("asOf" = Option<Timestamp>, Query, description = "A past instant: where each was then and who drove it; a future one is refused, and so are the filters by where they are now; takes a system user the scopes positions:read or events:read"),
        ("updatedAfter" = Option<Timestamp>, Query, description = "Only what was changed after this; deletions are in /v1/changes"),
        ("sort" = Option<String>, Query, description = "name, plate, status, createdAt, updatedAt; - for descending"),
        InOrganization,
        ("page" = Option<i64>, Query), ("limit" = Option<i64>, Query)),
    responses((status = 200, body = PageOf<VehicleOut>, description = "A page")))]
pub async fn list_vehicles(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    request: HttpRequest,
    mut query: Query,
) -> Answer {
    let mut filter = filter(&mut query);
    filter.statuses = query.many("status", word(VehicleStatus::WORDS));
    filter.driver_ids = query.many("driverId", id);
    filter.ids = query.many("vehicleId", id);
    let live = live_filter(&mut query);
    let at = query.one("asOf", |text| match instant(text)? {
        at if at > context.clock.now() => Err("not in the future".to_owned()),
        _ if !live.is_empty() => {
            Err("left out with geofenceId, bbox, state and motion, which are of now".to_owned())
        }
        at => Ok(at),
    });
    let with = included(&mut query, at.is_some(), at.map_or(Shown::Live, Shown::AsOf));
    listed(context, caller, &request, query, (filter, live, with)).await
}

/// List the vehicles in use that nobody drives. With `include=live` `limit` is at most 200.
#[utoipa::path(get, path = "/v1/vehicles/unassigned-active", tag = "vehicles",
    params(("q" = Option<String>, Query, description = "Text to find in name, plate, VIN, make or model"),
        ("category" = Option<Vec<VehicleCategory>>, Query, description = "Only of these categories"),
        ("include" = Option<String>, Query, description = "live: with where each is now; takes a system user the scope positions:read"),
        ("updatedAfter" = Option<Timestamp>, Query, description = "Only what was changed after this; deletions are in /v1/changes"),
        ("sort" = Option<String>, Query, description = "name, plate, status, createdAt, updatedAt; - for descending"),
        InOrganization,
        ("page" = Option<i64>, Query), ("limit" = Option<i64>, Query)),
    responses((status = 200, body = PageOf<VehicleOut>, description = "A page")))]
pub async fn list_unassigned_vehicles(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    request: HttpRequest,
    mut query: Query,
) -> Answer {
    let mut filter = filter(&mut query);
    filter.statuses = vec![VehicleStatus::Active];
    filter.unassigned = true;
    let with = included(&mut query, false, Shown::Live);
    listed(context, caller, &request, query, (filter, LiveFilter::default(), with)).await
}

/// Reads the filters that all lists of vehicles share.
fn filter(query: &mut Query) -> ops::Filter {
    let categories = query.many("category", word(VehicleCategory::WORDS));
    let updated_after = query.updated_after();
    ops::Filter { q: query.q(), categories, updated_after, ..ops::Filter::default() }
}

/// Reads the filters by where vehicles are and what they do now.
pub(super) fn live_filter(query: &mut Query) -> LiveFilter {
    const MOTIONS: &[(&str, Motion)] =
        &[("moving", Motion::Moving), ("stopped", Motion::Stopped), ("unknown", Motion::Unknown)];
    LiveFilter {
        geofence_ids: query.many("geofenceId", id),
        bbox: query.one("bbox", bbox),
        states: query.many("state", word(Connection::WORDS)),
        motions: query.many("motion", word(MOTIONS)),
    }
}

async fn listed(
    context: Shared,
    caller: Caller,
    request: &HttpRequest,
    query: Query,
    (filter, live, with): (ops::Filter, LiveFilter, Shown),
) -> Answer {
    let most = if matches!(with, Shown::Plain(_)) { MAX_VEHICLES_LIMIT } else { MAX_LIMIT };
    let (by, sort, page) = query.listed_up_to(most, caller, ops::SORT_KEYS, NEWEST_FIRST)?;
    let (scope, found) = ops::list_vehicles(&context, &by, &filter, &live, &sort, page).await?;
    let items = shown(&context, &by.caller, &scope, found.items, with).await?;
    Ok(answer::page(request, page, Page { items, total: found.total }, |item| item))
}

/// Create a vehicle, with a new tracker if `tracker.uniqueId` is there; its token is shown once.
#[utoipa::path(post, path = "/v1/vehicles", tag = "vehicles", request_body = CreateVehicle,
    params(InOrganization),
    responses((status = 201, body = VehicleOut, description = "Created; Location names it"),
        (status = 403, description = "planLimitReached"),
        (status = 409, description = "plateTaken, vinTaken, uniqueIdTaken")))]
pub async fn create_vehicle(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    query: Query,
    body: Params<CreateVehicle>,
) -> Answer {
    let by = query.scoped_or_by(caller, &body)?;
    let ops::Created { vehicle, tracker } = ops::create_vehicle(&context, &by, body).await?;
    let location = format!("/v1/vehicles/{}", vehicle.id);
    let out = VehicleOut { vehicle, live: None, driver: None, tracker };
    Ok(answer::created(location, &out.vehicle, &out))
}

/// Get a vehicle and where it is now.
///
/// `live` takes a system user the scope `positions:read`; without it `live` is absent, and asking for it is refused.
#[utoipa::path(get, path = "/v1/vehicles/{id}", tag = "vehicles",
    params(("id" = VehicleId, Path),
        ("include" = Option<String>, Query, description = "none: without where it is now"),
        InOrganization),
    responses((status = 200, body = VehicleOut, description = "The vehicle")))]
pub async fn find_vehicle(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(id): PathId<VehicleId>,
    mut query: Query,
) -> Answer {
    let is_usual = caller.may(Action::ReadLivePositions).is_ok();
    let with = included(&mut query, is_usual, Shown::Live);
    let by = query.scoped(caller)?;
    let (scope, vehicle) = ops::find_vehicle(&context, &by, id).await?;
    answered(&context, &by.caller, &scope, vehicle, with).await
}

/// Change a vehicle: members left out stay, null clears.
#[utoipa::path(put, path = "/v1/vehicles/{id}", tag = "vehicles", request_body = VehicleIn,
    params(("id" = VehicleId, Path),
        InOrganization),
    responses((status = 200, body = VehicleOut, description = "The vehicle as it is now"),
        (status = 409, description = "plateTaken, vinTaken, invalidTransition")))]
pub async fn update_vehicle(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(id): PathId<VehicleId>,
    query: Query,
    Matching(if_match): Matching,
    body: Params<VehicleIn>,
) -> Answer {
    let by = query.scoped(caller)?;
    let (scope, vehicle) = ops::update_vehicle(&context, &by, id, &if_match, body).await?;
    answered(&context, &by.caller, &scope, vehicle, Shown::Plain(None)).await
}

/// Delete a vehicle. Its stays end now; its history is kept, or goes with `purge=true`.
#[utoipa::path(delete, path = "/v1/vehicles/{id}", tag = "vehicles",
    params(("id" = VehicleId, Path),
        Purging,
        InOrganization),
    responses((status = 204, description = "Deleted")))]
pub async fn delete_vehicle(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    PathId(id): PathId<VehicleId>,
    mut query: Query,
    Matching(if_match): Matching,
) -> Answer {
    let purges = query.purges();
    let by = query.scoped(caller)?;
    ops::delete_vehicle(&context, &by, id, &if_match, purges).await?;
    Ok(HttpResponse::NoContent().finish())
}
