//! `/v1/fuel/…` over a period: raw data, charts and consumption.

use actix_web::http::{Version, header};
use actix_web::web::Bytes;
use actix_web::{HttpMessage, HttpRequest, HttpResponse};
use futures_util::stream::{self, BoxStream, StreamExt};
use serde::Serialize;
use utoipa::ToSchema;
use waypost_actors::model::{Timestamp, VehicleId};

use super::answer::Answer;
use super::code::Code;
use super::edge::RequestId;
use super::fuel_lines::{self, Writer};
use super::problem::Problem;
use super::query::{Query, id, instant, whole, word};
use super::request::{InOrganization, Shared, SignedCaller};
use crate::domain::fuel::{ConsumptionOfPeriod, FuelEntry, RawFormat};
use crate::domain::fuel_chart::{ChartFormat, FuelChart};
use crate::ops::error::OpError;
use crate::ops::fuel_chart as chart;
use crate::ops::fuel_consumption as consumption;
use crate::ops::fuel_pages::PeriodRequest;
use crate::ops::fuel_raw as raw;

/// Points of a chart unless the client asks otherwise.
pub(super) const DEFAULT_POINTS: i64 = 500;
/// Room for the first, the lowest, the highest and the last.
pub(super) const MIN_POINTS: i64 = 4;
/// Wider than any screen.
pub(super) const MAX_POINTS: i64 = 5_000;

/// What vehicles burnt.
#[derive(Debug, Serialize, ToSchema)]
pub struct ConsumptionOut {
    /// One for each vehicle, by its id.
    data: Vec<ConsumptionOfPeriod>,
}

fn period(query: &mut Query) -> PeriodRequest {
    PeriodRequest {
        vehicle_ids: query.many("vehicleId", id),
        from: query.one("from", instant),
        to: query.one("to", instant),
    }
}

/// Every entry of the fuel log of some vehicles over a period of up to 31 days, by vehicle and time, streamed.
///
/// If anything fails in its middle the transfer breaks off: the last chunk of the body never comes, and a client
/// that sees the end has everything. HTTP/1.0 cannot tell these apart and is refused.
#[utoipa::path(get, path = "/v1/fuel/raw-data", tag = "fuel",
    params(("vehicleId" = Vec<VehicleId>, Query, description = "At least one"),
        ("from" = Timestamp, Query, description = "recordedAt from here, inclusive"),
        ("to" = Timestamp, Query, description = "recordedAt up to here, exclusive; at most 31 days later"),
        ("format" = Option<RawFormat>, Query, description = "Default: as Accept says, else json"),
        InOrganization),
    responses((status = 200, description = "The entries", content(
        (Vec<FuelEntry> = "application/json"), (FuelEntry = "application/x-ndjson"), (String = "text/csv"))),
        (status = 406, description = "notAcceptable")))]
pub async fn fuel_raw_data(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    request: HttpRequest,
    mut query: Query,
) -> Answer {
    let asked = period(&mut query);
    let format = query.one("format", word(RawFormat::WORDS));
    let by = query.scoped(caller)?;
    if request.version() < Version::HTTP_11 {
        return Err(Problem::new(Code::HttpVersion));
    }
    let Some(format) = format.or_else(|| fuel_lines::accepted(request.headers())) else {
        let known = RawFormat::WORDS.iter().map(|(_, format)| fuel_lines::media_type(*format));
        let known: Vec<&str> = known.collect();
        return Err(Problem::new(Code::NotAcceptable).detail(format!("there is {}", known.join(", "))));
    };
    let pages = raw::fuel_raw_data(&context, &by, asked).await?;
    let request_id = request.extensions().get::<RequestId>().map(|id| id.0.clone()).unwrap_or_default();
    let mut answer = HttpResponse::Ok();
    answer.content_type(fuel_lines::media_type(format)).insert_header((header::VARY, "accept"));
    if format == RawFormat::Csv {
        answer.insert_header((header::CONTENT_DISPOSITION, "attachment; filename=\"fuel.csv\""));
    }
    Ok(answer.streaming(text(pages, format, request_id)))
}

