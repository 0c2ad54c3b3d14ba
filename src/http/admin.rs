//! The listener of operators: metrics, and whether the server lives and is ready. No sign-in; it listens where only
//! they come.

use std::sync::Arc;

use actix_web::HttpResponse;
use actix_web::web::{self, Data, ServiceConfig};

use super::answer::Answer;
use super::code::Code;
use super::health::{healthz, ready};
use super::problem::Problem;
use crate::telemetry::Metrics;

/// What the text is, as Prometheus asks for it.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Mounts it.
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

async fn scrape(metrics: Data<Metrics>) -> Answer {
    let text =
        metrics.text().map_err(|_| Problem::new(Code::Internal).detail("the metrics cannot be written"))?;
    Ok(HttpResponse::Ok().content_type(OPEN_METRICS).body(text))
}

async fn unrouted() -> Answer {
    Err(Problem::new(Code::NotFound).detail("there are /metrics, /healthz and /readyz"))
}
