//! What a client says on the feed, read from JSON: each problem named by its member, so that who says something wrong is
//! told what, and goes on. Pure.

use serde_json::Value;

use super::protocol::{FilterSpec, Heard, Subscribe, Topic};
use crate::domain::field::FieldError;
use crate::domain::members::{Members, Read, any_text, id, matching, one_of, whole};

/// Bytes of the longest name that a client may give a subscription.
const MAX_ID: usize = 64;
/// Greatest `minIntervalMs`.
const MAX_INTERVAL_MS: i64 = 60_000;
/// What `minIntervalMs` is if it is not said.
const ONE_SECOND_MS: u64 = 1_000;
/// Most problems of one message that are told.
const MOST_ERRORS: usize = 20;

/// Reads the members of one type of message.
type Reader = fn(Members<'_>) -> Result<Heard, Vec<FieldError>>;

const TYPES: [(&str, Reader); 4] = [
    ("authenticate", authenticate),
    ("subscribe", subscribe),
    ("unsubscribe", unsubscribe),
    ("ping", |members| members.finish(|| Some(Heard::Ping {}))),
];

/// A message that cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// It is no JSON; for people.
    NoJson(String),
    /// Its members are wrong.
    Wrong {
        /// The subscription it would concern, if it names one.
        id: Option<String>,
        /// What kind of message it is, for programs.
        code: &'static str,
        /// Each member's problem.
        errors: Vec<FieldError>,
    },
}

/// Reads a message.
pub(super) fn read(text: &str) -> Result<Heard, Unread> {
    let value: Value = serde_json::from_str(text).map_err(|error| Unread::NoJson(error.to_string()))?;
    let mut members = Members::of(&value);
    let read = match members.required("type", one_of(&TYPES)) {
        Some(reader) => reader(members),
        // Of a message without a type no other member can be judged.
        None => members.finish(|| None).map_err(|errors| errors.into_iter().take(1).collect()),
    };
    read.map_err(|mut errors| {
        errors.truncate(MOST_ERRORS);
        let id = value["id"].as_str().filter(|id| fits_id(id)).map(str::to_owned);
        let is_subscription = value["type"] == "subscribe";
        let code = if is_subscription { "invalidSubscription" } else { "invalidMessage" };
        Unread::Wrong { id, code, errors }
    })
}

/// The ticket with which a message signs in, if it does.
#[must_use]
pub fn ticket_in(text: &str) -> Option<String> {
    match read(text) {
        Ok(Heard::Authenticate { ticket }) => Some(ticket),
        _ => None,
    }
}

/// What is wrong, in one line for people: members as `filter.vehicleIds`.
pub(super) fn told(errors: &[FieldError]) -> String {
    let told =
        errors.iter().map(|FieldError { pointer, detail, .. }| match pointer.trim_start_matches('/') {
            "" => format!("the message {detail}"),
            member => format!("{}: {detail}", member.replace('/', ".")),
        });
    told.collect::<Vec<_>>().join("; ")
}

fn authenticate(mut members: Members<'_>) -> Result<Heard, Vec<FieldError>> {
    let ticket = members.required("ticket", any_text);
    members.finish(|| Some(Heard::Authenticate { ticket: ticket? }))
}

fn unsubscribe(mut members: Members<'_>) -> Result<Heard, Vec<FieldError>> {
    let id = members.required("id", any_text);
    members.finish(|| Some(Heard::Unsubscribe { id: id? }))
}

fn subscribe(mut members: Members<'_>) -> Result<Heard, Vec<FieldError>> {
    let id = members.required("id", matching(fits_id, "1 to 64 characters long"));
    let topics = members.required("topics", list("a list of topics", one_of(Topic::WORDS)));
    let filter = members.object("filter", filter).unwrap_or_default();
    let interval = members.optional("minIntervalMs", whole(0..=MAX_INTERVAL_MS));
    let min_interval_ms = interval.and_then(|millis| u64::try_from(millis).ok()).unwrap_or(ONE_SECOND_MS);
    let cursor = members.optional("cursor", any_text);
    members.finish(|| {
        Some(Heard::Subscribe(Subscribe { id: id?, topics: topics?, filter, min_interval_ms, cursor }))
    })
}

fn filter(members: &mut Members<'_>) -> FilterSpec {
    FilterSpec {
        vehicle_ids: members.optional("vehicleIds", list("a list of ids", id)),
        geofence_ids: members.optional("geofenceIds", list("a list of ids", id)),
        bbox: members.optional("bbox", bbox),
        organization_id: members.optional("organizationId", id),
    }
}

