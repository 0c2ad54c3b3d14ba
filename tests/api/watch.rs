//! Reads every log line that the servers of these tests write, and looks for secrets in it: tokens and passwords
//! that answers have contained, and anything that looks like one. A test fails in the end if any was written.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Mutex, Once, PoisonError};

use serde_json::Value;
use tracing_subscriber::EnvFilter;

use crate::harness::PASSWORD;

static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
static SHOWN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
/// Members of answers whose values are secrets.
const SECRET_MEMBERS: [&str; 4] = ["accessToken", "refreshToken", "token", "ticket"];

/// Passwords that the users of these tests choose.
const PASSWORDS: [&str; 3] = [PASSWORD, "another long password", "long enough password"];
/// The prefixes of our secrets: tokens of trackers, sessions, keys, tickets and every kind of link; and JWTs.
const PREFIXES: [&str; 13] =
    ["wpt_", "wpr_", "wpk_", "wpw_", "wpm_", "wps_", "wpl_", "wpv_", "wpa_", "wpi_", "wpx_", "wpy_", "eyJ"];

struct Lines;

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
        if looks_secret(&text) || shown.iter().any(|secret| text.contains(secret.as_str())) {
            TOLD.lock().unwrap_or_else(PoisonError::into_inner).insert(text.into_owned());
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Starts reading; once in this process.
pub(crate) fn log_lines() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let filter: EnvFilter = "info,waypost=trace,waypost_actors=trace".parse().unwrap();
        let lines = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(|| Lines);
        lines.try_init().unwrap();
    });
}

/// Remembers the secrets of an answer.
pub(crate) fn learn(answer: &Value) {
    match answer {
        Value::Object(members) => {
            for (name, value) in members {
                match value.as_str().filter(|text| text.len() > 20 && SECRET_MEMBERS.contains(&name.as_str()))
                {
                    Some(secret) => {
                        SHOWN.lock().unwrap_or_else(PoisonError::into_inner).insert(secret.to_owned());
                    }
                    None => learn(value),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(learn),
        _ => {}
    }
}

/// Panics if a line held a secret.
#[track_caller]
pub(crate) fn nothing_was_told() {
    let told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(told.is_empty(), "secrets in log lines: {told:#?}");
}

/// One of our prefixes, or a JWT's, followed by as many characters as a secret has; or the password of these tests.
fn looks_secret(line: &str) -> bool {
    let long = |rest: &str| {
        rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || b"-_".contains(b)).count() >= 20
    };
    let prefixed = |prefix: &str| line.match_indices(prefix).any(|(at, _)| long(&line[at + prefix.len()..]));
    PASSWORDS.into_iter().any(|password| line.contains(password)) || PREFIXES.into_iter().any(prefixed)
}

#[test]
fn a_secret_in_a_line_is_seen() {
    for line in [
        "refused wpt_0123456789abcdefghijABCDEFGHIJ",
        "POST /v1/auth/accept-invite/wpi_0123456789abcdefghijABCDEFGHIJ",
        "Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.e30.x",
        &format!("password={PASSWORD}"),
    ] {
        assert!(looks_secret(line), "{line}");
    }
    for line in ["a token such as wpt_… is refused", "wpt_short", "key eyJ", "status=200 path=/v1/auth/login"]
    {
        assert!(!looks_secret(line), "{line}");
    }
}
