//! What must be in no log line: credentials as answers give them, and whatever looks like one.

use serde_json::Value;

/// Members of answers whose values are credentials.
const MEMBERS: [&str; 5] = ["accessToken", "refreshToken", "token", "ticket", "secret"];
/// The prefixes of our credentials: tokens of trackers, sessions, keys, tickets and every kind of link, secrets of webhooks; and
/// JWTs.
const PREFIXES: [&str; 15] = [
    "wpt_", "wpr_", "wpk_", "wpw_", "wpm_", "wps_", "wpl_", "wpv_", "wpa_", "wpi_", "wpx_", "wpy_", "wpf_",
    "whsec_", "eyJ",
];
/// A shorter text is no credential.
const SHORTEST: usize = 20;

/// Whether one of our prefixes, or a JWT's, is in a text with as many characters behind it as a credential has.
#[must_use]
pub fn looks_secret(text: &str) -> bool {
    let is_of_one = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_+/=".contains(byte);
    text.as_bytes()
        .split(|byte| !is_of_one(byte))
        .filter(|word| word.len() > SHORTEST)
        .any(|word| PREFIXES.into_iter().any(|prefix| has_enough_behind(word, prefix.as_bytes())))
}

fn has_enough_behind(word: &[u8], prefix: &[u8]) -> bool {
    let at = word.windows(prefix.len()).position(|part| part == prefix);
    at.is_some_and(|at| word.len() - at - prefix.len() >= SHORTEST)
}

/// The credentials that an answer gives.
#[must_use]
pub fn secrets_of(answer: &Value) -> Vec<String> {
    match answer {
        Value::Object(members) => {
            let of_member = |(name, value): (&String, &Value)| match value.as_str() {
                Some(text) if text.len() > SHORTEST && MEMBERS.contains(&name.as_str()) => {
                    vec![text.to_owned()]
                }
                _ => secrets_of(value),
            };
            members.iter().flat_map(of_member).collect()
        }
        Value::Array(items) => items.iter().flat_map(secrets_of).collect(),
        _ => Vec::new(),
    }
}
