//! Output of commands.

use std::io::Write;

/// Prints a long text.
pub(super) fn print_all(text: &str) -> anyhow::Result<()> {
    match writeln!(std::io::stdout(), "{text}") {
        // The reader has seen enough, as with `head`.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// The error and its causes, except those that an earlier error quotes already.
pub(super) fn with_causes(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |text, cause| {
        let cause = cause.trim_end();
        match text.as_str() {
            "" => cause.to_owned(),
            _ if text.contains(cause) => text,
            _ => format!("{text}: {cause}"),
        }
    })
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;

    use super::*;

    #[test]
    fn a_cause_is_told_once() {
        let error = Err::<(), _>(std::io::Error::other("refused"))
            .context("talking failed: refused")
            .context("no server");
        assert_eq!(with_causes(&error.unwrap_err()), "no server: talking failed: refused");
    }
}
