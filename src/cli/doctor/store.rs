//! The store: whether it can be opened, is durable, and is of this version.

use waypost::config::Settings;
use waypost::store::checkup::{Checkup, check_up};
use waypost::store::open::{Location, OpenError, known_migration};
use waypost_actors::model::Timestamp;

use super::report::Report;
use crate::cli::output::with_causes;

const ABOUT: &str = "store";

pub(super) async fn look(settings: &Settings, now: Timestamp, report: &mut Report) -> Option<Checkup> {
    let location = settings.store().location;
    let found = match check_up(&location, now).await {
        Ok(Some(found)) => found,
        Ok(None) => {
            let place = settings.data_dir.display();
            report.good(ABOUT, format!("none in {place} yet: the first start makes an embedded one"));
            return None;
        }
        Err(error) => {
            let remedy = match (&error, location) {
                // They say themselves what to do.
                (OpenError::Moved { .. } | OpenError::HalfRestored(_) | OpenError::HalfTransferred, _) => "",
                (_, Location::Postgres(_)) => {
                    "see that PostgreSQL runs, and that databaseUrl names it, its role and its database"
                }
                (_, Location::Embedded(_)) => {
                    "see that dataDir is the server's, and run this as the server's user"
                }
            };
            report.wrong(ABOUT, with_causes(&error.into()), remedy);
            return None;
        }
    };
    let served = if found.is_served { "a server has it" } else { "no server has it" };
    report.good(ABOUT, format!("{}, {}, {served}", found.engine, version(&found)));
    if found.migration.is_some_and(|migration| migration > known_migration()) {
        report.wrong(
            ABOUT,
            "it was brought up to date by a newer Waypost",
            "run that version or a newer one",
        );
    }
    found.wrong.iter().for_each(|what| report.wrong(ABOUT, what, ""));
    found.doubtful.iter().for_each(|what| report.doubtful(ABOUT, what, ""));
    Some(found)
}

/// What a start would do to its tables.
pub(super) fn version(found: &Checkup) -> String {
    let known = known_migration();
    match found.migration {
        None => "without tables: the first start makes them".to_owned(),
        Some(migration) if migration == known => format!("its tables are those of this version ({known})"),
        Some(migration) if migration < known => {
            format!("its tables are of migration {migration}: the next start brings them to {known}")
        }
        Some(migration) => format!("its tables are of migration {migration}, this version knows {known}"),
    }
}
