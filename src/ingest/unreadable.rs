//! Reads JSON; what has not the form that is read from it is told by its member, in words that are not this program's. Pure.

use serde::Deserialize;

/// Most bytes of a reason: what was sent is quoted in it.
const MOST_BYTES: usize = 300;

/// Reads a whole text. The error is for people.
pub(super) fn read<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, String> {
    serde_json::from_slice(text).map_err(|error| {
        let mut again = serde_json::Deserializer::from_slice(text);
        // The way to the member costs a text per member, so it is asked for only here.
        match serde_path_to_error::deserialize::<_, T>(&mut again) {
            Err(found) if error.is_data() => why(&found.path().to_string(), &found.inner().to_string()),
            // About signs, with their line and column.
            _ => error.to_string(),
        }
    })
}

/// `path` is `.` for the whole text.
fn why(path: &str, error: &str) -> String {
    let error = error.rsplit_once(" at line ").map_or(error, |(error, _)| error);
    let mismatch = ["invalid type: ", "invalid value: "].iter().find_map(|begin| error.strip_prefix(begin));
    let detail = match mismatch.and_then(|rest| rest.rsplit_once(", expected ")) {
        Some((found, wanted)) => format!("must be {}, and is {found}", plain(wanted)),
        None => error.to_owned(),
    };
    let mut told = if path == "." { detail } else { format!("{path}: {detail}") };
    told.truncate(told.floor_char_boundary(MOST_BYTES));
    told
}

/// What serde calls by the names of Rust.
fn plain(wanted: &str) -> &str {
    match wanted {
        "f64" => "a number",
        "i64" => "a whole number",
        "a boolean" => "true or false",
        "a string" => "a text",
        "a sequence" => "a list",
        "a map" => "an object",
        wanted if wanted.starts_with("struct ") => "an object",
        wanted => wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read")]
    struct Read {
        latitude: f64,
        seq: Option<i64>,
        ignition: Option<bool>,
        names: Option<Vec<String>>,
        inner: Option<Inner>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only read")]
    struct Inner {
        id: i64,
    }

    #[test]
    fn the_member_is_named_and_what_it_must_be_in_plain_words() {
        for (json, wanted) in [
            (
                r#"{"latitude":"x, expected y"}"#,
                r#"latitude: must be a number, and is string "x, expected y""#,
            ),
            (r#"{"latitude":null}"#, "latitude: must be a number, and is null"),
            (r#"{"latitude":1,"seq":1.5}"#, "seq: must be a whole number, and is floating point `1.5`"),
            (r#"{"latitude":1,"ignition":1}"#, "ignition: must be true or false, and is integer `1`"),
            (r#"{"latitude":1,"names":{}}"#, "names: must be a list, and is map"),
            (r#"{"latitude":1,"names":["a",true]}"#, "names[1]: must be a text, and is boolean `true`"),
            (r#"{"latitude":1,"inner":7}"#, "inner: must be an object, and is integer `7`"),
            (r#"{"latitude":1,"inner":{}}"#, "inner: missing field `id`"),
            (
                r#"{"lat":1}"#,
                "lat: unknown field `lat`, expected one of `latitude`, `seq`, `ignition`, `names`, `inner`",
            ),
            ("7", "must be an object, and is integer `7`"),
            (r#"{"latitude":}"#, "expected value at line 1 column 13"),
            (r#"{"latitude":1} 2"#, "trailing characters at line 1 column 16"),
        ] {
            assert_eq!(read::<Read>(json.as_bytes()).unwrap_err(), wanted, "{json}");
        }
        let long = format!(r#"{{"latitude":"{}"}}"#, "ö".repeat(500));
        assert!(read::<Read>(long.as_bytes()).unwrap_err().len() <= MOST_BYTES);
    }
}
