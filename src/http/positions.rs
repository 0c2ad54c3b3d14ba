//! `/v1/positions`: where vehicles are now, and the items of the tracker socket over HTTP.

use actix_web::{HttpRequest, HttpResponse, web};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::schema::{KnownFormat, Object, OneOf, Schema, SchemaFormat, Type};
use waypost_actors::live::LiveError;
use waypost_actors::model::{Connection, GeofenceId, Motion, VehicleId};

use super::answer::{self, Answer, SliceOf};
use super::body;
use super::code::Code;
use super::json;
use super::problem::Problem;
use super::query::{Query, id};
use super::request::{InOrganization, Shared, SignedCaller};
use super::sockets::reporting;
use super::vehicles::live_filter;
use crate::domain::field::FieldError;
use crate::ingest::decode::{self, Positions};
use crate::ingest::protocol::MAX_ITEMS;
use crate::ingest::{Intake, Rejected, Warning};
use crate::ops::positions::{self as ops, VehiclePosition};

/// Seconds after which fixes may be sent again while the store is away.
const RETRY_SECONDS: u64 = 1;

/// Positions to store, in the words of the tracker socket.
#[derive(Debug, Serialize, ToSchema)]
pub struct PositionsIn {
    /// At most 500, in their order.
    #[schema(max_items = 500)]
    pub items: Vec<PositionIn>,
}

/// A position as a tracker reports it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PositionIn {
    /// The client's own increasing number; named again when the item is refused.
    pub seq: Option<i64>,
    /// RFC 3339 text, or milliseconds since 1970.
    #[schema(schema_with = instant_schema)]
    pub recorded_at: String,
    /// Degrees north.
    #[schema(minimum = -90, maximum = 90)]
    pub latitude: f64,
    /// Degrees east.
    #[schema(minimum = -180, maximum = 180)]
    pub longitude: f64,
    /// km/h; below 0 and from 400 on means unknown.
    pub speed_kmh: Option<f64>,
    /// Degrees clockwise from north, up to 360; below 0 means unknown.
    pub heading_degrees: Option<f64>,
    /// Metres.
    pub altitude_meters: Option<f64>,
    /// Horizontal accuracy (68 %) in metres; below 0 means unknown.
    pub accuracy_meters: Option<f64>,
    /// Kilometres.
    pub odometer_km: Option<f64>,
    /// Whether the ignition is on.
    pub ignition: Option<bool>,
    /// What the fuel sensor said: a level as `{"percent"}`, `{"liters"}` or `{"raw"}`, a counter as `{"cumulative"}`, or both.
    #[schema(value_type = Option<Object>)]
    pub fuel: Option<serde_json::Value>,
    /// What else the device says: names of `A-Z a-z 0-9 _ .` with true, false, numbers and texts; at most 64 and 4 kB. Known
    /// ones have a type (docs/devices.md); one that does not fit is left out, with a warning.
    #[schema(value_type = Option<Object>)]
    pub attributes: Option<serde_json::Value>,
    /// Whose position it is: the tracker's id. A system user must name it here or by `uniqueId`; with a
    /// tracker's own token it must be that tracker, if it is named.
    pub tracker_id: Option<String>,
    /// The device's own id, instead of `trackerId`.
    pub unique_id: Option<String>,
}

/// Text, or milliseconds; a number that looks like seconds is refused.
fn instant_schema() -> Schema {
    let text = Object::builder()
        .schema_type(Type::String)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)));
    let millis = Object::builder().schema_type(Type::Integer).minimum(Some(100_000_000_000_i64));
    OneOf::builder()
        .item(text)
        .item(millis)
        .description(Some("RFC 3339 text, or milliseconds since 1970"))
        .into()
}

/// What became of the items. All but the rejected ones are committed.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PositionsOut {
    /// Committed now or before.
    accepted: u64,
    /// Of these, stored now.
    stored: u64,
    /// Of these, stored before.
    duplicates: u64,
    /// Refused; sending them again changes nothing.
    rejected: Vec<Rejected>,
    /// What items were stored without; absent where nothing was left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<Warning>,
}

