//! Pages for people: explanations of error codes, the first superAdmin's form; and the description.

use actix_web::http::header;
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder, web};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

use super::answer::{Answer, in_pieces};
use super::body::read;
use super::code::Code;
use super::openapi::Description;
use super::problem::Problem;
use super::request::{PathToken, Shared};
use crate::auth::AuthError;
use crate::domain::account::password_fault;
use crate::domain::members::is_email;
use crate::ops::request_context::peer;

/// As the dispatcher's page looks (web/src/styles/tokens.css), in the system's light or dark.
const STYLE: &str = "*{box-sizing:border-box}:root{color-scheme:light;--ground:#f4f5f3;--panel:#fff;--raised:#eceeeb;\
--line:#d5d9d4;--ink:#1b211d;--quiet:#566058;--accent:#0b6e4f;--on:#fff;--focus:#1f5fd0;--bad:#b3261e}\
@media(prefers-color-scheme:dark){:root{color-scheme:dark;--ground:#121614;--panel:#1a1f1c;--raised:#242b27;\
--line:#343d37;--ink:#e8ece9;--quiet:#a3aea7;--accent:#5cc79d;--on:#06281b;--focus:#8ab4ff;--bad:#ff8a80}}\
body{margin:0;background:var(--ground);color:var(--ink);font:.9375rem/1.5 system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}\
main{width:min(24rem,100% - 2rem);margin:10vh auto 2rem;padding:2rem;background:var(--panel);\
border:1px solid var(--line);border-radius:6px}main:has(dl){width:min(44rem,100% - 2rem)}\
h1{margin:.75rem 0;font-size:1.25rem}a{color:var(--accent)}label{display:block;margin:.75rem 0;color:var(--quiet)}\
input,button{display:block;width:100%;min-height:44px;padding:.3rem .6rem;font:inherit;color:inherit;\
background:var(--panel);border:1px solid var(--line);border-radius:6px}input{margin-top:.25rem;color:var(--ink)}\
button{background:var(--accent);border-color:var(--accent);color:var(--on);cursor:pointer}\
:focus-visible{outline:2px solid var(--focus);outline-offset:1px}.error{color:var(--bad)}\
code{padding:0 .3em;background:var(--raised);border-radius:3px}";

/// The content security policy of our own pages: their only style sheet is allowed by its hash.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = BASE64_STANDARD.encode(Sha256::digest(STYLE));
    format!(
        "default-src 'none'; img-src 'self'; style-src 'sha256-{hash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
});

pub(super) fn page(mut answer: HttpResponseBuilder, title: &str, body: &str) -> HttpResponse {
    answer.insert_header((header::CONTENT_SECURITY_POLICY, POLICY.as_str()));
    answer.content_type("text/html; charset=utf-8").body(format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title>\
         <meta name=\"viewport\" content=\"width=device-width\"><link rel=\"icon\" href=\"/favicon.svg\"><style>{STYLE}</style>\
         <main><img src=\"/favicon.svg\" alt=\"\" width=\"40\" height=\"40\"><h1>{title}</h1>{body}</main></html>"
    ))
}

/// Explains an error code.
pub async fn problem_page(code: web::Path<String>) -> Answer {
    let code = Code::from_word(&code).ok_or_else(|| Problem::new(Code::NotFound))?;
    let row = code.row();
    let body = format!(
        "<p><code>{}</code>, HTTP status {}</p><p>{}</p><p><a href=\"/problems\">All codes</a></p>",
        row.code, row.status, row.explanation
    );
    Ok(page(HttpResponse::Ok(), row.title, &body))
}

/// All error codes.
pub async fn problem_list() -> HttpResponse {
    let rows = Code::ALL.iter().map(|code| {
        let row = code.row();
        format!(
            "<dt><a href=\"/problems/{0}\"><code>{0}</code></a> {1}<dd>{2}",
            row.code, row.status, row.title
        )
    });
    page(HttpResponse::Ok(), "Error codes", &format!("<dl>{}</dl>", rows.collect::<String>()))
}

/// The form that creates the first superAdmin.
pub async fn setup_form(context: Shared, PathToken(token): PathToken) -> Answer {
    if !context.auth.is_setup_link(&token).await? {
        return Ok(setup_is_over());
    }
    Ok(setup_page(HttpResponse::Ok(), ""))
}

