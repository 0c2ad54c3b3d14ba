//! The numbers that commits begin with. On PostgreSQL the row of numbers of each shard is locked, and stays so to the end; a transaction
//! of SQLite is alone anyway.

use std::collections::HashMap;

use crate::store::shard::Shard;
use crate::store::sql::{Connection, Engine, Result, Tx};

/// The writer of a shard in an epoch; one before it may still be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ShardEpoch {
    pub(super) shard: Shard,
    pub(super) epoch: i64,
}

/// A batch that wants numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Claim {
    /// Whose it is.
    pub(super) of: ShardEpoch,
    /// How many new records it should make.
    pub(super) records: i64,
    /// Whether it has a row of the fix log.
    pub(super) is_logged: bool,
}

/// What a batch begins with.
#[derive(Debug, sqlx::FromRow)]
pub(super) struct ReservedNumbers {
    /// The number of its first record.
    pub(super) first: i64,
    /// Its own.
    pub(super) number: i64,
    /// Whether any driver assignment exists.
    pub(super) anybody_drove: bool,
    /// Whether any vehicle has a dirty mark.
    pub(super) anybody_is_dirty: bool,
}

/// Whether there is anything that most commits need not ask for.
macro_rules! anybody {
    () => {
        "exists (select 1 from assignment) as anybody_drove, (select min(dirty_from) from vehicle_state \
         where dirty_from is not null) is not null as anybody_is_dirty"
    };
}

/// The newest commit's number: what the row of numbers says, or a later row of the log. `$greater`: the engine's function of two numbers.
macro_rules! newest {
    ($greater:literal, $of_shard:literal) => {
        concat!($greater, "(log_number, (select coalesce(max(number), 0) from fix_log", $of_shard, "))")
    };
}

/// Makes whoever asks the writer (`$1`) of a shard (`$2`), in a new epoch. A store that was moved here from a file may have a log that
/// is newer than its row.
pub(super) const fn take_over(engine: Engine) -> &'static str {
    macro_rules! take {
        ($greater:literal) => {
            concat!(
                "update writer set epoch = epoch + 1, log_number = ",
                newest!($greater, " where shard = $2"),
                " where name = $1 returning epoch"
            )
        };
    }
    match engine {
        Engine::Postgres => take!("greatest"),
        Engine::Sqlite => take!("max"),
    }
}

/// The numbers as they stand, if this is the writer (`$1`, in the epoch `$2`). Touches the row, so that it waits for a transaction that
/// may still be on its way, and the fix log may be cut.
pub(super) const fn touch(engine: Engine) -> &'static str {
    match engine {
        Engine::Postgres => {
            "update writer set epoch = epoch where name = $1 and epoch = $2 returning next_sequence, log_number"
        }
        Engine::Sqlite => concat!(
            "update writer set log_number = ",
            newest!("max", ""),
            " where name = $1 and epoch = $2 returning next_sequence, log_number"
        ),
    }
}

/// Takes the numbers of one batch; `None` if another is the writer now.
///
/// On SQLite a batch without records that is logged leaves the row as it is: the log tells its number, and each changed page is
/// written whole.
pub(super) async fn reserve(tx: &mut Tx, claim: Claim) -> Result<Option<ReservedNumbers>> {
    const TAKE: &str = concat!(
        "update writer set next_sequence = next_sequence + $1, log_number = log_number + 1 \
         where name = $3 and epoch = $2 returning next_sequence - $1 as first, log_number as number, ",
        anybody!()
    );
    const TAKE_IN_FILE: &str = concat!(
        "update writer set next_sequence = next_sequence + $1, log_number = 1 + ",
        newest!("max", ""),
        " where name = $3 and epoch = $2 returning next_sequence - $1 as first, log_number as number, ",
        anybody!()
    );
    const LOGGED_IN_FILE: &str = concat!(
        "select next_sequence - $1 as first, 1 + ",
        newest!("max", ""),
        " as number, ",
        anybody!(),
        " from writer where name = $3 and epoch = $2"
    );
    let take = match tx.connection() {
        Connection::Postgres(_) => TAKE,
        Connection::Sqlite(_) if claim.is_logged && claim.records == 0 => LOGGED_IN_FILE,
        Connection::Sqlite(_) => TAKE_IN_FILE,
    };
    tx.on().sql(take).bind(claim.records).bind(claim.of.epoch).bind(claim.of.shard.writer()).optional().await
}

/// Takes the numbers of batches of several shards, by one statement, on PostgreSQL; those of which another is the writer now get
/// none. The rows are locked in the order of their names, so that two who do this never wait for each other.
pub(super) async fn reserve_all(
    tx: &mut Tx,
    claims: &[Claim],
) -> Result<HashMap<ShardEpoch, ReservedNumbers>> {
    const TAKE: &str = concat!(
        "with held as (select w.name, t.records from writer w \
         join unnest($1::text[], $2::bigint[], $3::bigint[]) as t (name, epoch, records) \
         on w.name = t.name and w.epoch = t.epoch order by w.name for no key update of w) \
         update writer w set next_sequence = w.next_sequence + held.records, log_number = w.log_number + 1 \
         from held where w.name = held.name \
         returning w.name, w.epoch, w.next_sequence - held.records as first, w.log_number as number, ",
        anybody!()
    );
    #[derive(sqlx::FromRow)]
    struct Named {
        name: String,
        epoch: i64,
        #[sqlx(flatten)]
        reserved: ReservedNumbers,
    }
    let Connection::Postgres(connection) = tx.connection() else {
        return Err(sqlx::Error::Configuration("several shards are on PostgreSQL".into()));
    };
    let names: Vec<&str> = claims.iter().map(|claim| claim.of.shard.writer()).collect();
    let epochs: Vec<i64> = claims.iter().map(|claim| claim.of.epoch).collect();
    let records: Vec<i64> = claims.iter().map(|claim| claim.records).collect();
    let query = sqlx::query_as(TAKE).bind(names).bind(epochs).bind(records);
    let taken: Vec<Named> = query.fetch_all(connection).await?;
    let mut taken: HashMap<(String, i64), ReservedNumbers> =
        taken.into_iter().map(|Named { name, epoch, reserved }| ((name, epoch), reserved)).collect();
    let of = |Claim { of, .. }: &Claim| Some((*of, taken.remove(&(of.shard.writer().to_owned(), of.epoch))?));
    Ok(claims.iter().filter_map(of).collect())
}
