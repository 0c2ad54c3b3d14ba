//! What a command prints.

use std::io::Write;

/// Prints a long text.
pub(super) fn print_all(text: &str) -> anyhow::Result<()> {
    match writeln!(std::io::stdout(), "{text}") {
        // Whoever read it has seen enough, as `head` does.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}
