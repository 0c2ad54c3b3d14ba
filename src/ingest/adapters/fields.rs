//! Names and values of a query and a form, in the words of several clients.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::carried::is_secret;
use super::json::as_text;
use super::multipart;
use super::parsed::Request;

/// Names of a query that only say who sends.
const SENDER: [&str; 3] = ["token", "u", "d"];

/// Names and values, in their order.
#[derive(Debug, Default)]
pub(super) struct Fields<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Fields<'a> {
    /// Those of the query and of a form in the body, whatever its media type says: GPSLogger sends none.
    pub(super) fn of(request: &'a Request) -> Self {
        let query = form_urlencoded::parse(request.query.as_bytes());
        let body = match multipart::boundary(&request.content_type) {
            Some(boundary) => multipart::fields(&request.body, boundary),
            None => form_urlencoded::parse(&request.body).collect(),
        };
        Self(query.chain(body).filter(|(name, _)| name != "token").collect())
    }

    /// The scalars of a JSON object.
    pub(super) fn of_object(object: &Map<String, Value>) -> Self {
        let pair = |(name, value): (&String, &Value)| Some((name.clone().into(), as_text(value)?.into()));
        Self(object.iter().filter_map(pair).collect())
    }

    /// The last value under the first of these names that has one which is not empty.
    pub(super) fn get(&self, names: &[&str]) -> Option<&str> {
        let of = |wanted: &&str| {
            let mut named = self.0.iter().rev().filter(|(name, value)| name == wanted && !value.is_empty());
            named.next().map(|(_, value)| &**value)
        };
        names.iter().find_map(of)
    }

    /// A finite number under one of these names.
    pub(super) fn number(&self, names: &[&str]) -> Option<f64> {
        self.get(names)?.trim().parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// The first of these names that there is, whatever its value and its case.
    pub(super) fn has(&self, names: &[&str]) -> Option<&str> {
        let known = |name: &&str| names.iter().any(|wanted| wanted.eq_ignore_ascii_case(name));
        self.0.iter().map(|(name, _)| &**name).find(known)
    }

    /// Names and values that are not among these, and whose names may be no credential's.
    pub(super) fn others<'f>(&'f self, known: &'f [&str]) -> impl Iterator<Item = (&'f str, &'f str)> {
        let pairs = self.0.iter().map(|(name, value)| (&**name, &**value));
        pairs.filter(|(name, value)| !known.contains(name) && !value.is_empty() && !is_secret(name))
    }

    /// Whether it says nothing but who sends.
    pub(super) fn is_silent(&self) -> bool {
        self.0.iter().all(|(name, _)| SENDER.contains(&&**name))
    }
}
