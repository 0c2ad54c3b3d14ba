//! Query parameters: each must be known to its route and well-formed; none is ignored.

use std::collections::BTreeSet;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest, web};
use std::future::{Ready, ready};
use uuid::Uuid;
use waypost_actors::model::{OrganizationId, Timestamp};

use super::code::Code;
use super::json::has_controls;
use super::problem::Problem;
use crate::auth::Caller;
use crate::domain::body::{Body, Params};
use crate::domain::field::{FieldError, MOST_ERRORS};
use crate::domain::nearest::nearest;
use crate::domain::paging::{
    DEFAULT_LIMIT, DEFAULT_LONG_LIMIT, MAX_LIMIT, MAX_LONG_LIMIT, PageRequest, SliceRequest, Sort, SortKey,
};
use crate::ops::error::OpError;
use crate::ops::scoped::Scoped;

/// The query of a request, while it is read. End with [`Query::finish`].
#[derive(Debug, Default)]
pub struct Query {
    pairs: Vec<(String, String)>,
    asked: BTreeSet<&'static str>,
    problems: Vec<(Code, FieldError)>,
}

impl FromRequest for Query {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let pairs = web::Query::<Vec<(String, String)>>::from_query(request.query_string());
        ready(match pairs {
            Ok(pairs) => {
                let mut query = Self { pairs: pairs.into_inner(), ..Self::default() };
                let is_bad = |(name, value): &(String, String)| has_controls(name) || has_controls(value);
                let bad = query.pairs.iter().find(|pair| is_bad(pair)).map(|(name, _)| name.clone());
                if let Some(name) = bad {
                    query.problem(&name, "must not have control characters".to_owned());
                    return ready(query.refused());
                }
                Ok(query)
            }
            Err(_) => Err(Problem::new(Code::MalformedRequest).detail("the query cannot be read")),
        })
    }
}

impl Query {
    /// A parameter that may be given once.
    pub fn one<T>(&mut self, name: &'static str, read: impl FnOnce(&str) -> Result<T, String>) -> Option<T> {
        self.asked.insert(name);
        let given: Vec<&String> =
            self.pairs.iter().filter(|(given, _)| given == name).map(|(_, v)| v).collect();
        if given.len() > 1 {
            self.problem(name, "must be given once".to_owned());
            return None;
        }
        match read(given.first()?) {
            Ok(value) => Some(value),
            Err(must) => {
                self.problem(name, format!("must be {must}"));
                None
            }
        }
    }

    /// A parameter that may be repeated or hold a list separated by commas.
    pub fn many<T>(&mut self, name: &'static str, read: impl Fn(&str) -> Result<T, String>) -> Vec<T> {
        self.asked.insert(name);
        let words = self.given(name).flat_map(|value| value.split(',')).map(|word| word.trim().to_owned());
        let words: Vec<String> = words.collect();
        self.read_all(name, words, read)
    }

    /// A parameter that may be repeated, each time with one text, in which commas may be.
    pub fn each<T>(&mut self, name: &'static str, read: impl Fn(&str) -> Result<T, String>) -> Vec<T> {
        self.asked.insert(name);
        let words: Vec<String> = self.given(name).map(str::to_owned).collect();
        self.read_all(name, words, read)
    }

