//! The text fields of `multipart/form-data` (RFC 7578), as μlogger sends it with a picture. Files are passed over.

use std::borrow::Cow;

/// Most fields read of a body.
const MOST_FIELDS: usize = 64;
/// Longest value of a field, in bytes.
const LONGEST_VALUE: usize = 4096;

/// Most characters of a boundary (RFC 2046, 5.1.1). Each byte of a body may be compared with all of them.
const LONGEST_BOUNDARY: usize = 70;

/// The boundary of a media type, if it is this one.
pub(super) fn boundary(content_type: &str) -> Option<&str> {
    let (kind, parameters) = content_type.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let named = parameters.split(';').filter_map(|parameter| parameter.trim().split_once('='));
    let (_, value) = named.into_iter().find(|(name, _)| name.eq_ignore_ascii_case("boundary"))?;
    Some(value.trim_matches('"')).filter(|value| (1..=LONGEST_BOUNDARY).contains(&value.len()))
}

/// Names and values of the parts that are text.
pub(super) fn fields<'a>(body: &'a [u8], boundary: &str) -> Vec<(Cow<'a, str>, Cow<'a, str>)> {
    let delimiter = format!("--{boundary}");
    let mut fields = Vec::new();
    let mut rest = body;
    while let Some(at) = find(rest, delimiter.as_bytes()).filter(|_| fields.len() < MOST_FIELDS) {
        rest = &rest[at + delimiter.len()..];
        let part = &rest[..find(rest, delimiter.as_bytes()).unwrap_or(rest.len())];
        fields.extend(field(part));
    }
    fields
}

/// One part: its headers, an empty line, its value.
fn field(part: &[u8]) -> Option<(Cow<'_, str>, Cow<'_, str>)> {
    let end = find(part, b"\r\n\r\n")?;
    let headers = std::str::from_utf8(&part[..end]).ok()?;
    let value = part[end + 4..].strip_suffix(b"\r\n")?;
    if headers.contains("filename=") || value.len() > LONGEST_VALUE {
        return None;
    }
    let name = headers.split("name=\"").nth(1)?.split('"').next()?;
    Some((name.into(), String::from_utf8_lossy(value)))
}

fn find(within: &[u8], wanted: &[u8]) -> Option<usize> {
    within.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_and_files_are_passed_over() {
        let content_type = "multipart/form-data; boundary=\"xyz\"";
        let body = b"--xyz\r\nContent-Disposition: form-data; name=\"lat\"\r\n\r\n1.5\r\n\
            --xyz\r\nContent-Disposition: form-data; name=\"image\"; filename=\"a.jpg\"\r\n\r\n\xff\xd8\r\n\
            --xyz\r\nContent-Disposition: form-data; name=\"lon\"\r\n\r\n2\r\n--xyz--\r\n";
        let read = fields(body, boundary(content_type).unwrap());
        assert_eq!(read, [("lat".into(), "1.5".into()), ("lon".into(), "2".into())]);
        for cut in 0..body.len() {
            assert!(fields(&body[..cut], "xyz").len() <= 2);
        }
        let of_length = |length| format!("multipart/form-data; boundary={}", "-".repeat(length));
        let lengths = [0, 1, 70, 71].map(|length| boundary(&of_length(length)).map(str::len));
        assert_eq!(lengths, [None, Some(1), Some(70), None]);
        assert_eq!((boundary("multipart/form-data"), boundary("text/plain; boundary=x")), (None, None));
    }
}
