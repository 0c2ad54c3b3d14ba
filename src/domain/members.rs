//! Reads the members of a JSON object, collecting every problem instead of stopping at the first.
//!
//! A reader takes the members it knows; [`Members::finish`] refuses the rest. The value that a reader returns after a
//! problem is never used: callers check the problems first.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::{Map, Value};

use super::field::FieldError;
use super::nearest::nearest;

/// An object being read.
pub struct Members<'v> {
    object: Option<&'v Map<String, Value>>,
    pointer: String,
    asked: HashSet<&'static str>,
    problems: Vec<FieldError>,
}

/// The result of reading a member: its value, or a code and the end of the sentence "… must be …".
pub type Read<T> = Result<T, (&'static str, String)>;

/// A member of a PUT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Patch<T> {
    /// The member is absent.
    Keep,
    /// The member is present.
    Set(T),
}

impl<'v> Members<'v> {
    /// Starts reading a whole body.
    #[must_use]
    pub fn of(body: &'v Value) -> Self {
        Self::at(body, String::new())
    }

    /// Starts reading an object at a place.
    #[must_use]
    pub fn at(value: &'v Value, pointer: String) -> Self {
        let mut members =
            Self { object: value.as_object(), pointer, asked: HashSet::new(), problems: Vec::new() };
        if members.object.is_none() {
            let place = members.pointer.clone();
            members.problems.push(FieldError::new(place, "type", "must be an object"));
        }
        members
    }

    /// A member that must be there.
    pub fn required<T>(&mut self, name: &'static str, read: impl FnOnce(&Value) -> Read<T>) -> Option<T> {
        match self.ask(name) {
            None | Some(Value::Null) if self.object.is_some() => {
                self.problem(name, "required", "is required");
                None
            }
            None => None,
            Some(value) => self.read(name, value, read),
        }
    }

    /// A member that may be absent or null.
    pub fn optional<T>(&mut self, name: &'static str, read: impl FnOnce(&Value) -> Read<T>) -> Option<T> {
        match self.ask(name) {
            None | Some(Value::Null) => None,
            Some(value) => self.read(name, value, read),
        }
    }

    /// A member that may be absent, but not null.
    pub fn given<T>(&mut self, name: &'static str, read: impl FnOnce(&Value) -> Read<T>) -> Option<T> {
        let value = self.ask(name)?;
        self.read(name, value, read)
    }

