//! RESP, the protocol of Redis and Tile38.

/// Appends a command.
pub(crate) fn push_command(parts: &[&str], out: &mut Vec<u8>) {
    out.extend(format!("*{}\r\n", parts.len()).bytes());
    for part in parts {
        out.extend(format!("${}\r\n", part.len()).bytes());
        out.extend(part.bytes());
        out.extend(b"\r\n");
    }
}

/// An answer or a pushed message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// `+OK`, a number, a text, or nothing.
    Text(String),
    /// What went wrong.
    Error(String),
    /// Several.
    List(Vec<Reply>),
}

/// The first reply in some bytes, and its length; `None` while it is not all there.
pub(crate) fn first_reply(bytes: &[u8]) -> Option<(Reply, usize)> {
    let line_end = bytes.windows(2).position(|two| two == b"\r\n")?;
    let line = String::from_utf8_lossy(bytes.get(1..line_end)?).into_owned();
    let mut at = line_end + 2;
    let reply = match bytes.first()? {
        b'-' => Reply::Error(line),
        b'$' => match usize::try_from(line.parse::<i64>().ok()?) {
            Ok(length) => {
                let text = String::from_utf8_lossy(bytes.get(at..at + length)?).into_owned();
                bytes.get(at + length..at + length + 2)?;
                at += length + 2;
                Reply::Text(text)
            }
            Err(_) => Reply::Text(String::new()),
        },
        b'*' => {
            let mut parts = Vec::new();
            for _ in 0..line.parse::<i64>().ok()?.max(0) {
                let (part, length) = first_reply(&bytes[at..])?;
                parts.push(part);
                at += length;
            }
            Reply::List(parts)
        }
        _ => Reply::Text(line),
    };
    Some((reply, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_lists_of_texts() {
        let mut bytes = Vec::new();
        push_command(&["SET", "fleet", "v1"], &mut bytes);
        assert_eq!(bytes, b"*3\r\n$3\r\nSET\r\n$5\r\nfleet\r\n$2\r\nv1\r\n");
        let text = |text: &str| Reply::Text(text.to_owned());
        let list = Reply::List(vec![text("SET"), text("fleet"), text("v1")]);
        assert_eq!(first_reply(&bytes), Some((list, bytes.len())));
    }

    #[test]
    fn replies_are_cut_where_they_end() {
        let bytes = b"+OK\r\n:7\r\n-ERR no\r\n$-1\r\n*2\r\n$1\r\na\r\n:1\r\n";
        let mut at = 0;
        let mut found = Vec::new();
        while let Some((reply, length)) = first_reply(&bytes[at..]) {
            found.push(reply);
            at += length;
        }
        let text = |text: &str| Reply::Text(text.to_owned());
        assert_eq!(
            found,
            [
                text("OK"),
                text("7"),
                Reply::Error("ERR no".into()),
                text(""),
                Reply::List(vec![text("a"), text("1")])
            ]
        );
        assert_eq!(at, bytes.len());
    }
}