fn fits_id(id: &str) -> bool {
    (1..=MAX_ID).contains(&id.len())
}

/// West, south, east, north. Their ranges are checked where they filter.
fn bbox(value: &Value) -> Read<[f64; 4]> {
    let must = "four numbers: west, south, east, north in degrees";
    let degrees =
        value.as_array().and_then(|list| list.iter().map(Value::as_f64).collect::<Option<Vec<_>>>());
    degrees.and_then(|degrees| degrees.try_into().ok()).ok_or_else(|| ("type", must.to_owned()))
}

/// A list of what `read` reads; of the first that is wrong the place is told, from 0.
fn list<T>(must: &'static str, read: impl Fn(&Value) -> Read<T>) -> impl Fn(&Value) -> Read<Vec<T>> {
    move |value| {
        let items = value.as_array().ok_or_else(|| ("type", must.to_owned()))?;
        let item = |(index, value): (usize, &Value)| {
            read(value).map_err(|(code, each)| (code, format!("{must}: [{index}] must be {each}")))
        };
        items.iter().enumerate().map(item).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> (Option<String>, &'static str, String) {
        match read(text).unwrap_err() {
            Unread::NoJson(detail) => panic!("{text}: {detail}"),
            Unread::Wrong { id, code, errors } => (id, code, told(&errors)),
        }
    }

    #[test]
    fn every_member_that_is_wrong_is_named_with_what_it_must_be() {
        for (text, wanted) in [
            ("[]", "the message must be an object"),
            (r#"{"topics":[]}"#, "type: is required"),
            (r#"{"type":7}"#, "type: must be one of authenticate, subscribe, unsubscribe, ping"),
            (r#"{"type":"unsubscribe"}"#, "id: is required"),
            (r#"{"type":"ping","id":"a"}"#, "id: is not known"),
        ] {
            assert_eq!(refused(text), (refused(text).0, "invalidMessage", wanted.to_owned()), "{text}");
        }
        let of = |member: &str, value: &str| {
            let text = format!(r#"{{"type":"subscribe","id":"a","topics":["events"],"{member}":{value}}}"#);
            let (id, code, detail) = refused(&text);
            assert_eq!(code, "invalidSubscription", "{text}");
            assert!(id.is_none_or(|id| id == "a"), "{text}");
            detail
        };
        for (member, value, wanted) in [
            ("topics", r#""events""#, "topics: must be a list of topics"),
            (
                "topics",
                r#"["events","gossip"]"#,
                "topics: must be a list of topics: [1] must be one of positions, occupancy, events, fuel, changes",
            ),
            ("cursor", "7", "cursor: must be a text"),
            ("minIntervalMs", "60001", "minIntervalMs: must be between 0 and 60000"),
            ("filter", "[]", "filter: must be an object"),
            ("filter", r#"{"vehicles":[]}"#, "filter.vehicles: is not known; did you mean vehicleIds?"),
            (
                "filter",
                r#"{"vehicleIds":["x"]}"#,
                "filter.vehicleIds: must be a list of ids: [0] must be a UUID",
            ),
            (
                "filter",
                r#"{"bbox":[1,2,3]}"#,
                "filter.bbox: must be four numbers: west, south, east, north in degrees",
            ),
            ("curser", "null", "curser: is not known; did you mean cursor?"),
        ] {
            assert_eq!(of(member, value), wanted);
        }
        let both = refused(r#"{"type":"subscribe","topics":7}"#);
        assert!(both.0.is_none() && both.2.contains("id: is required; topics: must be"), "{both:?}");
        assert!(matches!(read("{"), Err(Unread::NoJson(detail)) if detail.contains("line 1")));
        let names = (0..1_000).map(|number| format!(r#","x{number}":1"#)).collect::<String>();
        assert_eq!(refused(&format!(r#"{{"type":"ping"{names}}}"#)).2.matches("is not known").count(), 20);
    }

    #[test]
    fn what_is_not_said_is_everything() {
        let read =
            read(r#"{"type":"subscribe","id":"a","topics":["positions","changes"],"filter":{"bbox":null}}"#);
        let Ok(Heard::Subscribe(asked)) = read else { panic!("{read:?}") };
        assert_eq!((asked.topics, asked.min_interval_ms), (vec![Topic::Positions, Topic::Changes], 1_000));
        assert!(asked.cursor.is_none() && asked.filter.vehicle_ids.is_none() && asked.filter.bbox.is_none());
    }
}
