//! What a store's database says of itself, asked beside the server: bytes of its tables, and what goes into its log. Knows no
//! workload.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use waypost::store::open::{Location, Options as StoreOptions, embedded_file, open};
use waypost::store::sql::{Db, Engine};

/// Copying millions of rows is one statement.
const STATEMENT_WITHIN: Duration = Duration::from_secs(3_600);
/// Between two looks at how far SQLite's log is; commits are farther apart.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// A page of SQLite and the head of its frame in the log.
const FRAME_BYTES: u64 = 4_096 + 24;

/// Asks a store's database, over connections that are open no longer than that.
pub(super) fn ask_database<T>(location: &Location, ask: impl AsyncFnOnce(&Db) -> Result<T>) -> Result<T> {
    actix_rt::System::new().block_on(async {
        let options =
            StoreOptions { statement_timeout: STATEMENT_WITHIN, ..StoreOptions::new(location.clone()) };
        let db = open(&options).await?;
        let answer = ask(&db).await;
        db.close().await;
        answer
    })
}

/// Bytes of a table and of its indexes. SQLite keeps a table without rowid in its key, which counts as the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) table: u64,
    pub(super) indexes: u64,
}

impl Size {
    pub(super) const fn whole(self) -> u64 {
        self.table + self.indexes
    }

    /// What it has grown by.
    pub(super) const fn since(self, before: Self) -> Self {
        Self {
            table: self.table.saturating_sub(before.table),
            indexes: self.indexes.saturating_sub(before.indexes),
        }
    }
}

/// The size of every table, partitions together.
pub(super) async fn sizes(db: &Db) -> Result<BTreeMap<String, Size>> {
    let text = match db.engine() {
        Engine::Postgres => {
            "select cast(coalesce(p.relname, c.relname) as text), cast(sum(pg_table_size(c.oid)) as bigint), \
             cast(sum(pg_indexes_size(c.oid)) as bigint) from pg_class c \
             join pg_namespace n on n.oid = c.relnamespace left join pg_inherits i on i.inhrelid = c.oid \
             left join pg_class p on p.oid = i.inhparent \
             where c.relkind = 'r' and n.nspname = current_schema() group by 1"
        }
        Engine::Sqlite => {
            "select m.tbl_name, sum(case m.type when 'table' then d.pgsize else 0 end), \
             sum(case m.type when 'index' then d.pgsize else 0 end) \
             from dbstat d join sqlite_schema m on m.name = d.name where d.aggregate = true group by 1"
        }
    };
    let rows: Vec<(String, i64, i64)> = db.read().sql(text).all().await?;
    let size = |(name, table, indexes): (String, i64, i64)| {
        (name, Size { table: table.unsigned_abs(), indexes: indexes.unsigned_abs() })
    };
    Ok(rows.into_iter().map(size).collect())
}

/// Writes what is only in the log to where it belongs. SQLite's log begins again after that.
pub(super) async fn checkpoint(db: &Db) -> Result<()> {
    match db.engine() {
        Engine::Postgres => db.write().sql("checkpoint").run().await?,
        Engine::Sqlite => db.write().sql("pragma wal_checkpoint(passive)").run().await?,
    };
    Ok(())
}

/// What goes into a database's log from now on.
pub(super) enum Logged {
    /// Where PostgreSQL's log was.
    Postgres(Location, u64),
    /// Frames that are appended to SQLite's.
    Sqlite(Watched),
}

impl Logged {
    pub(super) fn begin(location: &Location) -> Result<Self> {
        Ok(match location {
            Location::Postgres(_) => Self::Postgres(location.clone(), log_position(location)?),
            Location::Embedded(directory) => Self::Sqlite(Watched::begin(directory)?),
        })
    }

    /// Bytes since then.
    pub(super) fn bytes(self) -> Result<u64> {
        match self {
            Self::Postgres(location, begun) => Ok(log_position(&location)? - begun),
            Self::Sqlite(watched) => Ok(watched.frames()? * FRAME_BYTES),
        }
    }
}

fn log_position(location: &Location) -> Result<u64> {
    let text = "select cast(pg_current_wal_lsn() - '0/0' as bigint)";
    ask_database(location, async |db| Ok(db.read().sql(text).scalar::<i64>().await?.unsigned_abs()))
}

/// A thread that follows SQLite's log.
pub(super) struct Watched {
    stop: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<Result<u64>>,
}

