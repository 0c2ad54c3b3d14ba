//! `waypost config`: prints the table of settings with the values in force.

use super::output::print_all;
use super::setting_flags::ServeArgs;
use waypost::config::{InForce, in_force};

pub(super) fn config(args: ServeArgs) -> anyhow::Result<()> {
    let rows: Vec<String> = in_force(&args.sources())?.iter().map(told).collect();
    print_all(rows.join("\n").trim_end())
}

fn told(row: &InForce) -> String {
    let shown = |text: &str| if text.is_empty() { "(none)".to_owned() } else { text.to_owned() };
    let setting = row.setting;
    format!(
        "{} = {}  ({})\n    default {}; {}\n",
        setting.name,
        shown(&row.value),
        row.place,
        shown(setting.default),
        setting.explanation
    )
}
