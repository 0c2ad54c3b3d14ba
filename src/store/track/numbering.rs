//! The numbers of changes of master data: given by the writer between two commits, so that an edit does not wait for
//! the row of numbers and nobody who reads by number passes a change that is not committed yet.

use waypost_actors::model::Change;

use super::Track;
use crate::store::change_log;
use crate::store::sql::{Result, Tx};

impl Track {
    /// Numbers the changes that wait; `None` when this writer is not the one any more.
    pub(super) async fn number_waiting(&self) -> Result<Option<Vec<Change>>> {
        let Some(mut held) = self.hold_commits().await? else { return Ok(None) };
        let tx = held.tx();
        let waiting = change_log::waiting(tx).await?;
        if waiting.is_empty() {
            return held.rollback().await.map(|()| Some(Vec::new()));
        }
        let first = take_numbers(tx, waiting.len()).await?;
        let numbered = change_log::number(tx.on(), &waiting, first).await?;
        held.commit().await?;
        Ok(Some(numbered))
    }
}

/// Takes `many` numbers of the log, and returns the first of them.
pub(super) async fn take_numbers(tx: &mut Tx, many: usize) -> Result<i64> {
    let take = "update writer set next_sequence = next_sequence + $1 where name = $2 \
        returning next_sequence - $1";
    let writer = tx.shard().writer();
    tx.on().sql(take).bind(many as i64).bind(writer).scalar().await
}
