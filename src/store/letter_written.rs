//! Letters written to each address, kept for a day so that they can be counted.

use uuid::Uuid;

use super::sql::{Db, On, Result};
use super::time::Time;
use crate::domain::account::email_key;
use crate::domain::link::LetterKind;

/// How many letters of some kinds were written to an address since an instant, and when the first of them was.
pub async fn since(
    on: On<'_>,
    recipient: &str,
    letters: &[&'static str],
    since: Time,
) -> Result<(i64, Option<Time>)> {
    let stmt = on
        .sql("select count(*), min(written_at) from letter_written where recipient_key = ")
        .push_bind(email_key(recipient))
        .push(" and written_at > ")
        .push_bind(since)
        .push(" and letter in (");
    stmt.push_each(letters, |stmt, letter| stmt.push_bind(*letter)).push(")").one().await
}

/// Records that a letter was written.
pub async fn insert(on: On<'_>, id: Uuid, recipient: &str, letter: LetterKind, now: Time) -> Result<()> {
    on.sql("insert into letter_written (id, recipient_key, letter, written_at) values ($1, $2, $3, $4)")
        .bind(id)
        .bind(email_key(recipient))
        .bind(letter.as_str())
        .bind(now)
        .run()
        .await?;
    Ok(())
}

/// Deletes records of letters written before an instant.
pub async fn forget(db: &Db, before: Time) -> Result<()> {
    db.write().sql("delete from letter_written where written_at < $1").bind(before).run().await?;
    Ok(())
}
