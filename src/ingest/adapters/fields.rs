//! Names and values of a query and a form, in the words of several clients.

use std::borrow::Cow;

use super::carried::is_secret;
use super::json::{MOST_MEMBERS, Scalars, as_text};
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
        let (parts, form) = match multipart::boundary(&request.content_type) {
            Some(boundary) => (multipart::fields(&request.body, boundary), &[][..]),
            None => (Vec::new(), &request.body[..]),
        };
        let all = query.chain(parts).chain(form_urlencoded::parse(form));
        Self(all.filter(|(name, _)| name != "token").take(MOST_MEMBERS + 1).collect())
    }

    /// The scalars of a JSON object.
    pub(super) fn of_object(Scalars(members): &Scalars) -> Self {
        Self(
            members
                .iter()
                .filter_map(|(name, value)| Some((name.clone().into(), as_text(value)?.into())))
                .collect(),
        )
    }

    /// Whether there are more than one message may have. The rest was not read.
    pub(super) fn are_too_many(&self) -> bool {
        self.0.len() > MOST_MEMBERS
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
