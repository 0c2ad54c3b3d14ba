//! One request and its raw answer: interpreting it is up to the caller.

use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use awc::http::Method;
use awc::http::header::CONTENT_LENGTH;
use awc::{Client, Connector};
use serde_json::Value;

/// Enough for a page of 200 records, or for an export in a test.
const LARGEST_ANSWER: usize = 64 << 20;
/// Shorter than any server's, so that no request goes out on a connection that the server is closing.
const KEEP_ALIVE: Duration = Duration::from_secs(2);

/// A server over HTTP.
pub struct Http {
    client: Client,
    server: String,
}

/// A server's answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// Names in lower case, and values.
    pub headers: Vec<(String, String)>,
    /// The body, not unpacked.
    pub bytes: Vec<u8>,
}

impl Answer {
    /// The body as JSON; null if it is not JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_default()
    }

    /// The first header with this name, in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

impl Http {
    /// A client of the server at `http://…`; a request that waits longer than `answer_within` for its answer fails.
    #[must_use]
    pub fn new(server: &str, answer_within: Duration) -> Self {
        let connector = Connector::new().conn_keep_alive(KEEP_ALIVE);
        let client = Client::builder().timeout(answer_within).disable_redirects().no_default_headers();
        let client = client.connector(connector).finish();
        Self { client, server: server.trim_end_matches('/').to_owned() }
    }

    /// `http://…`, without a slash at its end.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Sends a request with these headers and no others. Fails if no answer comes in time, or none in HTTP.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: Vec<u8>,
    ) -> Result<Answer> {
        let url = format!("{}{path}", self.server);
        let has_body = method != Method::HEAD;
        let mut request = self.client.request(method, &url).no_decompress();
        for header in headers {
            request = request.insert_header(*header);
        }
        // The errors of awc are not Sync.
        let mut answer = request.send_body(body).await.map_err(|error| anyhow!("{url}: {error}"))?;
        let bytes = answer.body().limit(LARGEST_ANSWER).await.map_err(|error| anyhow!("{url}: {error}"))?;
        // awc takes the end of the connection for that of the answer.
        let length =
            answer.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        if has_body && length.is_some_and(|length: usize| length > bytes.len()) {
            bail!("{url}: the answer ends early");
        }
        let text =
            |value: &awc::http::header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        Ok(Answer {
            status: answer.status().as_u16(),
            headers: answer.headers().iter().map(|(name, value)| (name.to_string(), text(value))).collect(),
            bytes: bytes.to_vec(),
        })
    }
}
