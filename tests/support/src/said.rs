//! A server's answer, and what tests read from it.

use serde_json::Value;
use waypost_client::Answer;

/// A server's answer.
#[derive(Clone, Debug)]
pub struct Said {
    /// The status code.
    pub status: u16,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The body; null if it is not JSON.
    pub body: Value,
    /// The raw body.
    pub bytes: Vec<u8>,
}

impl From<Answer> for Said {
    fn from(answer: Answer) -> Self {
        let body = answer.json();
        Self { status: answer.status, headers: answer.headers, body, bytes: answer.bytes }
    }
}

impl Said {
    /// The first header with this name, in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The part of the ETag that `If-Match` compares: that of the resource without its derived members.
    #[must_use]
    pub fn resource_tag(&self) -> Option<&str> {
        self.header("etag")?.trim_matches('"').split('.').next()
    }

    /// The body, after checking the status.
    ///
    /// # Panics
    /// The status is a different one.
    #[track_caller]
    pub fn ok(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.bytes));
        self.body.clone()
    }

    /// Checks that this is a complete, well-formed problem with a code.
    ///
    /// # Panics
    /// It is not.
    #[track_caller]
    pub fn problem(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.bytes));
        assert_eq!(self.body["code"], code, "{}", self.body);
        assert_eq!(self.header("content-type"), Some("application/problem+json"));
        assert_eq!(self.body["status"], status);
        assert_eq!(self.body["type"], format!("/problems/{code}"));
        assert_eq!(self.body["requestId"].as_str(), self.header("x-request-id"));
        self.body.clone()
    }

    /// The pointers of a problem's errors.
    #[must_use]
    pub fn pointers(&self) -> Vec<&str> {
        let errors = self.body["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
        errors.iter().filter_map(|error| error["pointer"].as_str()).collect()
    }
}

/// The text of a member.
///
/// # Panics
/// It is not text.
#[track_caller]
#[must_use]
pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("a text, not {value}")).to_owned()
}
