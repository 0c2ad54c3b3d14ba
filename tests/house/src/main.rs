//! The rules of the house, read off the code: which module may know which, and how code looks here.
//!
//! ARCHITECTURE.md says why. Each rule is a function from source to violations, tried here on the whole
//! tree and, beside its definition, on a sample that breaks it. Folders that do not exist yet are ruled too.

mod arrows;
mod changes;
mod circles;
mod effect_table;
mod effect_table_of_questions;
mod effects;
mod pages;
mod source;
mod style;

use std::fmt;
use std::path::Path;
use std::sync::LazyLock;

use source::Source;

/// A line that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Violation {
    path: String,
    line: usize,
    what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.what)
    }
}

fn assert_kept(violations: &[Violation]) {
    let told: Vec<String> = violations.iter().map(ToString::to_string).collect();
    assert!(told.is_empty(), "rules of the house are broken:\n{}", told.join("\n"));
}

/// The repository.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Every text file of the repository, read once for all tests.
static FILES: LazyLock<Vec<(String, String)>> = LazyLock::new(|| source::files_below(Path::new(ROOT)));

/// Its code, parsed once.
static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(|| {
    let rust = FILES.iter().filter(|(path, _)| path.ends_with(".rs"));
    let rust: Vec<Source> = rust.map(|(path, text)| Source::parse(path, text)).collect();
    assert!(rust.len() > 10, "hardly any code was found");
    rust
});

#[test]
fn arrows_point_one_way() {
    let violations: Vec<Violation> = SOURCES.iter().flat_map(arrows::wrong_arrows).collect();
    assert_kept(&violations);
}

#[test]
fn pure_folders_read_no_clock_and_do_no_input_or_output() {
    let violations: Vec<Violation> = SOURCES.iter().flat_map(arrows::impurities).collect();
    assert_kept(&violations);
}

#[test]
fn no_two_files_know_each_other() {
    assert_kept(&circles::circles(&SOURCES));
}

#[test]
fn an_operation_changes_what_is_stored_through_a_change() {
    let violations: Vec<Violation> = SOURCES.iter().flat_map(changes::beside_the_change).collect();
    assert_kept(&violations);
}

#[test]
fn code_looks_like_the_house() {
    let violations: Vec<Violation> = SOURCES.iter().flat_map(|source| source.style.clone()).collect();
    assert_kept(&violations);
}

#[test]
fn the_head_of_a_folder_is_its_mod() {
    assert_kept(&style::beside_their_folder(&SOURCES));
}

#[test]
fn every_setting_is_read() {
    let unread = effects::unread_settings(&SOURCES);
    assert!(unread.is_empty(), "settings that nothing reads: {unread:?}");
}

#[test]
fn whatever_is_set_has_its_effect_where_the_table_says() {
    let wrong = effects::without_effect(&SOURCES, &FILES);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_file_names_a_path_of_one_machine() {
    let violations: Vec<Violation> =
        FILES.iter().flat_map(|(path, text)| style::machine_paths(path, text)).collect();
    assert_kept(&violations);
}

#[test]
fn links_of_pages_lead_somewhere() {
    assert_kept(&pages::broken_links(&FILES, Path::new(ROOT)));
}

#[test]
fn files_that_pages_name_are_there() {
    assert_kept(&pages::missing_files(&FILES));
}