    /// A member that may be absent; null is a value of its own.
    pub fn change<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&Value) -> Read<T>,
    ) -> Patch<Option<T>> {
        match self.ask(name) {
            None => Patch::Keep,
            Some(Value::Null) => Patch::Set(None),
            Some(value) => Patch::Set(self.read(name, value, read)),
        }
    }

    /// A member that is an object of its own, read by `inner`.
    pub fn object<T>(&mut self, name: &'static str, inner: impl FnOnce(&mut Members<'v>) -> T) -> Option<T> {
        let value = self.ask(name)?;
        if value.is_null() {
            return None;
        }
        let mut members = Members::at(value, format!("{}/{name}", self.pointer));
        let read = inner(&mut members);
        members.close();
        self.problems.append(&mut members.problems);
        Some(read)
    }

    /// A required member that is an object of its own, read by `inner`.
    pub fn part<T>(
        &mut self,
        name: &'static str,
        inner: impl FnOnce(&mut Members<'v>) -> Option<T>,
    ) -> Option<T> {
        match self.ask(name) {
            None if self.object.is_some() => self.problem(name, "required", "is required"),
            Some(Value::Null) => self.problem(name, "required", "cannot be null; null clears its members"),
            _ => {}
        }
        self.object(name, inner).flatten()
    }

    /// A required member whose reader gives the pointers of its problems itself.
    pub fn deep<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&Value) -> Result<T, Vec<FieldError>>,
    ) -> Option<T> {
        match self.ask(name) {
            None if self.object.is_some() => {
                self.problem(name, "required", "is required");
                None
            }
            None => None,
            Some(value) => read(value).map_err(|problems| self.extend(problems)).ok(),
        }
    }

    /// Accepts any value of a member; returns it if present.
    pub fn any(&mut self, name: &'static str) -> Option<&'v Value> {
        self.ask(name)
    }

    /// A member's value, if present, for checks together with others.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&'v Value> {
        self.object?.get(name)
    }

    /// The pointer to a member, or to something within it.
    #[must_use]
    pub fn place(&self, member: &str) -> String {
        format!("{}/{member}", self.pointer)
    }

    /// Notes a problem with a member.
    pub fn problem(&mut self, name: &str, code: &'static str, detail: impl Into<String>) {
        self.problems.push(FieldError::new(format!("{}/{name}", self.pointer), code, detail));
    }

    /// The problems of something read elsewhere.
    pub fn extend(&mut self, problems: Vec<FieldError>) {
        self.problems.extend(problems);
    }

    /// Refuses unknown members, and returns what `build` makes if there was no problem at all.
    pub fn finish<T>(mut self, build: impl FnOnce() -> Option<T>) -> Result<T, Vec<FieldError>> {
        self.close();
        match build() {
            Some(built) if self.problems.is_empty() => Ok(built),
            _ => Err(self.problems),
        }
    }

    fn ask(&mut self, name: &'static str) -> Option<&'v Value> {
        self.asked.insert(name);
        self.object?.get(name)
    }

    fn read<T>(
        &mut self,
        name: &'static str,
        value: &Value,
        read: impl FnOnce(&Value) -> Read<T>,
    ) -> Option<T> {
        read(value).map_err(|(code, must)| self.problem(name, code, format!("must be {must}"))).ok()
    }

    fn close(&mut self) {
        let unknown = self.object.into_iter().flat_map(Map::keys);
        let unknown: Vec<&String> = unknown.filter(|name| !self.asked.contains(name.as_str())).collect();
        for name in unknown {
            let detail = match nearest(name, self.asked.iter().copied()) {
                Some(known) => format!("is not known; did you mean {known}?"),
                None => "is not known".to_owned(),
            };
            self.problem(&escaped(name), "unknown", detail);
        }
    }
}

/// A name as a part of a JSON pointer (RFC 6901).
pub fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// A text with a number of characters in `length`, trimmed and without control characters.
pub fn text(length: std::ops::RangeInclusive<usize>) -> impl Fn(&Value) -> Read<String> {
    move |value| {
        let text = value.as_str().ok_or_else(|| ("type", "a text".to_owned()))?.trim();
        let (least, most) = (length.start(), length.end());
        if !length.contains(&text.chars().count()) {
            return Err(("length", format!("{least} to {most} characters long")));
        }
        if text.chars().any(|c| c.is_control() && c != '\n' && c != '\t') {
            return Err(("format", "free of control characters".to_owned()));
        }
        Ok(text.to_owned())
    }
}

/// A text, untrimmed: a password may begin with a space.
pub fn any_text(value: &Value) -> Read<String> {
    value.as_str().map(str::to_owned).ok_or_else(|| ("type", "a text".to_owned()))
}

/// A text for which `fits` holds, else "must be …".
pub fn matching(fits: impl Fn(&str) -> bool, must: &'static str) -> impl Fn(&Value) -> Read<String> {
    move |value| match value.as_str() {
        None => Err(("type", "a text".to_owned())),
        Some(text) if fits(text) => Ok(text.to_owned()),
        Some(_) => Err(("format", must.to_owned())),
    }
}

/// One of some words.
pub fn one_of<T: Copy>(words: &'static [(&'static str, T)]) -> impl Fn(&Value) -> Read<T> {
    move |value| {
        let found = value.as_str().and_then(|word| words.iter().find(|(known, _)| *known == word));
        found.map(|(_, value)| *value).ok_or_else(|| {
            let known: Vec<&str> = words.iter().map(|(known, _)| *known).collect();
            ("value", format!("one of {}", known.join(", ")))
        })
    }
}

/// A number in a range.
pub fn number(range: std::ops::RangeInclusive<f64>) -> impl Fn(&Value) -> Read<f64> {
    move |value| {
        let number = value.as_f64().ok_or_else(|| ("type", "a number".to_owned()))?;
        if range.contains(&number) {
            Ok(number)
        } else {
            Err(("range", format!("between {} and {}", range.start(), range.end())))
        }
    }
}

