//! Rows made durable as cheaply as a database takes them: gathered for as long as the server gathers them, written
//! in one transaction, and only then acknowledged. The table has the columns and the key of the product's.

use std::cell::{Cell, RefCell};
use std::path::Path;

use anyhow::{Context as _, Result};
use sqlx::postgres::PgConnection;
use sqlx::sqlite::{
    SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous,
};
use sqlx::{Arguments as _, AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _};
use tokio::sync::{Notify, watch};
use uuid::Uuid;
use waypost::config::Settings;

use super::rows::{COLUMNS, Row, copy_text};

/// This many rows are committed without waiting for the window to end, as in the server.
const MOST_WAITING: usize = 2_000;
/// Rows of one statement of SQLite.
const TOGETHER: [usize; 5] = [256, 64, 16, 4, 1];

/// Where rows are kept.
pub(super) enum Base {
    /// By binary `copy`.
    Postgres(PgConnection),
    /// By inserts of many rows.
    Sqlite(SqliteConnection),
}

/// Rows that wait for their commit.
pub(super) struct Keeper {
    waiting: RefCell<Vec<Row>>,
    /// Rows that came, ever.
    came: Cell<u64>,
    /// Rows that are durable.
    kept: watch::Sender<u64>,
    some: Notify,
    many: Notify,
}

impl Keeper {
    pub(super) fn new() -> Self {
        Self {
            waiting: RefCell::default(),
            came: Cell::new(0),
            kept: watch::Sender::new(0),
            some: Notify::new(),
            many: Notify::new(),
        }
    }

    /// Takes rows; they are durable once [`Self::kept`] returns for the number returned here.
    pub(super) fn take(&self, rows: &mut Vec<Row>) -> u64 {
        self.came.set(self.came.get() + rows.len() as u64);
        let mut waiting = self.waiting.borrow_mut();
        waiting.append(rows);
        self.some.notify_one();
        if waiting.len() >= MOST_WAITING {
            self.many.notify_one();
        }
        self.came.get()
    }

    /// Waits until `count` rows are durable.
    pub(super) async fn kept(&self, count: u64) {
        self.kept.subscribe().wait_for(|kept| *kept >= count).await.ok();
    }

    /// Commits what comes, until an error.
    pub(super) async fn keep(&self, mut base: Base) -> Result<()> {
        let window = Settings::default().batch_interval;
        loop {
            self.some.notified().await;
            if self.waiting.borrow().len() < MOST_WAITING {
                tokio::time::timeout(window, self.many.notified()).await.ok();
            }
            let rows = self.waiting.take();
            base.write(&rows).await?;
            self.kept.send_modify(|kept| *kept += rows.len() as u64);
        }
    }
}

impl Base {
    pub(super) async fn postgres(url: &str) -> Result<Self> {
        let mut to = PgConnection::connect(url).await.context("the floor's PostgreSQL")?;
        to.execute(
            "create table position (vehicle_id uuid not null, recorded_at timestamptz not null, \
            latitude float8 not null, longitude float8 not null, received_at timestamptz not null, \
            speed_kmh float8, heading_degrees float8, altitude_meters float8, accuracy_meters float8, \
            odometer_km float8, ignition boolean, fuel_percent float8, fuel_liters float8, fuel_raw float8, \
            quarantine text, fuel_cumulative float8, \
            primary key (vehicle_id, recorded_at, latitude, longitude))",
        )
        .await?;
        Ok(Self::Postgres(to))
    }

    pub(super) async fn sqlite(folder: &Path) -> Result<Self> {
        let options = SqliteConnectOptions::new()
            .filename(folder.join("floor.sqlite"))
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .pragma("cache_size", "-65536")
            .pragma("wal_autocheckpoint", "8192");
        let mut to = options.connect().await.context("the floor's SQLite")?;
        to.execute(
            "create table position (vehicle_id blob not null, recorded_at integer not null, \
            latitude real not null, longitude real not null, received_at integer not null, speed_kmh real, \
            heading_degrees real, altitude_meters real, accuracy_meters real, odometer_km real, \
            ignition integer, fuel_percent real, fuel_liters real, fuel_raw real, quarantine text, \
            fuel_cumulative real, primary key (vehicle_id, recorded_at, latitude, longitude)) \
            strict, without rowid",
        )
        .await?;
        Ok(Self::Sqlite(to))
    }

    /// One transaction.
    async fn write(&mut self, rows: &[Row]) -> Result<()> {
        match self {
            Self::Postgres(to) => {
                let text = format!("copy position ({COLUMNS}) from stdin (format binary)");
                let mut copying = to.copy_in_raw(&text).await?;
                copying.send(copy_text(rows)).await?;
                copying.finish().await?;
            }
            Self::Sqlite(to) => {
                to.execute("begin immediate").await?;
                let mut rest = rows;
                for size in TOGETHER {
                    while let Some((some, others)) = rest.split_at_checked(size) {
                        insert(to, some).await?;
                        rest = others;
                    }
                }
                to.execute("commit").await?;
            }
        }
        Ok(())
    }
}

async fn insert(to: &mut SqliteConnection, rows: &[Row]) -> Result<()> {
    let mut values = SqliteArguments::default();
    for row in rows {
        let added = [
            values.add(Uuid::from_u128(row.vehicle_id())),
            values.add(row.recorded_at_micros),
            values.add(row.latitude),
            values.add(row.longitude),
            values.add(row.received_at_micros),
            values.add(row.speed_kmh),
            values.add(row.heading_degrees),
        ];
        added.into_iter().collect::<Result<(), _>>().map_err(sqlx::Error::Encode)?;
    }
    let marks = vec!["(?, ?, ?, ?, ?, ?, ?)"; rows.len()].join(", ");
    let text = format!("insert or fail into position ({COLUMNS}) values {marks}");
    sqlx::query_with(AssertSqlSafe(text), values).execute(to).await?;
    Ok(())
}
