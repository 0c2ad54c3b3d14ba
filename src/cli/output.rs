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
