//! Requests as bytes on connections of their own, for what no client would send.

use std::io::Write;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// An answer that takes longer counts as none.
pub(crate) const DEADLINE: Duration = Duration::from_secs(90);

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Its first line and its headers, in lower case.
    pub(crate) head: String,
    pub(crate) body: Value,
}

/// Sends these bytes on a connection of their own and reads the answer.
pub(crate) async fn exchange(address: &str, bytes: &[u8]) -> Answer {
    asked(&mut TcpStream::connect(address).await.unwrap(), bytes).await
}

/// Sends these bytes on an open connection and reads the answer.
pub(crate) async fn asked(connection: &mut TcpStream, bytes: &[u8]) -> Answer {
    let exchanged = async {
        // A server that has refused the request reads no further.
        connection.write_all(bytes).await.ok();
        let mut answer = Vec::new();
        while !is_whole(&answer) && connection.read_buf(&mut answer).await.is_ok_and(|read| read > 0) {}
        answer
    };
    let sent = || String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned();
    let answer = timeout(DEADLINE, exchanged).await.unwrap_or_else(|_| panic!("no answer to {}", sent()));
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("no answer to {}: {}", sent(), String::from_utf8_lossy(&answer)));
    let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
    Answer { status, head, body: serde_json::from_slice(&answer[end + 4..]).unwrap_or_default() }
}

/// Whether an answer has all the bytes that its head announces.
fn is_whole(answer: &[u8]) -> bool {
    let Some(end) = answer.windows(4).position(|four| four == b"\r\n\r\n") else { return false };
    let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
    length.is_some_and(|length| answer.len() >= end + 4 + length)
}

/// The bytes of a request. If its headers contain no length, that of its body is added.
pub(crate) fn request(method: &str, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut bytes =
        format!("{method} {target} HTTP/1.1\r\nhost: waypost\r\nconnection: close\r\n").into_bytes();
    for (name, value) in headers {
        write!(bytes, "{name}: {value}\r\n").unwrap();
    }
    if !headers.iter().any(|(name, _)| ["content-length", "transfer-encoding"].contains(name)) {
        write!(bytes, "content-length: {}\r\n", body.len()).unwrap();
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    bytes
}

pub(crate) async fn post(address: &str, path: &str, token: &str, body: Value) -> Value {
    let bearer = format!("Bearer {token}");
    let mut headers = vec![("content-type", "application/json")];
    if !token.is_empty() {
        headers.push(("authorization", bearer.as_str()));
    }
    let answer = exchange(address, &request("POST", path, &headers, body.to_string().as_bytes())).await;
    assert!(answer.status < 300, "{path}: {}", answer.body);
    answer.body
}
