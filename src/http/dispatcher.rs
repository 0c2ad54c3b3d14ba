//! The dispatcher's page: plain files in the binary, which load nothing from any other host.

use actix_web::http::header;
use actix_web::{HttpResponse, web};

use super::answer::Answer;
use super::fallback::no_such_path;

/// What the page may load and reach: this server only.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Name, media type, content.
const FILES: &[(&str, &str, &str)] = &[
    ("app.js", "text/javascript; charset=utf-8", include_str!("../../web/plain/app.js")),
    ("map.js", "text/javascript; charset=utf-8", include_str!("../../web/plain/map.js")),
    ("style.css", "text/css; charset=utf-8", include_str!("../../web/plain/style.css")),
];

/// The page.
pub async fn index() -> HttpResponse {
    page("text/html; charset=utf-8", include_str!("../../web/plain/index.html"))
}

/// A file of the page.
pub async fn file(name: web::Path<String>) -> Answer {
    let file = FILES.iter().find(|(known, ..)| *known == *name);
    let (_, kind, content) = file.ok_or_else(|| no_such_path(&format!("/{name}")))?;
    Ok(page(kind, content))
}

fn page(kind: &'static str, content: &'static str) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header((header::CONTENT_SECURITY_POLICY, POLICY))
        .content_type(kind)
        .body(content)
}
