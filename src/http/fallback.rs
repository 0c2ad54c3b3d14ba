//! What no route answers: an unknown path, a known path with another method, OPTIONS.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use actix_web::dev::ResourceDef;
use actix_web::http::Method;
use actix_web::http::header::{self, HeaderValue};
use actix_web::{HttpRequest, HttpResponse};

use super::answer::Answer;
use super::code::Code;
use super::problem::Problem;
use super::routes::TABLE;

/// Every path of the route table with its methods.
static PATHS: LazyLock<Vec<(ResourceDef, BTreeSet<&'static str>)>> = LazyLock::new(|| {
    let mut paths: Vec<(&'static str, BTreeSet<&'static str>)> = Vec::new();
    for route in TABLE.iter() {
        match paths.iter_mut().find(|(path, _)| *path == route.path) {
            Some((_, methods)) => {
                methods.insert(route.method);
            }
            None => paths.push((route.path, BTreeSet::from([route.method]))),
        }
    }
    paths.into_iter().map(|(path, methods)| (ResourceDef::new(path), methods)).collect()
});

/// Answers what no route does.
pub(super) async fn unrouted(request: HttpRequest) -> Answer {
    let Some((_, methods)) = PATHS.iter().find(|(path, _)| path.is_match(request.path())) else {
        return Err(Problem::new(Code::NotFound));
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
    Err(Problem::new(Code::MethodNotAllowed).header(header::ALLOW, allow))
}
