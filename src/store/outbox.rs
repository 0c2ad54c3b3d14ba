//! Letters that wait to be written and sent. They are put here in the transaction that causes them.
//!
//! A row never holds the token of its link: the post makes one when it writes the letter.

use sqlx::types::Json;
use uuid::Uuid;

use super::account;
use super::one_time_token::Purpose;
use super::sql::{Db, On, Result, Tx};
use super::time::Time;
use crate::clock;
use crate::domain::account::email_key;
pub use crate::domain::link::{LetterKind, Notice};
use crate::domain::organization_settings::Settings;

/// A letter with a link, to a recipient we know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingMail {
    /// The purpose of its link.
    pub purpose: Purpose,
    /// The person or thing the link is about.
    pub subject_id: Uuid,
    /// The address.
    pub recipient: String,
    /// How the letter addresses its reader; empty = no name.
    pub greeting: String,
    /// What it is about: an organization's name.
    pub about: Option<String>,
}

/// A letter in the outbox.
#[derive(Clone, Debug, sqlx::FromRow)]
pub struct Waiting {
    /// The letter.
    pub id: Uuid,
    /// Its kind.
    #[sqlx(try_from = "String")]
    pub letter: LetterKind,
    /// The person or thing it is about; `None` for a letter requested by an address that is not resolved yet.
    pub subject_id: Option<Uuid>,
    /// The address.
    pub recipient: String,
    /// How the letter addresses its reader.
    pub greeting: String,
    /// What it is about.
    pub about: Option<String>,
    /// Attempts so far.
    pub attempts: i64,
    /// When it was put into the outbox.
    pub created_at: Time,
}

/// Puts a letter with a link into the outbox, in the transaction that causes it. After the commit, wake the post.
pub async fn put(tx: &mut Tx, mail: &OutgoingMail, now: Time) -> Result<()> {
    let OutgoingMail { purpose, subject_id, recipient, greeting, about } = mail;
    put_letter(tx, purpose.as_str(), *subject_id, recipient, greeting, about.as_deref(), now).await
}

/// Puts a letter without a link into the outbox, in the transaction that causes it. After the commit, wake the post.
/// The letter is given by its recipient, its greeting and what it is about.
pub async fn put_notice(
    tx: &mut Tx,
    notice: Notice,
    subject_id: Uuid,
    (recipient, greeting, about): (&str, &str, &str),
    now: Time,
) -> Result<()> {
    put_letter(tx, notice.as_str(), subject_id, recipient, greeting, Some(about), now).await
}

async fn put_letter(
    tx: &mut Tx,
    letter: &str,
    subject_id: Uuid,
    recipient: &str,
    greeting: &str,
    about: Option<&str>,
    now: Time,
) -> Result<()> {
    tx.on()
        .sql(
            "insert into mail_outbox (id, letter, subject_id, recipient, greeting, about, created_at, due_at, attempts) \
             values ($1, $2, $3, $4, $5, $6, $7, $7, 0)",
        )
        .bind(clock::new_id())
        .bind(letter)
        .bind(subject_id)
        .bind(recipient)
        .bind(greeting)
        .bind(about)
        .bind(now)
        .run()
        .await?;
    Ok(())
}

/// Withdraws the waiting letters of a purpose about a subject, because their cause is gone.
pub async fn withdraw(tx: &mut Tx, purpose: Purpose, subject: Uuid) -> Result<()> {
    tx.on()
        .sql("delete from mail_outbox where letter = $1 and subject_id = $2 and given_up_at is null")
        .bind(purpose.as_str())
        .bind(subject)
        .run()
        .await?;
    Ok(())
}

/// Requests a letter by address. This takes the same work whether the address is known or not, because the post
/// resolves it later. While such a request waits, another one adds nothing.
pub async fn ask(db: &Db, purpose: Purpose, address: &str, now: Time) -> Result<()> {
    db.write()
        .sql(
            "insert into mail_outbox (id, letter, recipient, greeting, created_at, due_at, attempts) \
             select $1, $2, $3, '', $4, $4, 0 where not exists (select 1 from mail_outbox \
             where letter = $2 and recipient = $3 and subject_id is null and given_up_at is null)",
        )
        .bind(clock::new_id())
        .bind(purpose.as_str())
        .bind(email_key(address))
        .bind(now)
        .run()
        .await?;
    Ok(())
}

