//! What other clients call the attributes that have a type here, and those that they send beside them.

use serde_json::{Map, Value};
use waypost_actors::model::{AttributeValue, NewAttributes};

/// Parts of names that may be those of credentials, in lower case.
const SECRETS: [&str; 4] = ["token", "pass", "secret", "key"];

/// A level from 0 to 1 in percent; others mean "not known".
pub(super) fn percent_of_level(level: Option<f64>) -> Option<f64> {
    level.filter(|level| (0.0..=1.0).contains(level)).map(|level| (level * 100.0).round())
}

/// An alarm by our word for it; of several, written with commas between, the first.
pub(super) fn alarm(sent: &str) -> &str {
    match sent.split(',').next().unwrap_or_default().trim() {
        "tampering" => "tamper",
        word => word,
    }
}

/// Notes the scalars of an object that nobody has read yet, by their own names. `is_read`: those that were.
pub(super) fn note_others(
    into: &mut NewAttributes,
    members: &Map<String, Value>,
    is_read: impl Fn(&str) -> bool,
) {
    for (name, value) in members.iter().filter(|(name, _)| !is_read(name) && !is_secret(name)) {
        let value = match value {
            Value::Bool(flag) => AttributeValue::Flag(*flag),
            Value::Number(number) => match number.as_f64() {
                Some(number) => AttributeValue::Number(number),
                None => continue,
            },
            Value::String(text) if !text.is_empty() => AttributeValue::Text(text.clone()),
            _ => continue,
        };
        into.note(name, Some(value));
    }
}

/// A text of a form as what it is: true, false, a number, or a text.
pub(super) fn plain(text: &str) -> AttributeValue {
    match text {
        "true" => true.into(),
        "false" => false.into(),
        _ => match text.trim().parse::<f64>() {
            Ok(number) if number.is_finite() => number.into(),
            _ => text.into(),
        },
    }
}

/// Whether a name may be that of a credential, which is not kept.
pub(super) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRETS.iter().any(|part| name.contains(part))
}

/// The values under some names, in their order, up to the first that is missing; and their names.
pub(super) fn in_a_row<'n, T>(
    names: &'n [&'n str],
    of: impl Fn(&str) -> Option<T>,
) -> (Vec<T>, &'n [&'n str]) {
    let values: Vec<T> = names.iter().map_while(|name| of(name)).collect();
    let named = &names[..values.len()];
    (values, named)
}