/// A whole number in a range.
pub fn whole(range: std::ops::RangeInclusive<i64>) -> impl Fn(&Value) -> Read<i64> {
    move |value| {
        let number = value.as_i64().ok_or_else(|| ("type", "a whole number".to_owned()))?;
        if range.contains(&number) {
            Ok(number)
        } else {
            Err(("range", format!("between {} and {}", range.start(), range.end())))
        }
    }
}

/// `true` or `false`.
pub fn flag(value: &Value) -> Read<bool> {
    value.as_bool().ok_or_else(|| ("type", "true or false".to_owned()))
}

/// An id.
pub fn id<T: From<uuid::Uuid>>(value: &Value) -> Read<T> {
    let parsed = value.as_str().and_then(|text| uuid::Uuid::try_parse(text).ok());
    parsed.map(T::from).ok_or_else(|| ("format", "a UUID".to_owned()))
}

/// An RFC 3339 instant.
pub fn instant(value: &Value) -> Read<waypost_actors::model::Timestamp> {
    let text = value.as_str().ok_or_else(|| ("type", "an RFC 3339 date-time text".to_owned()))?;
    waypost_actors::model::Timestamp::parse(text).map_err(|_| {
        ("format", "an RFC 3339 date-time with an offset, such as 2026-05-01T12:00:00Z".to_owned())
    })
}

/// A country code of two capital letters (ISO 3166-1 alpha-2).
pub fn country(value: &Value) -> Read<String> {
    let fits = |text: &str| text.len() == 2 && text.bytes().all(|b| b.is_ascii_uppercase());
    matching(fits, "two capital letters, such as DE")(value)
}

/// A mail address, as far as that can be checked without sending to it.
pub fn email(value: &Value) -> Read<String> {
    let text = value.as_str().ok_or_else(|| ("type", "a text".to_owned()))?.trim();
    if is_email(text) { Ok(text.to_owned()) } else { Err(("format", "an e-mail address".to_owned())) }
}

/// Whether a text looks like a mail address: one `@`, a domain with a dot or `localhost`, no spaces.
#[must_use]
pub fn is_email(text: &str) -> bool {
    let Some((local, domain)) = text.rsplit_once('@') else { return false };
    let clean = |part: &str| {
        !part.is_empty()
            && part.chars().all(|c| !c.is_whitespace() && !c.is_control() && !"<>\"(),;:\\[]".contains(c))
    };
    text.len() <= 254
        && clean(local)
        && local.len() <= 64
        && !local.contains('@')
        && clean(domain)
        && (domain == "localhost" || domain.contains('.'))
        && domain
            .split('.')
            .all(|label| !label.is_empty() && !label.starts_with('-') && !label.ends_with('-'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_problem_is_collected_with_its_pointer() {
        let body = json!({ "name": "", "plate": { "number": 7, "contry": "DE" }, "yeer": 1 });
        let mut members = Members::of(&body);
        members.required("name", text(1..=10));
        members.required("category", text(1..=10));
        members.optional("year", whole(1900..=2100));
        members.object("plate", |plate| {
            plate.required("number", text(1..=10));
            plate.optional("country", text(2..=2));
        });
        let problems = members.finish(|| Some(())).unwrap_err();
        let found: Vec<(&str, &str)> =
            problems.iter().map(|p| (p.pointer.as_str(), p.code.as_str())).collect();
        assert_eq!(
            found,
            [
                ("/name", "length"),
                ("/category", "required"),
                ("/plate/number", "type"),
                ("/plate/contry", "unknown"),
                ("/yeer", "unknown"),
            ]
        );
        assert_eq!(problems[4].detail, "is not known; did you mean year?");
    }

    #[test]
    fn mail_addresses() {
        for good in ["a@b.de", "first.last+tag@sub.example.org", "root@localhost"] {
            assert!(is_email(good), "{good}");
        }
        for bad in ["", "a", "a@b", "@b.de", "a@", "a b@c.de", "a@b..de", "a@-b.de", "a\r\n@b.de", "a@b@c.de"]
        {
            assert!(!is_email(bad), "{bad}");
        }
    }
}