    fn given(&self, name: &'static str) -> impl Iterator<Item = &str> {
        self.pairs.iter().filter(move |(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    fn read_all<T>(
        &mut self,
        name: &'static str,
        words: Vec<String>,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Vec<T> {
        let mut values = Vec::with_capacity(words.len());
        for word in words {
            match read(&word) {
                Ok(value) => values.push(value),
                Err(must) => self.problem(name, format!("must be {must}")),
            }
        }
        if values.len() > MAX_VALUES {
            self.problem(name, format!("must have at most {MAX_VALUES} values"));
        }
        values
    }

    /// The text to search for.
    pub fn q(&mut self) -> Option<String> {
        self.one("q", |text| match text.trim() {
            "" => Ok(None),
            text if text.chars().count() <= 200 => Ok(Some(text.to_owned())),
            _ => Err("at most 200 characters long".to_owned()),
        })
        .flatten()
    }

    /// Whether a deletion takes with it what was recorded.
    pub fn purges(&mut self) -> bool {
        self.one("purge", flag).unwrap_or(false)
    }

    /// The instant after which what is listed was changed.
    pub fn updated_after(&mut self) -> Option<Timestamp> {
        self.one("updatedAfter", instant)
    }

    /// The organization an operator acts in.
    pub fn organization(&mut self) -> Option<OrganizationId> {
        self.one("organizationId", id)
    }

    /// `page` and `limit`.
    pub fn page(&mut self) -> PageRequest {
        self.page_of(MAX_LIMIT)
    }

    /// `page` and `limit`, which is at most `most`.
    fn page_of(&mut self, most: i64) -> PageRequest {
        let page = self.one("page", |text| whole(text, 1, MAX_PAGE)).unwrap_or(1);
        PageRequest { page, limit: self.limit(most) }
    }

    /// `limit` and `after`.
    pub fn slice(&mut self) -> SliceRequest {
        SliceRequest { limit: self.limit(MAX_LIMIT), after: self.one("after", |text| Ok(text.to_owned())) }
    }

    /// `limit` and `after` of lists of what trackers report, which are long and have higher limits.
    pub fn long_slice(&mut self) -> SliceRequest {
        let limit = self.one("limit", |text| whole(text, 1, MAX_LONG_LIMIT)).unwrap_or(DEFAULT_LONG_LIMIT);
        SliceRequest { limit, after: self.one("after", |text| Ok(text.to_owned())) }
    }

    fn limit(&mut self, most: i64) -> i64 {
        self.one("limit", |text| whole(text, 1, most)).unwrap_or(DEFAULT_LIMIT)
    }

    /// `sort=-createdAt,name`, of the keys a list allows.
    pub fn sort(&mut self, allowed: &[(&'static str, &'static str)], usual: SortKey) -> Sort {
        self.asked.insert("sort");
        let given = self.pairs.iter().filter(|(given, _)| given == "sort").map(|(_, value)| value.clone());
        let given: Vec<String> = given.collect();
        let mut keys = Vec::new();
        for word in given.iter().flat_map(|value| value.split(',')).map(str::trim) {
            let (is_descending, name) = match word.strip_prefix('-') {
                Some(name) => (true, name),
                None => (false, word.trim_start_matches('+')),
            };
            match allowed.iter().find(|(known, _)| *known == name) {
                Some((name, _)) => keys.push(SortKey { name, is_descending }),
                None => {
                    let names: Vec<&str> = allowed.iter().map(|(name, _)| *name).collect();
                    let detail = format!("must be one of {}, each with - for descending", names.join(", "));
                    self.problems.push((Code::UnknownSortKey, FieldError::new("?sort", "value", detail)));
                }
            }
        }
        if keys.is_empty() { Sort(vec![usual]) } else { Sort(keys) }
    }

    /// `sort`, one of the words for a list's orders.
    pub fn order<T: Copy>(&mut self, orders: &'static [(&'static str, T)]) -> Option<T> {
        // `+` is the usual direction; one that a client did not escape arrives as a space.
        self.one("sort", |text| word(orders)(text.trim_start_matches([' ', '+'])))
    }

    /// Refuses values that could not be read and parameters that are unknown, all at once.
    pub fn finish(mut self) -> Result<(), Problem> {
        let names = self.pairs.iter().map(|(name, _)| name);
        let unknown = names.filter(|name| !self.asked.contains(name.as_str())).take(MOST_ERRORS);
        let unknown: Vec<FieldError> = unknown.map(|name| self.unknown(name)).collect();
        self.problems.splice(0..0, unknown.into_iter().map(|error| (Code::UnknownParameter, error)));
        if self.problems.is_empty() { Ok(()) } else { self.refused().map(drop) }
    }

    /// The caller and the organization it acts in, once everything else was read: ends the query as [`Query::finish`] does.
    pub fn scoped(mut self, caller: Caller) -> Result<Scoped, Problem> {
        let organization = self.organization();
        self.finish()?;
        Ok(Scoped { caller, organization })
    }

    /// As [`Query::scoped`], where the body may name the organization as well, and comes first.
    pub fn scoped_or_by<B: Body>(self, caller: Caller, body: &Params<B>) -> Result<Scoped, Problem> {
        let by = self.scoped(caller)?;
        let organization = body.organization().map_err(OpError::Invalid)?.or(by.organization);
        Ok(Scoped { organization, ..by })
    }

    /// What a list of pages is asked for: as [`Query::scoped`], with its order, of the keys it allows, and the page.
    pub fn listed(
        self,
        caller: Caller,
        allowed: &[(&'static str, &'static str)],
        usual: SortKey,
    ) -> Result<(Scoped, Sort, PageRequest), Problem> {
        self.listed_up_to(MAX_LIMIT, caller, allowed, usual)
    }

    /// As [`Query::listed`], with pages of at most `most`.
    pub fn listed_up_to(
        mut self,
        most: i64,
        caller: Caller,
        allowed: &[(&'static str, &'static str)],
        usual: SortKey,
    ) -> Result<(Scoped, Sort, PageRequest), Problem> {
        let (sort, page) = (self.sort(allowed, usual), self.page_of(most));
        Ok((self.scoped(caller)?, sort, page))
    }

    /// Fails if there were problems.
    fn refused(self) -> Result<Self, Problem> {
        let Some((code, first)) = self.problems.first().cloned() else { return Ok(self) };
        let detail = format!("{} {}", first.pointer.trim_start_matches('?'), first.detail);
        let errors = self.problems.into_iter().map(|(_, error)| error).collect();
        Err(Problem::new(code).detail(detail).errors(errors))
    }

    fn unknown(&self, name: &str) -> FieldError {
        let detail = match nearest(name, self.asked.iter().copied()) {
            Some(known) => format!("is not known here; did you mean {known}?"),
            None => "is not known here".to_owned(),
        };
        FieldError::new(format!("?{name}"), "unknown", detail)
    }

    fn problem(&mut self, name: &str, detail: String) {
        self.problems.push((Code::InvalidParameter, FieldError::new(format!("?{name}"), "value", detail)));
    }
}

/// The highest page number a client may request.
pub const MAX_PAGE: i64 = 1_000_000;
/// Most values of one filter.
const MAX_VALUES: usize = 200;

/// Reads an id.
pub fn id<T: From<Uuid>>(text: &str) -> Result<T, String> {
    Uuid::try_parse(text).map(T::from).map_err(|_| "a UUID".to_owned())
}

/// Reads an RFC 3339 instant. A `+` that a client did not escape arrives as a space.
pub fn instant(text: &str) -> Result<Timestamp, String> {
    let text = text.replace(' ', "+");
    Timestamp::parse(&text)
        .map_err(|_| "an RFC 3339 date-time with an offset, such as 2026-05-01T12:00:00Z".to_owned())
}

/// Reads `true` or `false`.
pub fn flag(text: &str) -> Result<bool, String> {
    text.parse().map_err(|_| "true or false".to_owned())
}

/// Reads a whole number in a range.
pub fn whole(text: &str, least: i64, most: i64) -> Result<i64, String> {
    let number = text.parse::<i64>().ok().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| {
        if most == i64::MAX {
            format!("a whole number from {least}")
        } else {
            format!("a whole number from {least} to {most}")
        }
    })
}

/// Reads a finite number.
pub fn number(text: &str) -> Result<f64, String> {
    text.parse::<f64>().ok().filter(|number| number.is_finite()).ok_or_else(|| "a number".to_owned())
}

/// Reads one of some words.
pub fn word<T: Copy>(words: &'static [(&'static str, T)]) -> impl Fn(&str) -> Result<T, String> {
    move |text| {
        let found = words.iter().find(|(known, _)| *known == text).map(|(_, value)| *value);
        found.ok_or_else(|| {
            let known: Vec<&str> = words.iter().map(|(known, _)| *known).collect();
            format!("one of {}", known.join(", "))
        })
    }
}
