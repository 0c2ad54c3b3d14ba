//! A problem with one member of a request.

use serde::Serialize;
use utoipa::ToSchema;

/// How many problems of a request are told at most.
pub const MOST_ERRORS: usize = 100;

/// One member's problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct FieldError {
    /// Where: a JSON pointer into the body, or `?name` for a query parameter.
    pub pointer: String,
    /// What kind of problem, for programs: `required`, `unknown`, `type`, `format`, `range`,
    /// `length`, `readOnly`, …
    pub code: String,
    /// What is wrong, for people.
    pub detail: String,
}

impl FieldError {
    /// A problem at a place.
    pub fn new(pointer: impl Into<String>, code: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), code: code.into(), detail: detail.into() }
    }

    /// What is wrong with a list of ids: those that are not known.
    pub fn strangers<Id: PartialEq>(
        list: &str,
        what: &str,
        ids: &[Id],
        known: &[Id],
    ) -> impl Iterator<Item = Self> {
        let unknown = ids.iter().enumerate().filter(|(_, id)| !known.contains(id));
        unknown.map(move |(index, _)| {
            Self::new(format!("/{list}/{index}"), "notFound", format!("must be a {what} of the organization"))
        })
    }
}