fn setup_page(answer: HttpResponseBuilder, fault: &str) -> HttpResponse {
    let fault = if fault.is_empty() { String::new() } else { format!("<p class=\"error\">{fault}</p>") };
    let form = format!(
        "<p>Make the first account, which may do everything.</p>{fault}<form method=\"post\">\
         <label>E-mail<input name=\"email\" type=\"email\" required autocomplete=\"username\"></label>\
         <label>Password, at least 12 characters<input name=\"password\" type=\"password\" required \
         minlength=\"12\" autocomplete=\"new-password\"></label><button>Make it</button></form>"
    );
    page(answer, "Set up Waypost", &form)
}

fn setup_is_over() -> HttpResponse {
    let body = "<p>This link was used, or is too old, or there is a superAdmin already. \
         If there is none, restart the server: it prints a new link.</p>";
    page(HttpResponse::NotFound(), "This link does not work", body)
}

/// The fields of a form; missing ones are empty.
pub(super) async fn form_fields<const N: usize>(
    request: &HttpRequest,
    payload: web::Payload,
    names: [&str; N],
) -> Result<[String; N], Problem> {
    let body = read(request, payload.into_inner()).await?;
    let fields = web::Query::<Vec<(String, String)>>::from_query(&String::from_utf8_lossy(&body));
    let fields = fields.map(web::Query::into_inner).unwrap_or_default();
    Ok(names.map(|name| {
        fields.iter().find(|(given, _)| given == name).map(|(_, value)| value.clone()).unwrap_or_default()
    }))
}

/// Whether a form was sent by a page of this server. A form of another site changes nothing else, but it must not sign a browser in
/// as somebody whom that site chose. Browsers say which it is; what says nothing is no browser of today.
pub(super) fn is_own_page(request: &HttpRequest) -> bool {
    request.headers().get("sec-fetch-site").is_none_or(|site| site == "same-origin")
}

/// Leads to the dispatcher's page, signed in by a token that works once.
pub(super) fn goes_on(token: &str) -> HttpResponse {
    HttpResponse::SeeOther().insert_header((header::LOCATION, format!("/#token={token}"))).finish()
}

/// Creates the first superAdmin.
pub async fn redeem_setup(
    context: Shared,
    PathToken(token): PathToken,
    request: HttpRequest,
    payload: web::Payload,
) -> Answer {
    let [email, password] = form_fields(&request, payload, ["email", "password"]).await?;
    if !is_email(email.trim()) {
        return Ok(setup_page(HttpResponse::UnprocessableEntity(), "The e-mail address is not one."));
    }
    if let Some(fault) = password_fault(&password) {
        return Ok(setup_page(HttpResponse::UnprocessableEntity(), &format!("The password {fault}.")));
    }
    match context.auth.redeem_setup_link(&token, &email, password, &peer()).await {
        Ok(Some(account)) if is_own_page(&request) => Ok(goes_on(&context.auth.sign_in_link(account).await?)),
        Ok(Some(_)) => {
            let body =
                "<p>Done. <a href=\"/\">Sign in</a>, or read <a href=\"/docs\">how programs do</a>.</p>";
            Ok(page(HttpResponse::Created(), "Waypost is set up", body))
        }
        Ok(None) => Err(Problem::new(Code::AlreadySetUp)),
        Err(AuthError::InvalidToken) => Ok(setup_is_over()),
        Err(error) => Err(error.into()),
    }
}

/// The description, OpenAPI 3.1.
#[utoipa::path(get, path = "/openapi.json", tag = "server",
    responses((status = 200, body = serde_json::Value, description = "This document")))]
pub async fn openapi_json(request: HttpRequest) -> HttpResponse {
    let description = request.app_data::<&'static LazyLock<Description>>();
    let description = description.expect("whoever mounts the routes gives their description");
    // Browsers may keep it, but ask by its tag, which changes with the server's version.
    HttpResponse::Ok()
        .insert_header((header::ETAG, description.etag.clone()))
        .insert_header((header::CACHE_CONTROL, "no-cache"))
        .content_type("application/json")
        .body(in_pieces(Bytes::from_static(description.text.as_bytes())))
}