type Pages = BoxStream<'static, Result<Vec<FuelEntry>, OpError>>;

/// The text of the pages. An error is its last item, after which the server closes the connection.
fn text(
    pages: Pages,
    format: RawFormat,
    request_id: String,
) -> impl futures_util::Stream<Item = Result<Bytes, OpError>> {
    let begun = Some((pages, Writer::new(format)));
    stream::try_unfold((begun, request_id), |(going_on, request_id)| async {
        let Some((mut pages, mut writer)) = going_on else { return Ok(None) };
        let written = match pages.next().await {
            None => {
                let end = writer.end();
                // An empty chunk would end the HTTP message, and ending it is up to the server.
                return Ok((!end.is_empty()).then_some((end, (None, request_id))));
            }
            Some(Ok(page)) => writer.entries(&page).map_err(|error| OpError::Internal(error.into())),
            Some(Err(error)) => Err(error),
        };
        match written {
            Ok(text) => Ok(Some((text, (Some((pages, writer)), request_id)))),
            Err(error) => {
                tracing::error!(request_id, %error, "raw data broken off");
                Err(error)
            }
        }
    })
}

/// The level of a vehicle's tank over a period, for a chart: lines of what was read and what was smoothed, null in
/// gaps, refuels and drains as annotations in the library's own form.
#[utoipa::path(get, path = "/v1/fuel/chart", tag = "fuel",
    params(("vehicleId" = VehicleId, Query),
        ("from" = Timestamp, Query, description = "recordedAt from here, inclusive"),
        ("to" = Timestamp, Query, description = "recordedAt up to here, exclusive; at most 366 days later"),
        ("points" = Option<i64>, Query, description = "About so many at most, 4 to 5,000, besides a null for each gap and both ends of each refuel and drain; default 500. \
            The lowest and the highest of each part of the period stay"),
        ("format" = Option<ChartFormat>, Query, description = "Default: chartjs"),
        InOrganization),
    responses((status = 200, body = FuelChart, description = "The chart")))]
pub async fn fuel_chart(context: Shared, SignedCaller(caller): SignedCaller, mut query: Query) -> Answer {
    let asked = PeriodRequest {
        vehicle_ids: query.one("vehicleId", id).into_iter().collect(),
        from: query.one("from", instant),
        to: query.one("to", instant),
    };
    let points = query.one("points", |text| whole(text, MIN_POINTS, MAX_POINTS)).unwrap_or(DEFAULT_POINTS);
    let format = query.one("format", word(ChartFormat::WORDS)).unwrap_or(ChartFormat::ChartJs);
    let by = query.scoped(caller)?;
    let points = usize::try_from(points).unwrap_or_default();
    let chart = chart::fuel_chart(&context, &by, asked, points).await?;
    Ok(HttpResponse::Ok().json(FuelChart::new(format, &chart)))
}

/// What vehicles burnt in a period: by a counter of litres where there is one, else by what their tanks lost.
#[utoipa::path(get, path = "/v1/fuel/consumption", tag = "fuel",
    params(("vehicleId" = Vec<VehicleId>, Query, description = "At least one"),
        ("from" = Timestamp, Query, description = "From here, inclusive"),
        ("to" = Timestamp, Query, description = "Up to here, exclusive; at most 366 days later, of more than ten \
            vehicles 3,660 days by their number"),
        InOrganization),
    responses((status = 200, body = ConsumptionOut, description = "One for each vehicle")))]
pub async fn fuel_consumption(
    context: Shared,
    SignedCaller(caller): SignedCaller,
    mut query: Query,
) -> Answer {
    let asked = period(&mut query);
    let by = query.scoped(caller)?;
    let data = consumption::fuel_consumption(&context, &by, asked).await?;
    Ok(HttpResponse::Ok().json(ConsumptionOut { data }))
}
