//! Error answers: RFC 9457 `application/problem+json` on everything that is not a success.

use std::fmt;

use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use actix_web::{HttpResponse, ResponseError};
use serde::Serialize;
use utoipa::ToSchema;

use super::code::Code;
use crate::domain::field::{FieldError, MOST_ERRORS};

/// An error for the client; [`super::edge()`] writes it once the request is known.
#[derive(Clone, Debug)]
pub struct Problem {
    code: Code,
    detail: Option<String>,
    errors: Vec<FieldError>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

/// The body of an error answer.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Problem)]
pub struct ProblemBody {
    /// A page that explains the code.
    #[serde(rename = "type")]
    #[schema(example = "/problems/validationFailed")]
    type_: String,
    /// The code in one line.
    title: &'static str,
    /// The HTTP status.
    status: u16,
    /// What happened this time.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    /// The path of the request.
    instance: String,
    /// What went wrong, for programs.
    #[schema(example = "validationFailed")]
    code: &'static str,
    /// Quote this when asking for help.
    request_id: String,
    /// Every member that is wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<FieldError>,
}

impl Problem {
    /// A problem with only its code.
    #[must_use]
    pub const fn new(code: Code) -> Self {
        Self { code, detail: None, errors: Vec::new(), headers: Vec::new() }
    }

    /// Sets what happened this time.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Lists the invalid members.
    #[must_use]
    pub fn errors(mut self, mut errors: Vec<FieldError>) -> Self {
        errors.truncate(MOST_ERRORS);
        self.errors = errors;
        self
    }

    /// The same under another code.
    #[must_use]
    pub fn with_code(self, code: Code) -> Self {
        Self { code, ..self }
    }

    /// Sets when to try again, in seconds.
    #[must_use]
    pub fn retry_after(self, seconds: u64) -> Self {
        self.header(header::RETRY_AFTER, HeaderValue::from(seconds))
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// The error code.
    #[must_use]
    pub const fn code(&self) -> Code {
        self.code
    }

    /// Seconds after which to try again, if it says so.
    pub(super) fn retry_seconds(&self) -> Option<u64> {
        let (_, value) = self.headers.iter().find(|(name, _)| *name == header::RETRY_AFTER)?;
        value.to_str().ok()?.parse().ok()
    }

    /// What happened, for people.
    pub(super) fn told(&self) -> &str {
        self.detail.as_deref().unwrap_or(self.code.row().title)
    }

    /// The invalid members; the whole body if none is named.
    #[must_use]
    pub fn field_errors(&self) -> Vec<FieldError> {
        if self.errors.is_empty() {
            return vec![FieldError::new("", self.code.row().code, self.told().to_owned())];
        }
        self.errors.clone()
    }

    /// Converts a framework's own error answer: its status decides the code, its `Allow` is kept.
    #[must_use]
    pub fn from_framework(status: StatusCode, headers: &HeaderMap) -> Self {
        let problem = Self::new(Code::from_status(status));
        match headers.get(header::ALLOW) {
            Some(allow) => problem.header(header::ALLOW, allow.clone()),
            None => problem,
        }
    }

    /// The answer to a request.
    #[must_use]
    pub fn answer(&self, instance: &str, request_id: &str) -> HttpResponse {
        let row = self.code.row();
        let body = ProblemBody {
            type_: format!("/problems/{}", row.code),
            title: row.title,
            status: row.status,
            detail: self.detail.clone(),
            instance: instance.to_owned(),
            code: row.code,
            request_id: request_id.to_owned(),
            errors: self.errors.clone(),
        };
        let mut answer = HttpResponse::build(self.code.status());
        answer.content_type("application/problem+json");
        for (name, value) in &self.headers {
            answer.insert_header((name.clone(), value.clone()));
        }
        if row.status == 401 {
            answer.insert_header((header::WWW_AUTHENTICATE, challenge(self.code)));
        }
        answer.json(body)
    }
}

const fn challenge(code: Code) -> &'static str {
    match code {
        Code::InvalidToken => "Bearer realm=\"waypost\", error=\"invalid_token\"",
        _ => "Bearer realm=\"waypost\"",
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.as_str(), self.told())
    }
}

impl ResponseError for Problem {
    fn status_code(&self) -> StatusCode {
        self.code.status()
    }

    fn error_response(&self) -> HttpResponse {
        HttpResponse::new(self.code.status()) // the edge replaces it, knowing the request
    }
}

#[cfg(test)]
impl Problem {
    pub(super) fn pointers(&self) -> Vec<String> {
        self.errors.iter().map(|error| error.pointer.clone()).collect()
    }
}
