//! `waypost config`: prints the table of settings with the values in force, by the names of `waypost.toml`.

use std::cmp::Reverse;

use super::output::print_all;
use super::setting_flags::ServeArgs;
use waypost::config::{InForce, TABLE, file_name, in_force};

pub(super) fn config(args: ServeArgs) -> anyhow::Result<()> {
    let rows: Vec<String> = in_force(&args.sources())?.iter().map(told).collect();
    print_all(rows.join("\n").trim_end())
}

fn told(row: &InForce) -> String {
    let shown = |text: &str| if text.is_empty() { "(none)".to_owned() } else { text.to_owned() };
    let setting = row.setting;
    format!(
        "{} = {}  ({})\n    default {}; {}\n",
        file_name(setting.name),
        shown(&row.value),
        row.place,
        shown(setting.default),
        with_file_names(setting.explanation)
    )
}

/// An explanation with the names that the file takes.
fn with_file_names(explanation: &str) -> String {
    let mut names: Vec<&str> =
        TABLE.iter().map(|setting| setting.name).filter(|it| it.contains('_')).collect();
    // A name may be the beginning of another one.
    names.sort_by_key(|name| Reverse(name.len()));
    names.into_iter().fold(explanation.to_owned(), |text, name| text.replace(name, &file_name(name)))
}