/// The letters that are due, oldest first.
pub async fn due(db: &Db, now: Time, most: i64) -> Result<Vec<Waiting>> {
    db.read()
        .sql(
            "select id, letter, subject_id, recipient, greeting, about, attempts, created_at from mail_outbox \
             where given_up_at is null and due_at <= $1 order by due_at, id limit $2",
        )
        .bind(now)
        .bind(most)
        .all()
        .await
}

/// Takes a letter for an attempt now; it is due again at `due_again_at` in case the attempt is never heard of again.
/// Returns `false` if another attempt took it first.
pub async fn take(tx: &mut Tx, waiting: &Waiting, due_again_at: Time) -> Result<bool> {
    let taken = tx
        .on()
        .sql(
            "update mail_outbox set attempts = attempts + 1, due_at = $3 \
             where id = $1 and attempts = $2 and given_up_at is null",
        )
        .bind(waiting.id)
        .bind(waiting.attempts)
        .bind(due_again_at)
        .run()
        .await?;
    Ok(taken > 0)
}

/// Postpones a letter after its first take, which then does not count as an attempt.
pub async fn postpone(tx: &mut Tx, id: Uuid, due_at: Time) -> Result<()> {
    tx.on()
        .sql("update mail_outbox set attempts = 0, due_at = $2 where id = $1")
        .bind(id)
        .bind(due_at)
        .run()
        .await?;
    Ok(())
}

/// Fills in the recipient of a letter that was requested by address.
pub async fn address(tx: &mut Tx, id: Uuid, mail: &OutgoingMail) -> Result<()> {
    tx.on()
        .sql(
            "update mail_outbox set subject_id = $2, recipient = $3, greeting = $4, about = $5 where id = $1",
        )
        .bind(id)
        .bind(mail.subject_id)
        .bind(&mail.recipient)
        .bind(&mail.greeting)
        .bind(mail.about.clone())
        .run()
        .await?;
    Ok(())
}

/// Deletes a letter that was sent or has no reason to be sent.
pub async fn forget(on: On<'_>, id: Uuid) -> Result<()> {
    on.sql("delete from mail_outbox where id = $1").bind(id).run().await?;
    Ok(())
}

/// Gives up on a letter and records the reason.
pub async fn give_up(on: On<'_>, id: Uuid, failure: &str, now: Time) -> Result<()> {
    on.sql("update mail_outbox set given_up_at = $2, failure = $3 where id = $1")
        .bind(id)
        .bind(now)
        .bind(failure)
        .run()
        .await?;
    Ok(())
}

/// Deletes letters that were given up before an instant.
pub async fn forget_given_up(db: &Db, before: Time) -> Result<()> {
    db.write().sql("delete from mail_outbox where given_up_at < $1").bind(before).run().await?;
    Ok(())
}

/// How many letters wait, and how many were given up.
pub async fn counts(on: On<'_>) -> Result<(i64, i64)> {
    on.sql("select count(*) - count(given_up_at), count(given_up_at) from mail_outbox").one().await
}

/// The time zone of the subject of a letter with a link: their own, else their organization's.
pub async fn timezone(tx: &mut Tx, purpose: Purpose, subject_id: Uuid) -> Result<Option<String>> {
    let settings = match purpose {
        Purpose::ActivateOrganization => "select settings from organization where id = $1",
        Purpose::VerifySystemUser | Purpose::ResetSystemPassword => {
            "select o.settings from system_user s join organization o on o.id = s.organization_id where s.id = $1"
        }
        Purpose::Invite
        | Purpose::ResetPassword
        | Purpose::ConfirmAddress
        | Purpose::Setup
        | Purpose::SignIn => {
            if let Some(own) = account::find(tx.on(), subject_id).await?.and_then(|account| account.timezone)
            {
                return Ok(Some(own));
            }
            "select o.settings from account a join organization o on o.id = a.organization_id where a.id = $1"
        }
    };
    let found: Option<(Json<Settings>,)> = tx.on().sql(settings).bind(subject_id).optional().await?;
    Ok(found.map(|(settings,)| settings.0.timezone))
}
