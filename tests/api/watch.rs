//! Reads every log line that the servers of these tests write, and looks for secrets in it: tokens and passwords
//! that answers have contained, and anything that looks like one. A test fails in the end if any was written.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Mutex, Once, PoisonError};

use serde_json::{Value, json};
use tracing_subscriber::EnvFilter;
use waypost_test_support::{looks_secret, secrets_of};

use crate::harness::PASSWORD;

static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
static SHOWN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
/// Passwords that the users of these tests choose.
const PASSWORDS: [&str; 3] = [PASSWORD, "another long password", "long enough password"];

struct Lines;

impl Write for Lines {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        let text = String::from_utf8_lossy(line);
        let shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let has = |secret: &str| text.contains(secret);
        if looks_secret(&text) || PASSWORDS.into_iter().any(has) || shown.iter().any(|secret| has(secret)) {
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
        // What the libraries say too.
        // The client of these tests, in this process, is no part of the server.
        let filter: EnvFilter =
            "trace,tungstenite=off,actix_http::h1::timer=off,actix_http::h1::dispatcher=debug"
                .parse()
                .unwrap();
        let lines = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_writer(|| Lines);
        lines.try_init().unwrap();
    });
}

/// Remembers the secrets of an answer that do not look like one.
pub(crate) fn learn(answer: &Value) {
    let plain = secrets_of(answer).into_iter().filter(|secret| !looks_secret(secret));
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner).extend(plain);
}

/// Panics if a line held a secret.
#[track_caller]
pub(crate) fn nothing_was_told() {
    let told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(told.is_empty(), "secrets in log lines: {told:#?}");
}

#[test]
fn a_secret_in_a_line_is_seen() {
    for line in [
        "refused wpt_0123456789abcdefghijABCDEFGHIJ",
        "POST /v1/auth/accept-invite/wpi_0123456789abcdefghijABCDEFGHIJ",
        "signs with whsec_MfKQ9r8+GKYqrTwjUPD8ILPZIo2LaLaSw/abc=",
        "Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.e30.x",
    ] {
        assert!(looks_secret(line), "{line}");
    }
    for line in ["a token such as wpt_… is refused", "wpt_short", "key eyJ", "path=/v1/auth/login whsec_"] {
        assert!(!looks_secret(line), "{line}");
    }
    let answer = json!({ "data": [{ "secret": "whsec_0123456789abcdefghij", "name": "x" }],
        "tracker": { "token": "wpt_0123456789abcdefghij" }, "ticket": "short" });
    assert_eq!(secrets_of(&answer), ["whsec_0123456789abcdefghij", "wpt_0123456789abcdefghij"]);
}
