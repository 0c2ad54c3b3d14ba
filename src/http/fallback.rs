//! Requests that no route answers: an unknown path, a known path with another method, OPTIONS.

use std::collections::BTreeSet;

use actix_web::dev::ResourceDef;
use actix_web::http::Method;
use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpRequest, HttpResponse};

use super::answer::Answer;
use super::code::Code;
use super::problem::Problem;
use super::route::Route;
use crate::domain::nearest::nearest;

/// The detail for a reporting app that was configured with the page's address.
pub(super) const REPORTS_GO_ELSEWHERE: &str = "the page takes no parameters; apps and gateways report at /in/{token}, with the token of a tracker (docs/devices.md), \
    own programs at /v1/positions or on the socket /v1/ws/tracker (docs/tracking.md)";

/// Every path of the route table with its methods. Requests find it in the application's data: the table names
/// the handlers, so that they cannot name the table.
pub(super) struct Paths(Vec<(ResourceDef, BTreeSet<&'static str>)>);

impl Paths {
    /// The paths of a table.
    pub(super) fn of(table: &[Route]) -> Self {
        let mut paths: Vec<(&'static str, BTreeSet<&'static str>)> = Vec::new();
        for route in table {
            match paths.iter_mut().find(|(path, _)| *path == route.path) {
                Some((_, methods)) => {
                    methods.insert(route.method);
                }
                None => paths.push((route.path, BTreeSet::from([route.method]))),
            }
        }
        Self(paths.into_iter().map(|(path, methods)| (ResourceDef::new(path), methods)).collect())
    }

    fn for_request(request: &HttpRequest) -> &'static Self {
        request.app_data::<&'static Self>().expect("whoever mounts the routes gives their paths")
    }

    /// The known path most similar to an unknown one: `/v1/vehicles` for `/vehicles` or `/v1/vehicle`.
    fn nearest(&self, path: &str) -> Option<String> {
        let versioned = format!("/v1{path}");
        if self.0.iter().any(|(known, _)| known.is_match(&versioned)) {
            return Some(versioned);
        }
        let fixed =
            self.0.iter().filter_map(|(known, _)| known.pattern()).filter(|known| !known.contains('{'));
        nearest(path, fixed.filter(|known| known.len() > 1)).map(str::to_owned)
    }
}

/// The refusal of an unknown path, with a suggestion.
pub(super) fn no_such_path(request: &HttpRequest, path: &str) -> Problem {
    let problem = Problem::new(Code::NotFound);
    match Paths::for_request(request).nearest(path) {
        Some(path) => problem.detail(format!("there is no such path; did you mean {path}?")),
        None => problem,
    }
}

/// Answers a request without a route.
pub(super) async fn unrouted(request: HttpRequest) -> Answer {
    answer(&request, |_| true)
}

/// The refusal of a malformed id. If the id takes the place of a fixed word (`/v1/geofences/import`), the method is
/// wrong.
pub(super) fn no_such_id(request: &HttpRequest) -> Problem {
    let is_fixed = |path: &ResourceDef| path.pattern().is_some_and(|pattern| !pattern.contains('{'));
    match Paths::for_request(request)
        .0
        .iter()
        .any(|(path, _)| is_fixed(path) && path.is_match(request.path()))
    {
        true => answer(request, is_fixed).err().unwrap_or_else(|| Problem::new(Code::NotFound)),
        false => Problem::new(Code::NotFound),
    }
}

/// The answer of the first path that matches and satisfies `meant`.
fn answer(request: &HttpRequest, meant: impl Fn(&ResourceDef) -> bool) -> Answer {
    // Any word could be the name of a file beside the page, but hardly any is.
    let is_file = |path: &ResourceDef| path.pattern() == Some("/{file}");
    let found = Paths::for_request(request)
        .0
        .iter()
        .find(|(path, _)| meant(path) && !is_file(path) && path.is_match(request.path()));
    let Some((_, methods)) = found else {
        return Err(no_such_path(request, request.path()));
    };
    let mut allowed = methods.clone();
    allowed.insert("OPTIONS");
    if methods.contains("GET") {
        allowed.insert("HEAD");
    }
    let allow = allowed.into_iter().collect::<Vec<_>>().join(", ");
    let allow = HeaderValue::try_from(allow).expect("methods are words of HTTP");
    if request.method() == Method::OPTIONS {
        return Ok(HttpResponse::NoContent().insert_header((header::ALLOW, allow)).finish());
    }
    let refused = Problem::new(Code::MethodNotAllowed).header(header::ALLOW, allow);
    Err(if request.path() == "/" { refused.detail(REPORTS_GO_ELSEWHERE) } else { refused })
}
