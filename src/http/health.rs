//! `/healthz` and `/readyz`.

use actix_web::HttpResponse;
use serde::Serialize;
use utoipa::ToSchema;

use super::answer::Answer;
use super::code::Code;
use super::problem::Problem;
use super::request::Shared;

/// How the server is.
#[derive(Debug, Serialize, ToSchema)]
pub struct Health {
    /// `ok`, or the answer is a problem.
    status: &'static str,
    /// The server's version.
    version: &'static str,
}

const GOOD: Health = Health { status: "ok", version: env!("CARGO_PKG_VERSION") };

/// Is the process alive?
#[utoipa::path(get, path = "/healthz", tag = "server",
    responses((status = 200, body = Health, description = "It is")))]
pub async fn healthz() -> HttpResponse {
    HttpResponse::Ok().json(GOOD)
}

/// Can the server do its work? 503 until it can, and while the database is away.
#[utoipa::path(get, path = "/readyz", tag = "server",
    responses((status = 200, body = Health, description = "It can")))]
pub async fn readyz(context: Shared) -> Answer {
    ready(context.readiness.trouble_with(&context.live))
}

/// The readiness answer.
pub(crate) fn ready(trouble: Option<String>) -> Answer {
    match trouble {
        None => Ok(HttpResponse::Ok().json(GOOD)),
        Some(why) => Err(Problem::new(Code::Unavailable).detail(why).retry_after(1)),
    }
}