impl Watched {
    fn begin(directory: &Path) -> Result<Self> {
        let mut index = embedded_file(directory).into_os_string();
        index.push("-shm");
        let index = PathBuf::from(index);
        let mut frames = Frames::at(frames_in(&index)?);
        let stop = Arc::new(AtomicBool::new(false));
        let asked = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            loop {
                let is_last = asked.load(Ordering::Relaxed);
                frames.note(frames_in(&index)?);
                if is_last {
                    return Ok(frames.appended);
                }
                std::thread::sleep(LOOK_EVERY);
            }
        });
        Ok(Self { stop, thread })
    }

    fn frames(self) -> Result<u64> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| anyhow::anyhow!("the look at the log panicked"))?
    }
}

/// Frames in the log that are committed, out of the header of its index: the fifth number, in the machine's own byte order
/// (<https://www.sqlite.org/walformat.html>).
fn frames_in(index: &Path) -> Result<u64> {
    let mut header = [0; 20];
    std::fs::File::open(index)?.read_exact(&mut header).with_context(|| index.display().to_string())?;
    Ok(frames_of(header))
}

const fn frames_of(header: [u8; 20]) -> u64 {
    let [.., a, b, c, d] = header;
    u32::from_ne_bytes([a, b, c, d]) as u64
}

/// What was appended to a log that begins again now and then.
struct Frames {
    last: u64,
    appended: u64,
}

impl Frames {
    const fn at(last: u64) -> Self {
        Self { last, appended: 0 }
    }

    const fn note(&mut self, frames: u64) {
        self.appended += if frames < self.last { frames } else { frames - self.last };
        self.last = frames;
    }
}

/// Bytes that a process wrote to the disk; 0 in memory (`/tmp` may be).
pub(super) fn written_bytes(process: u32) -> Result<u64> {
    written_of(&std::fs::read_to_string(format!("/proc/{process}/io"))?).context("/proc has no write_bytes")
}

fn written_of(io: &str) -> Option<u64> {
    io.lines().find_map(|line| line.strip_prefix("write_bytes:"))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use waypost_test_support::PrivatePostgres;

    use super::*;

    #[test]
    fn frames_are_counted_over_a_log_that_begins_again() {
        let mut frames = Frames::at(100);
        [100, 130, 150, 20, 20, 25].into_iter().for_each(|seen| frames.note(seen));
        assert_eq!(frames.appended, 50 + 25);
    }

    #[test]
    fn frames_are_the_fifth_number_of_the_index() {
        let numbers: Vec<u8> =
            [3_007_000_u32, 0, 7, 1, 8_192].into_iter().flat_map(u32::to_ne_bytes).collect();
        assert_eq!(frames_of(numbers.try_into().unwrap()), 8_192);
    }

    #[test]
    fn what_was_written_is_not_what_was_cancelled() {
        let io = "rchar: 1\nwchar: 2\nread_bytes: 3\nwrite_bytes: 4096\ncancelled_write_bytes: 5\n";
        assert_eq!(written_of(io), Some(4_096));
    }

    #[test]
    fn both_engines_tell_their_tables_and_what_is_logged() {
        let directory = tempfile::tempdir().unwrap();
        let embedded = Location::Embedded(directory.path().to_owned());
        let sqlite = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000) \
            insert into grain select randomblob(32) from n";
        told(&embedded, "create table grain (bytes blob)", sqlite);
        // Where it is not installed, the bench skips it too.
        let Some(server) = PrivatePostgres::start(&[]).unwrap() else { return };
        let postgres = Location::Postgres(server.url("postgres"));
        let insert =
            "insert into grain select sha256(uuid_send(gen_random_uuid())) from generate_series(1, 5000)";
        told(&postgres, "create table grain (bytes bytea)", insert);
    }

    /// Inserts 5,000 rows of 32 bytes into a table with an index.
    fn told(location: &Location, create: &'static str, insert: &'static str) {
        let least = 5_000 * 32;
        ask_database(location, async |db| {
            db.write().sql(create).run().await?;
            db.write().sql("create index grain_idx on grain (bytes)").run().await?;
            checkpoint(db).await?;
            let size = async || Ok::<_, anyhow::Error>(sizes(db).await?["grain"]);
            let before = size().await?;
            let logged = beside(|| Logged::begin(location))?;
            db.write().sql(insert).run().await?;
            let bytes = beside(|| logged.bytes())?;
            assert!(bytes > 2 * least && bytes < 10 * least, "{bytes}");
            let grown = size().await?.since(before);
            assert!(grown.table > least && grown.indexes > least && grown.whole() < 5 * least, "{grown:?}");
            Ok(())
        })
        .unwrap();
    }

    /// On a thread that has no runtime yet.
    fn beside<T: Send>(what: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| scope.spawn(what).join().unwrap())
    }
}
