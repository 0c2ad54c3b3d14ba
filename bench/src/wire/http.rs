//! HTTP/1.1 as a client that keeps its connection needs it.

use std::fmt::Write as _;

/// A request without a body.
pub(crate) fn get(host: &str, path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n")
}

/// A request without a body, with an access token.
pub(crate) fn get_as(host: &str, path: &str, token: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\r\n")
}

/// A POST with a body.
pub(crate) fn post(host: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
    with_body("POST", host, path, headers, body)
}

/// A request with a body.
pub(crate) fn with_body(
    method: &str,
    host: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> String {
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in headers {
        let _ = write!(text, "{name}: {value}\r\n");
    }
    text + "\r\n" + body
}

/// The first answer in some bytes: its status, where its body begins and where it ends; `None` while it is
/// not all there. Takes a length or chunks.
pub(crate) fn first_answer(bytes: &[u8]) -> Option<(u16, Vec<u8>, usize)> {
    let head_end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = std::str::from_utf8(&bytes[..head_end]).ok()?;
    let status = head.get(9..12)?.parse().ok()?;
    let header = |name: &str| {
        let named = |line: &&str| line.len() > name.len() && line[..name.len()].eq_ignore_ascii_case(name);
        head.lines().find(named).map(|line| line[name.len()..].trim())
    };
    if header("transfer-encoding:").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
        return chunks(bytes, head_end).map(|(body, end)| (status, body, end));
    }
    let length = header("content-length:").map_or(Some(0), |length| length.parse::<usize>().ok())?;
    let body = bytes.get(head_end..head_end + length)?;
    Some((status, body.to_vec(), head_end + length))
}

/// Nothing is copied before all is there: a long answer is looked at with each read.
fn chunks(bytes: &[u8], mut at: usize) -> Option<(Vec<u8>, usize)> {
    let mut parts = Vec::new();
    loop {
        let line = bytes.get(at..)?.windows(2).position(|two| two == b"\r\n")?;
        let size = std::str::from_utf8(&bytes[at..at + line]).ok()?;
        let size = usize::from_str_radix(size.split(';').next()?.trim(), 16).ok()?;
        at += line + 2;
        parts.push(bytes.get(at..at + size)?);
        bytes.get(at + size..at + size + 2)?;
        at += size + 2;
        if size == 0 {
            return Some((parts.concat(), at));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_cut_where_they_end() {
        let two = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 204 No Content\r\nA: b\r\n\r\n";
        let (status, body, end) = first_answer(two).unwrap();
        assert_eq!((status, &body[..]), (200, &b"ok"[..]));
        assert_eq!(first_answer(&two[end..]), Some((204, vec![], two.len() - end)));
        let chunked =
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x\r\nde\r\n0\r\n\r\n";
        assert_eq!(first_answer(chunked), Some((200, b"abcde".to_vec(), chunked.len())));
        assert!((0..chunked.len()).all(|cut| first_answer(&chunked[..cut]).is_none()));
    }

    #[test]
    fn a_request_says_how_long_its_body_is() {
        let text = post("h", "/p", &[("A", "b")], "{}");
        assert_eq!(text, "POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nA: b\r\n\r\n{}");
        assert_eq!(get("h", "/?a=1"), "GET /?a=1 HTTP/1.1\r\nHost: h\r\n\r\n");
    }
}
