//! What of an item is left out, and how the client is told: members that are not known, attributes that do not fit. Pure.

use std::collections::{BTreeMap, HashSet};

use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use waypost_actors::model::{AttributeProblem, AttributeValue, Attributes, NewAttributes};

/// Members of an item.
const MEMBERS: [&str; 14] = [
    "seq",
    "trackerId",
    "uniqueId",
    "recordedAt",
    "latitude",
    "longitude",
    "speedKmh",
    "headingDegrees",
    "altitudeMeters",
    "accuracyMeters",
    "odometerKm",
    "ignition",
    "fuel",
    "attributes",
];
/// Attributes that have a type.
const KNOWN_ATTRIBUTES: [&str; 10] = [
    "batteryPercent",
    "externalVolts",
    "satellites",
    "hdop",
    "alarm",
    "inputs",
    "temperatureCelsius",
    "driverCard",
    "engineRpm",
    "coolantCelsius",
];
/// Names that a connection is told of at most.
const MOST_TOLD: usize = 100;
/// Unknown members of one object that are named at most.
pub(super) const MOST_UNKNOWN: usize = 16;
/// Characters of a name that are told.
const TOLD_CHARS: usize = 64;

/// Something of an item, or beside the items, that is not stored; the items are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoredMember {
    /// Why, for programs.
    pub code: &'static str,
    /// The member.
    pub member: String,
    /// Why, for people.
    pub detail: String,
}

/// Something that was left out of an item, which is stored without it, or that stood beside the items. Told once per connection
/// (or request) and member, of the first 100 members.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Warning {
    /// The item's number, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<i64>,
    /// The item's place in the request, from 0; absent of what stood beside the items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    /// `unknownMember` or `invalidAttribute`.
    pub code: &'static str,
    /// The member.
    pub member: String,
    /// Why, and what to do, for people.
    pub detail: String,
}

