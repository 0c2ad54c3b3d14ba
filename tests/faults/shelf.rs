//! The contents of a store, read without going through the server.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use uuid::Uuid;
use waypost::store::open::{Location, Options, for_writer, open};
use waypost::store::sql::{Db, Engine, SqlError};
use waypost::store::track::Track;
use waypost_actors::ports::RecordLog;
use waypost_actors::tracking::RecordView;
use waypost_actors::watch::Audience;
use waypost_test_support::{eventually, stored_positions};

use crate::ground::DEADLINE;
use crate::ledger::{FeedRecord, FixKey, Stored};

/// A store, opened for reading.
pub(crate) struct Shelf {
    pub(crate) db: Db,
}

impl Shelf {
    /// Opens it, as soon as it can be.
    pub(crate) async fn open(location: &Location) -> Self {
        let options = options(location);
        Self { db: eventually(DEADLINE, || open(&options)).await }
    }

    /// Ends the session of a node, by its address for others.
    pub(crate) async fn cut(&self, node: &str) {
        let text =
            "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = $1";
        let session = format!("waypost {node}");
        eventually(DEADLINE, || self.db.read().sql(text).bind(session.clone()).scalar::<i64>()).await;
    }

    pub(crate) async fn close(self) {
        self.db.close().await;
    }

    /// The number of the newest record.
    pub(crate) async fn newest_record(&self) -> i64 {
        eventually(DEADLINE, || self.number("select coalesce(max(sequence), 0) from records")).await
    }

    /// The numbers of the records of what happened at geofences, by id and revision.
    pub(crate) async fn at_geofences(&self) -> BTreeMap<(String, i64), i64> {
        let text = "select id, revision, sequence from records where kind in ('entry', 'exit', 'dwell')";
        let read = || async { self.db.read().sql(text).all::<(Uuid, i64, i64)>().await };
        let records = eventually(DEADLINE, read).await;
        records.into_iter().map(|(id, revision, number)| ((id.to_string(), revision), number)).collect()
    }

    /// Brokers to which events are published: each from its first connection on.
    pub(crate) async fn publishers(&self) -> i64 {
        eventually(DEADLINE, || self.number("select count(*) from mqtt_cursor")).await
    }

    /// Whether no vehicle awaits a correction.
    pub(crate) async fn has_no_dirty(&self) -> bool {
        let dirty = self.number("select count(*) from vehicle_state where dirty_from is not null");
        dirty.await.is_ok_and(|dirty| dirty == 0)
    }

    /// Whether nothing is left of what is to be deleted with all that was recorded.
    pub(crate) async fn has_nothing_to_purge(&self) -> bool {
        let left = "select count(*) from vehicle where purge_asked_at is not null and purged_at is null";
        self.number(left).await.is_ok_and(|left| left == 0)
    }

    /// Waits until these fixes are stored.
    pub(crate) async fn has_all(&self, fixes: &HashSet<FixKey>) {
        let missing = async || {
            let stored = self.keys().await;
            fixes.iter().find(|fix| !stored.fixes.contains_key(fix)).map_or(Ok(()), Err)
        };
        eventually(DEADLINE, missing).await;
    }

    /// How often records of these vehicles were numbered, once nothing of them is open or to be put right.
    pub(crate) async fn numbers_at_rest(&self, vehicles: &[Uuid]) -> i64 {
        let mut sum = 0;
        for vehicle in vehicles {
            let text = "select (select count(*) from visit where vehicle_id = $1 and exited_at is null) \
                + (select count(*) from vehicle_state where vehicle_id = $1 and dirty_from is not null), \
                (select cast(coalesce(sum(revision), 0) as bigint) from records where vehicle_id = $1)";
            let look = async || match self.db.read().sql(text).bind(*vehicle).one::<(i64, i64)>().await {
                Ok((0, numbers)) => Ok(numbers),
                other => Err(other),
            };
            sum += eventually(DEADLINE, look).await;
        }
        sum
    }

    async fn number(&self, text: &'static str) -> Result<i64, SqlError> {
        self.db.read().sql(text).scalar().await
    }

    /// The fixes and the revisions of records that are stored. Records first: what an ack promised before this call
    /// is there in any order.
    pub(crate) async fn keys(&self) -> Stored {
        // A change is numbered together with the next number, so both are read at once.
        let numbers = || async {
            // In a cluster, each shard counts in a range of its own, above what a single server gave.
            let text = "select (select case when count(*) = 1 then max(next_sequence) \
                else cast(1 + sum(case when name = 'main' then 0 else next_sequence % 1099511627776 end) as bigint) \
                + (select greatest(coalesce((select max(sequence) from records where sequence < 17592186044416), 0), \
                coalesce((select max(sequence) from change where sequence < 17592186044416), 0))) end from writer), \
                (select count(sequence) from change)";
            let text = match self.db.engine() {
                Engine::Postgres => text,
                Engine::Sqlite => "select next_sequence, (select count(sequence) from change) from writer",
            };
            self.db.read().sql(text).one::<(i64, i64)>().await
        };
        let (next_sequence, numbered_changes) = eventually(DEADLINE, numbers).await;
        let mut stored = Stored { next_sequence, numbered_changes, ..Stored::default() };
        let records = || async {
            let text = "select id, revision, sequence from records";
            self.db.read().sql(text).all::<(Uuid, i64, i64)>().await
        };
        let records = eventually(DEADLINE, records).await;
        stored.numbers.extend(records.into_iter().map(|(id, revision, sequence)| (id, (revision, sequence))));
        for (vehicle, fix) in eventually(DEADLINE, || stored_positions(&self.db)).await {
            let key = FixKey::new(vehicle.0, fix.recorded_at.as_millis(), fix.latitude, fix.longitude);
            *stored.fixes.entry(key).or_default() += 1;
        }
        stored
    }
}

/// Reads everything once the server is gone: takes its place as the writer.
pub(crate) async fn read_whole(location: &Location) -> Stored {
    let shelf = Shelf::open(location).await;
    let mut stored = shelf.keys().await;
    let writer = for_writer(&shelf.db, &options(location)).unwrap();
    let track = Track::take_over(shelf.db.clone(), writer.clone()).await.unwrap();
    let records = track.records_from(Audience::Everyone, 0, i64::MAX).await.unwrap();
    for record in &records {
        let told = FeedRecord::read(&serde_json::to_value(RecordView::from(record)).unwrap());
        stored.records.insert(told.id, told);
    }
    writer.close().await;
    shelf.close().await;
    stored
}

fn options(location: &Location) -> Options {
    // A busy machine may take its time to read a whole store.
    Options { statement_timeout: Duration::from_secs(60), connections: 2, ..Options::new(location.clone()) }
}
