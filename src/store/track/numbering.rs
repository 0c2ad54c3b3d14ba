//! The numbers of changes of master data: given by the writer between two commits, so that an edit does not wait for
//! the row of numbers and nobody who reads by number passes a change that is not committed yet.

use waypost_actors::model::Change;

use super::{Held, Track};
use crate::store::change_log;
use crate::store::sql::Result;

impl Track {
    /// Numbers the changes that wait; `None` when this writer is not the one any more.
    pub(super) async fn number_waiting(&self) -> Result<Option<Vec<Change>>> {
        let Some(Held { mut tx, .. }) = self.hold_commits().await? else { return Ok(None) };
        let waiting = change_log::waiting(tx.on()).await?;
        if waiting.is_empty() {
            return tx.rollback().await.map(|()| Some(Vec::new()));
        }
        let take = "update writer set next_sequence = next_sequence + $1 where name = 'main' \
            returning next_sequence - $1";
        let first: i64 = tx.on().sql(take).bind(waiting.len() as i64).scalar().await?;
        let numbered = change_log::number(tx.on(), &waiting, first).await?;
        tx.commit().await?;
        Ok(Some(numbered))
    }
}
