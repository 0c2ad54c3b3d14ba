//! The credential of a reporter, where the apps can put one: in the path, a Bearer header, the password of Basic, or
//! `?token=`.

use std::borrow::Cow;

use actix_web::HttpRequest;
use actix_web::http::header;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::request::bearer;
use crate::ingest::adapters;

/// The name of the path's segment in the route table. It is also how such a path is logged.
pub(super) const SEGMENT: &str = "token";

/// A credential as found in a request.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ReportToken<'r> {
    /// The credential.
    pub(crate) token: Cow<'r, str>,
    /// Whether it came as a Bearer header, the one place for an access token.
    pub(crate) is_bearer: bool,
}

/// The credential of a request, from the first place that has one.
pub(super) fn find(request: &HttpRequest) -> Option<ReportToken<'_>> {
    find_behind(request, segment(request))
}

/// As [`find`], for a request that has no route yet; `segment`: what its path has behind `/in`.
pub(crate) fn find_behind<'r>(request: &'r HttpRequest, segment: Option<&'r str>) -> Option<ReportToken<'r>> {
    let plain = |token| ReportToken { token, is_bearer: false };
    let by_header = || bearer(request).map(|token| ReportToken { token: token.into(), is_bearer: true });
    let by_password = || password(request).map(|token| plain(token.into()));
    let in_query = || {
        let mut pairs = form_urlencoded::parse(request.query_string().as_bytes());
        pairs.find(|(name, value)| name == "token" && !value.is_empty()).map(|(_, token)| plain(token))
    };
    in_path(segment)
        .map(|token| plain(token.into()))
        .or_else(by_header)
        .or_else(by_password)
        .or_else(in_query)
}

/// The path behind the credential: an adapter's name there, or nothing that matters.
pub(super) fn rest(request: &HttpRequest) -> String {
    let behind = request.match_info().get("rest").unwrap_or_default().trim_matches('/');
    let segment = segment(request);
    match (segment, in_path(segment)) {
        (Some(first), None) => format!("{first}/{behind}").trim_end_matches('/').to_owned(),
        _ => behind.to_owned(),
    }
}

/// Without a token in it, the path begins with an adapter's name.
fn in_path(segment: Option<&str>) -> Option<&str> {
    segment.filter(|segment| adapters::named(segment).is_none())
}

fn segment(request: &HttpRequest) -> Option<&str> {
    request.match_info().get(SEGMENT).filter(|segment| !segment.is_empty())
}

/// The password of Basic; apps ask for a user as well, which may be anything.
fn password(request: &HttpRequest) -> Option<String> {
    let value = request.headers().get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, packed) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let plain = String::from_utf8(BASE64_STANDARD.decode(packed.trim()).ok()?).ok()?;
    plain.split_once(':').map(|(_, password)| password.to_owned()).filter(|password| !password.is_empty())
}
