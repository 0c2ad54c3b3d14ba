//! The operators' listener: metrics, liveness and readiness. Without sign-in, because it listens where only operators
//! can reach it.

use std::sync::Arc;

use actix_web::http::header::{self, Accept, Header};
use actix_web::web::{self, Data, ServiceConfig};
use actix_web::{HttpRequest, HttpResponse};

use super::answer::Answer;
use super::code::Code;
use super::health::{healthz, ready};
use super::problem::Problem;
use crate::telemetry::{Format, Metrics};

/// The media type that a scraper accepts if it reads OpenMetrics; others get the Prometheus text format.
const OPEN_METRICS: &str = "application/openmetrics-text";

/// Mounts the listener's routes.
pub fn configure(config: &mut ServiceConfig, metrics: Arc<Metrics>) {
    config
        .app_data(Data::from(metrics))
        .route("/healthz", web::get().to(healthz))
        .route("/readyz", web::get().to(readyz))
        .route("/metrics", web::get().to(scrape))
        .default_service(web::to(unrouted));
}

async fn readyz(metrics: Data<Metrics>) -> Answer {
    ready(metrics.trouble())
}

async fn scrape(metrics: Data<Metrics>, request: HttpRequest) -> Answer {
    let (format, kind) = match wants_open_metrics(&request) {
        true => (Format::OpenMetrics, "application/openmetrics-text; version=1.0.0; charset=utf-8"),
        false => (Format::Prometheus, "text/plain; version=0.0.4; charset=utf-8"),
    };
    let text = metrics
        .text(format)
        .map_err(|_| Problem::new(Code::Internal).detail("the metrics cannot be written"))?;
    Ok(HttpResponse::Ok().content_type(kind).insert_header((header::VARY, "accept")).body(text))
}

/// Whether OpenMetrics is the media type the client likes best, wildcards aside.
fn wants_open_metrics(request: &HttpRequest) -> bool {
    let Ok(accept) = Accept::parse(request) else { return false };
    let known = |kind: &str| kind == OPEN_METRICS || kind == "text/plain";
    let ranked = accept.ranked();
    ranked.iter().map(|kind| kind.essence_str()).find(|kind| known(kind)) == Some(OPEN_METRICS)
}

async fn unrouted() -> Answer {
    Err(Problem::new(Code::NotFound).detail("there are /metrics, /healthz and /readyz"))
}
