//! Reports once per test binary what ran and what was missing, even though the output of passing tests is captured.

use std::io::Write;

/// Writes one line to the terminal, whether or not the test passes.
///
/// The test harness captures what the print macros write, and only that.
pub(crate) fn say(line: &str) {
    // A closed terminal is no reason to fail a test.
    let _ = writeln!(std::io::stderr(), "tests: {line}");
}

/// Notes that a program is not installed; fails where `WAYPOST_TEST_REQUIRE` names it.
pub(crate) fn missing(program: &str) {
    let required = std::env::var("WAYPOST_TEST_REQUIRE").unwrap_or_default();
    assert!(
        !required.split(',').any(|name| name.trim() == program),
        "{program} is not installed, and WAYPOST_TEST_REQUIRE asks for it"
    );
    say(&format!("{program}: not installed, its tests are skipped"));
}
