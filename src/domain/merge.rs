//! The meaning of a PUT: absent = unchanged, null = cleared; read-only members may be sent back unchanged.

use serde_json::{Map, Value};

use super::field::FieldError;

/// A JSON merge that keeps nulls: members of `patch` replace those of `base`, objects are merged member by member,
/// except those named in `whole`, which are replaced.
#[must_use]
pub fn merged(mut base: Value, patch: &Value, whole: &[&str]) -> Value {
    merge_into(&mut base, patch, whole);
    base
}

fn merge_into(base: &mut Value, patch: &Value, whole: &[&str]) {
    match (base, patch) {
        (Value::Object(base), Value::Object(patch)) => {
            for (name, value) in patch {
                match base.get_mut(name) {
                    Some(old) if !whole.contains(&name.as_str()) => merge_into(old, value, whole),
                    _ => {
                        base.insert(name.clone(), value.clone());
                    }
                }
            }
        }
        (base, patch) => *base = patch.clone(),
    }
}

/// The members of a PUT that have an effect: those of `derived` may have any value and are left out, those of
/// `read_only` must be unchanged, because a client may send back what it got.
pub fn writable(
    mut body: Value,
    current: &Value,
    read_only: &[&str],
    derived: &[&str],
) -> (Value, Vec<FieldError>) {
    let mut problems = Vec::new();
    if let Value::Object(members) = &mut body {
        for name in derived {
            members.remove(*name);
        }
        for name in read_only {
            let differs = take(members, name).is_some_and(|given| given != current[*name]);
            if differs {
                problems.push(FieldError::new(format!("/{name}"), "readOnly", "cannot be changed"));
            }
        }
    }
    (body, problems)
}

/// Takes a member out of a body that is an object.
pub fn take(members: &mut Map<String, Value>, name: &str) -> Option<Value> {
    members.remove(name)
}

/// Reads a body, adding problems found before.
pub fn all_problems<T>(
    mut before: Vec<FieldError>,
    read: Result<T, Vec<FieldError>>,
) -> Result<T, Vec<FieldError>> {
    match read {
        Ok(value) if before.is_empty() => Ok(value),
        Ok(_) => Err(before),
        Err(problems) => {
            before.extend(problems);
            Err(before)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn merging_keeps_absent_members_and_nulls() {
        let base = json!({ "a": 1, "b": { "c": 2, "d": 3 }, "shape": { "type": "circle", "r": 1 } });
        let patch = json!({ "b": { "c": null }, "shape": { "type": "polygon" } });
        assert_eq!(
            merged(base, &patch, &["shape"]),
            json!({ "a": 1, "b": { "c": null, "d": 3 }, "shape": { "type": "polygon" } })
        );
    }

    #[test]
    fn what_was_read_may_be_sent_back() {
        let current = json!({ "id": "x", "name": "a", "live": 1 });
        let (body, problems) =
            writable(json!({ "id": "x", "name": "b", "live": 2 }), &current, &["id"], &["live"]);
        assert_eq!((body, problems), (json!({ "name": "b" }), vec![]));
        let (_, problems) = writable(json!({ "id": "y" }), &current, &["id"], &["live"]);
        assert_eq!(problems[0].pointer, "/id");
    }
}
