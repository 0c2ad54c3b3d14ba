//! Answers while the server cannot serve yet: that it is alive, and what it waits for.

use actix_web::web::{self, Data, ServiceConfig};

use super::answer::Answer;
use super::code::Code;
use super::health::{healthz, ready};
use super::problem::Problem;
use crate::readiness::Readiness;

/// Mounts the routes.
pub fn configure(config: &mut ServiceConfig, readiness: Readiness) {
    config
        .app_data(Data::new(readiness))
        .route("/healthz", web::get().to(healthz))
        .route("/readyz", web::get().to(readyz))
        .default_service(web::to(not_yet));
}

async fn readyz(readiness: Data<Readiness>) -> Answer {
    ready(readiness.trouble())
}

async fn not_yet(readiness: Data<Readiness>) -> Answer {
    let why = readiness.trouble().unwrap_or_else(|| "the server starts".to_owned());
    Err(Problem::new(Code::Unavailable).detail(why).retry_after(1))
}
