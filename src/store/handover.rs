//! From a single server to a cluster and back, for the server that has the store alone at that moment: what other writers applied is
//! stored, and numbers go on above theirs.

use super::shard::{Shard, after_layout, next_layout};
use super::sql::{Db, Engine, Result, Tx, Writer};
use super::track::Track;

/// For a single server: no node commits any more, and what the fix logs of shards tell is stored.
pub async fn to_single(db: &Db, writer: &Writer) -> Result<()> {
    if !fence(db, "update writer set epoch = epoch + 1 where name <> 'main'").await? {
        // There was never a cluster.
        return Ok(());
    }
    let logs: Vec<(i64,)> =
        db.read().sql("select distinct cast(shard as bigint) from fix_log where shard <> 0").all().await?;
    for shard in logs.iter().filter_map(|(number,)| Shard::numbered(*number)) {
        store_states(db, writer, shard).await?;
    }
    let mut tx = begin(db).await?;
    raise_log_numbers(&mut tx).await?;
    tx.commit().await
}

/// For the first node of a cluster: nobody of before commits any more, what the fix log of a single server tells is stored, and
/// each shard has a range of numbers above all that were given.
pub async fn to_cluster(db: &Db, writer: &Writer) -> Result<()> {
    fence(db, "update writer set epoch = epoch + 1").await?;
    let is_logged: bool =
        db.read().sql("select exists (select 1 from fix_log where shard = 0)").scalar().await?;
    if is_logged {
        store_states(db, writer, Shard::WHOLE).await?;
    }
    let mut tx = begin(db).await?;
    let next: i64 = tx.on().sql("select next_sequence from writer where name = 'main'").scalar().await?;
    if let Some(base) = next_layout(next) {
        for shard in Shard::all() {
            let put = "insert into writer (name, epoch, next_sequence, log_number) values ($1, 0, $2, 0) \
                on conflict (name) do update set next_sequence = excluded.next_sequence";
            tx.on().sql(put).bind(shard.writer()).bind(shard.first_number(base)).run().await?;
        }
        let put = "update writer set next_sequence = $1 where name = 'main'";
        tx.on().sql(put).bind(after_layout(base)).run().await?;
    }
    raise_log_numbers(&mut tx).await?;
    tx.commit().await
}

/// Begins a transaction that waits for edits which have seen the present epochs in force and are about to commit, and for commits that
/// take numbers.
async fn begin(db: &Db) -> Result<Tx> {
    let mut tx = db.begin().await?;
    if db.engine() == Engine::Postgres {
        tx.on().sql("select epoch from writer order by name").push(" for update").run().await?;
    }
    Ok(tx)
}

/// Raises epochs: a writer that lost its place unnoticed must neither add to a log behind its reader nor find a number raised
/// under it. Returns whether there was any.
async fn fence(db: &Db, raise: &'static str) -> Result<bool> {
    let mut tx = begin(db).await?;
    let raised = tx.on().sql(raise).run().await?;
    tx.commit().await?;
    Ok(raised > 0)
}

/// The row of a vehicle's state says by a number of which commit it is, and the next one may be another writer's.
async fn raise_log_numbers(tx: &mut Tx) -> Result<()> {
    let raise = "update writer set log_number = (select max(w.log_number) from writer w)";
    tx.on().sql(raise).run().await?;
    Ok(())
}

/// Applies a fix log again and stores what comes of it, which leaves the log empty.
async fn store_states(db: &Db, writer: &Writer, shard: Shard) -> Result<()> {
    let track = Track::take_over_shard(db.clone(), writer.clone(), shard).await?;
    track.read_seeds().await?;
    track.save_states().await
}
