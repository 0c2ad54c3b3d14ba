//! Pages of other sites may not open the feed in their visitors' names.

use actix_web::http::header::{self, HeaderMap};

use super::code::Code;
use super::problem::Problem;
use crate::config::Settings;

/// Refuses a request for a socket that a page of another site makes.
pub(crate) fn refuse(settings: &Settings, headers: &HeaderMap) -> Result<(), Problem> {
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let origin = origin.to_str().unwrap_or_default();
    let own_host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let same_host = origin.split_once("://").is_some_and(|(_, host)| Some(host) == own_host);
    if same_host
        || origin == settings.public_url()
        || settings.allowed_origins.iter().any(|o| o.covers(origin))
    {
        Ok(())
    } else {
        let detail = format!("pages of {origin} may not open the feed; see the setting allowedOrigins");
        Err(Problem::new(Code::OriginNotAllowed).detail(detail))
    }
}