/// What a connection was told already.
#[derive(Debug, Default)]
pub(super) struct AlreadyWarned(HashSet<(&'static str, String)>);

impl AlreadyWarned {
    /// What is still to be told of an item, or of what stood beside the items: then there is no index.
    pub(super) fn warnings(
        &mut self,
        (index, seq): (Option<usize>, Option<i64>),
        of: Vec<IgnoredMember>,
        into: &mut Vec<Warning>,
    ) {
        for IgnoredMember { code, member, detail } in of {
            if self.0.len() < MOST_TOLD && self.0.insert((code, member.clone())) {
                into.push(Warning { seq, index, code, member, detail });
            }
        }
    }
}

/// A member of an item that is not known.
pub(super) fn unknown_member(name: &str) -> IgnoredMember {
    unknown(name, |member| {
        let hint = match (nearest(member, &MEMBERS), nearest(member, &KNOWN_ATTRIBUTES)) {
            (Some(known), _) => format!("did you mean {known}?"),
            (None, Some(known)) => format!("did you mean {known} in attributes?"),
            (None, None) => "what an item has beside its own members goes into attributes".to_owned(),
        };
        format!("{member} is not known and not stored: {hint}")
    })
}

/// The members of an object that stand beside its items and are not known.
pub(super) fn unknown_beside_items(object: &[u8], known: &[&str]) -> Vec<IgnoredMember> {
    let members: BTreeMap<String, IgnoredAny> = serde_json::from_slice(object).unwrap_or_default();
    let names = members.keys().filter(|name| !known.contains(&name.as_str())).take(MOST_UNKNOWN);
    let beside = |member: &str| {
        let meant = nearest(member, &MEMBERS);
        let hint = meant.map(|of_item| format!("; did you mean {of_item} in each item?")).unwrap_or_default();
        format!("{member} is not known beside the items, and not stored{hint}")
    };
    names.map(|name| unknown(name, beside)).collect()
}

fn unknown(name: &str, why: impl Fn(&str) -> String) -> IgnoredMember {
    let member: String = name.chars().take(TOLD_CHARS).collect();
    IgnoredMember { code: "unknownMember", detail: why(&member), member }
}

/// Reads the attributes of an item. What does not fit is left out, one by one.
pub(super) fn read_attributes(sent: &str, ignored: &mut Vec<IgnoredMember>) -> Option<Attributes> {
    let mut leave_out = |member: String, detail: String| {
        ignored.push(IgnoredMember { code: "invalidAttribute", member, detail });
    };
    // A member is read by itself: what is no attribute is not built.
    let Ok(members) = serde_json::from_str::<BTreeMap<String, &RawValue>>(sent) else {
        leave_out("attributes".to_owned(), "attributes is no object of names and values".to_owned());
        return None;
    };
    let mut new = NewAttributes::default();
    for (name, value) in members {
        let value = match value.get() {
            "null" => continue,
            value => serde_json::from_str::<AttributeValue>(value).map_err(|_| AttributeProblem::Value),
        };
        if let Err(problem) = value.and_then(|value| new.put(&name, value)) {
            let member: String = name.chars().take(TOLD_CHARS).collect();
            let detail = format!("attributes.{member} is not stored: {problem}");
            leave_out(format!("attributes.{member}"), detail);
        }
    }
    new.seal().unwrap_or_else(|problem| {
        leave_out("attributes".to_owned(), format!("attributes are not stored: {problem}"));
        None
    })
}

/// The known name that somebody may have meant.
fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let plain = |name: &str| name.replace(['_', '-', ' '], "").to_ascii_lowercase();
    let meant = plain(name);
    let also = ALIASES.iter().find(|(other, _)| *other == meant).map(|(_, known)| *known);
    let near = |known: &&&str| {
        let known = plain(known);
        known == meant
            || also.is_some_and(|also| plain(also) == known)
            || distance(&known, &meant) <= 2.min(meant.len() / 4)
    };
    known.iter().find(near).copied()
}

/// What others call members, in lower case.
const ALIASES: [(&str, &str); 20] = [
    ("lat", "latitude"),
    ("lon", "longitude"),
    ("lng", "longitude"),
    ("long", "longitude"),
    ("speed", "speedKmh"),
    ("heading", "headingDegrees"),
    ("course", "headingDegrees"),
    ("bearing", "headingDegrees"),
    ("altitude", "altitudeMeters"),
    ("accuracy", "accuracyMeters"),
    ("odometer", "odometerKm"),
    ("timestamp", "recordedAt"),
    ("time", "recordedAt"),
    ("battery", "batteryPercent"),
    ("batt", "batteryPercent"),
    ("sat", "satellites"),
    ("rpm", "engineRpm"),
    ("temperature", "temperatureCelsius"),
    ("card", "driverCard"),
    ("device", "uniqueId"),
];

/// How many characters must be put in, left out or changed.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in other.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_member_is_named_with_what_was_meant() {
        for (name, meant) in [
            ("speed_kmh", "did you mean speedKmh?"),
            ("speed", "did you mean speedKmh?"),
            ("headingDegree", "did you mean headingDegrees?"),
            ("battery", "did you mean batteryPercent in attributes?"),
            ("doorOpen", "goes into attributes"),
            ("x", "goes into attributes"),
        ] {
            let detail = unknown_member(name).detail;
            assert!(detail.contains(meant), "{detail}");
        }
    }

    #[test]
    fn what_does_not_fit_is_left_out_and_the_rest_stays() {
        let mut ignored = Vec::new();
        let read = read_attributes(
            r#"{"batteryPercent":187,"doorOpen":true,"a b":1,"nested":{},"none":null,"temperatureCelsius":[-4,3.5]}"#,
            &mut ignored,
        );
        assert_eq!(read.unwrap().as_json(), r#"{"doorOpen":true,"temperatureCelsius":[-4,3.5]}"#);
        let members: Vec<&str> = ignored.iter().map(|ignored| &*ignored.member).collect();
        assert_eq!(members, ["attributes.a b", "attributes.batteryPercent", "attributes.nested"]);
        for (sent, part) in [("7", "no object"), ("[1]", "no object")] {
            let mut ignored = Vec::new();
            assert_eq!(read_attributes(sent, &mut ignored), None);
            assert!(ignored[0].detail.contains(part), "{ignored:?}");
        }
        let large = format!(
            r#"{{{}}}"#,
            (0..30).map(|n| format!(r#""a{n}":"{}""#, "x".repeat(200))).collect::<Vec<_>>().join(",")
        );
        let mut ignored = Vec::new();
        assert_eq!(read_attributes(&large, &mut ignored), None);
        assert!(ignored[0].detail.contains("4096 bytes"), "{ignored:?}");
        assert_eq!((read_attributes("{}", &mut ignored), ignored.len()), (None, 1));
    }

    #[test]
    fn each_is_told_once_and_only_so_many() {
        let (mut told, mut warnings) = (AlreadyWarned::default(), Vec::new());
        for n in 0..500 {
            told.warnings(
                (Some(n), Some(7)),
                vec![unknown_member("doorOpen"), unknown_member(&format!("m{n}"))],
                &mut warnings,
            );
        }
        assert_eq!(warnings.iter().filter(|warning| warning.member == "doorOpen").count(), 1);
        assert_eq!(warnings.len(), 100);
    }
}
