//! A store with a fleet in it, and the servers that are started on it, one after the other.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use serde_json::json;
use tempfile::TempDir;
use waypost::store::open::Location;
use waypost_test_support::PrivatePostgres;

use super::copies::copy_vehicles;
use super::database::{ask_database, checkpoint};
use super::reads::report;
use crate::systems::{History, Packing, Ready, Store, Waypost, WaypostOptions, ask};
use crate::wire::http;
use crate::world::World;

/// Vehicles that the product makes. Of a larger fleet the others are copies, made by SQL.
pub(super) const MADE: u32 = 1_000;

/// The store.
pub(super) struct Site {
    directory: TempDir,
    options: WaypostOptions,
    begin_millis: i64,
    postgres: Option<Arc<PrivatePostgres>>,
}

/// What a start took, in seconds.
pub(super) struct Start {
    pub(super) ready: f64,
    pub(super) acknowledged: f64,
}

impl Site {
    /// Has the product make vehicles and let them drive, and copies the other vehicles; `None` where the store is not installed.
    pub(super) fn make(store: Store, world: &World, history: History) -> Result<Option<Self>> {
        if store == Store::Null {
            bail!("a store that keeps nothing has no size");
        }
        let directory = tempfile::tempdir()?;
        let first = World { vehicles: world.vehicles.min(MADE), ..world.clone() };
        let packing = Packing::Fleet { connections: 1, fixes: 500 };
        let started = WaypostOptions {
            data_dir: Some(directory.path().to_owned()),
            history,
            with_metrics: true,
            ..WaypostOptions::new(&first, store, packing)
        };
        let Some(waypost) = Waypost::start(started)? else { return Ok(None) };
        let Waypost { options, child, begin_millis, postgres } = waypost;
        drop(child);
        let options = WaypostOptions { world: world.clone(), ..options };
        let site = Self { directory, options, begin_millis, postgres };
        if world.vehicles > MADE {
            ask_database(&site.location(), async |db| {
                copy_vehicles(db, site.directory.path(), world.vehicles).await
            })?;
        }
        // What is logged from here on is not of the making.
        ask_database(&site.location(), checkpoint)?;
        Ok(Some(site))
    }

    pub(super) fn location(&self) -> Location {
        match &self.postgres {
            Some(postgres) => Location::Postgres(postgres.url("postgres")),
            None => Location::Embedded(self.directory.path().to_owned()),
        }
    }

    pub(super) fn start(&self) -> Result<Waypost> {
        Waypost::start_on(self.options.clone(), self.postgres.clone(), self.begin_millis)
    }

    /// Starts a server that has stored all states by the time it is ready.
    pub(super) fn start_saving(&self) -> Result<Waypost> {
        let options = WaypostOptions { save_states: true, ..self.options.clone() };
        Waypost::start_on(options, self.postgres.clone(), self.begin_millis)
    }

    /// Kills a server, and times the next one up to its first acknowledged fix.
    pub(super) fn restart(&self, waypost: Waypost) -> Result<(Waypost, Start)> {
        waypost.child.kill();
        let killed = Instant::now();
        let waypost = self.start()?;
        let ready = killed.elapsed().as_secs_f64();
        let fix = json!({
            "latitude": 32.0, "longitude": 10.0, "recordedAt": waypost_actors::clock::now().to_string(),
        });
        // Of the last one that the product made: no other knows its token.
        let token = waypost.child.ready.trackers.last().context("no tracker")?;
        report(&waypost.child.ready, token, &[fix])?;
        Ok((waypost, Start { ready, acknowledged: killed.elapsed().as_secs_f64() }))
    }
}

/// How many commits a server has made since it started, by its metrics.
pub(super) fn commits(ready: &Ready) -> Result<u64> {
    let (_, page) = ask(&ready.metrics, &http::get(&ready.metrics, "/metrics"))?;
    commits_of(&String::from_utf8_lossy(&page)).context("the metrics count no commits")
}

fn commits_of(page: &str) -> Option<u64> {
    page.lines().find_map(|line| line.strip_prefix("waypost_commit_rows_count "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_are_counted_by_the_histogram_of_their_rows() {
        let page = "# TYPE waypost_commit_rows histogram\nwaypost_commit_rows_sum 600\nwaypost_commit_rows_count 10\n\
            waypost_commit_rows_bucket{le=\"1\"} 0\n";
        assert_eq!(commits_of(page), Some(10));
    }
}