/// List the newest position of every vehicle.
///
/// By the vehicle's id; of those that ever had one. As of the last commit, and never a query of the database.
#[utoipa::path(get, path = "/v1/positions", tag = "live",
    params(("vehicleId" = Option<Vec<VehicleId>>, Query, description = "Only of these vehicles"),
        ("geofenceId" = Option<Vec<GeofenceId>>, Query, description = "Only of those in one of these; takes a system user the scope events:read"),
        ("bbox" = Option<String>, Query, description = "west,south,east,north: only those within; west > east crosses the antimeridian"),
        ("state" = Option<Vec<Connection>>, Query, description = "Only of those that are heard of like this"),
        ("motion" = Option<Vec<Motion>>, Query, description = "Only of those that move like this"),
        InOrganization,
        ("limit" = Option<i64>, Query, description = "Default 200, at most 1,000"),
        ("after" = Option<String>, Query, description = "A cursor")),
    responses((status = 200, body = SliceOf<VehiclePosition>, description = "A slice of the fleet")))]
pub async fn list_newest_positions(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    request: HttpRequest,
    mut query: Query,
) -> Answer {
    let vehicles: Vec<VehicleId> = query.many("vehicleId", id);
    let filter = live_filter(&mut query);
    let slice = query.long_slice();
    let by = query.scoped(caller)?;
    let found = ops::list_newest(&context, &by, &vehicles, &filter, &slice).await?;
    Ok(answer::slice(&request, found))
}

/// Report positions.
///
/// With a tracker's token, or as a system user with the scope positions:ingest. Answered after the commit: what is not rejected is stored.
#[utoipa::path(post, path = "/v1/positions", tag = "live", request_body = PositionsIn,
    responses((status = 200, body = PositionsOut, description = "Committed, but for the rejected ones")))]
pub async fn create_positions(
    context: Shared,
    request: HttpRequest,
    query: Query,
    payload: web::Payload,
) -> Answer {
    query.finish()?;
    let reports = reporting(&context, &request).await?.reports(&context);
    body::accept(&request, &["application/json"])?;
    let bytes = body::read(&request, payload.into_inner()).await?;
    let Positions { items, ignored, .. } = read_items(&bytes)?;
    let mut intake = Intake::new(context.live.clone(), reports, context.report_log.clone());
    intake.warn(ignored);
    let batch = intake.take(0, items).await.map_err(not_taken)?;
    let (counts, rejected) = batch.committed().await.map_err(not_taken)?;
    let accepted = counts.stored + counts.duplicates;
    Ok(HttpResponse::Ok().json(PositionsOut {
        accepted,
        stored: counts.stored,
        duplicates: counts.duplicates,
        rejected,
        warnings: intake.take_warnings(),
    }))
}

fn read_items(bytes: &[u8]) -> Result<Positions<'_>, Problem> {
    let invalid = |detail: String| {
        let error = FieldError::new("/items", "invalid", detail.clone());
        Problem::new(Code::ValidationFailed).detail(detail).errors(vec![error])
    };
    // serde would accept a list for the members of a struct, in their order.
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    if first != Some(&b'{') && json::parse(bytes).is_ok() {
        return Err(invalid("items is missing: the body is {\"items\": [\u{2026}]}".to_owned()));
    }
    let Some(read) = decode::body(bytes) else {
        // A body that is no JSON is reported with its line; other JSON lacks the items.
        return Err(json::parse(bytes).err().unwrap_or_else(|| invalid("items is missing".to_owned())));
    };
    let positions = read.map_err(|bad| invalid(bad.0))?;
    let many = positions.many;
    if many > MAX_ITEMS {
        return Err(invalid(format!("items may have {MAX_ITEMS} members, this one has {many}")));
    }
    Ok(positions)
}

/// Why nothing was stored, for the client.
pub(super) fn not_taken(error: LiveError) -> Problem {
    match error {
        LiveError::Unavailable | LiveError::Stopped => Problem::new(Code::Unavailable)
            .detail("nothing is stored; send it again")
            .retry_after(RETRY_SECONDS),
        LiveError::UnknownVehicle => Problem::new(Code::TrackerDisabled).detail("its vehicle is out of use"),
    }
}
