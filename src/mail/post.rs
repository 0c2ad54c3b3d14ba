//! The post: delivers the letters of the outbox, with retries, for as long as the server runs.
//!
//! A letter is taken in a transaction that makes its link and sets when it is due again, and only then handed over.
//! So a letter that was being sent when the server stopped is tried again: it is sent once, as far as SMTP can tell,
//! and never lost. All attempts have the same message id, and all their links work.

use std::time::Duration;

use futures_util::{StreamExt, stream};
use lettre::Message;
use lettre::message::header::{ContentType, HeaderName, HeaderValue};
use tokio::sync::{Mutex, Notify, watch};
use tokio::time::{sleep, timeout};
use uuid::Uuid;
use waypost_actors::model::Timestamp;

use super::addressee::{self, Decision};
use super::allowance;
use super::letter::{self, Letter};
use super::transport::{BoxError, NotSent, Transport};
use crate::auth::link::{self, Purpose};
use crate::clock::Clock;
use crate::config::Settings;
use crate::domain::locale::told;
use crate::store::outbox::{self, LetterKind, OutgoingMail, Waiting};
use crate::store::sql::{Db, SqlError, Tx};
use crate::store::{activation, creator, letter_written, one_time_token};

/// How often the outbox is looked at without a wake-up, for letters that are due again.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Letters taken per look.
const AT_ONCE: i64 = 50;
/// Letters being sent at the same time.
const UNDER_WAY: usize = 4;
/// Attempts before a letter is given up; with their pauses this takes about six hours.
const MOST_ATTEMPTS: i64 = 12;
/// The first pause, in seconds; each is twice the one before, up to an hour.
const FIRST_PAUSE_SECONDS: f64 = 30.0;
const LONGEST_PAUSE_SECONDS: f64 = 3600.0;
/// How long letters that were given up are kept for inspection, in seconds.
const KEEP_GIVEN_UP_SECONDS: f64 = 30.0 * 86_400.0;

/// Why there can be no post.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    /// The address of the SMTP server cannot be read.
    #[error("smtpUrl cannot be used: {0}")]
    Url(#[source] lettre::transport::smtp::Error),
}

/// Writes and sends the letters of the outbox.
pub struct Post {
    db: Db,
    clock: Clock,
    transport: Transport,
    from: lettre::message::Mailbox,
    public_url: String,
    within: Duration,
    /// Letters are written one at a time: otherwise two to one recipient would not count each other.
    writing: Mutex<()>,
    wake: Notify,
    stopping: watch::Sender<bool>,
}

impl Post {
    /// Builds the post from the settings; a given `transport` overrides theirs.
    pub fn new(
        db: Db,
        clock: Clock,
        settings: &Settings,
        transport: Option<Transport>,
    ) -> Result<Self, MailError> {
        let by_settings = || match &settings.smtp_url {
            Some(url) => Transport::smtp(url.reveal(), settings.mail_timeout).map_err(MailError::Url),
            None => Ok(Transport::Folder(settings.data_dir.join("mail"))),
        };
        Ok(Self {
            db,
            clock,
            transport: transport.map_or_else(by_settings, Ok)?,
            from: settings.mail_from.0.clone(),
            public_url: settings.public_url(),
            within: settings.mail_timeout,
            writing: Mutex::new(()),
            wake: Notify::new(),
            stopping: watch::channel(false).0,
        })
    }

    /// Announces a new letter in the outbox. Without this call the letter waits up to five seconds.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Asks [`Post::run`] to end once the deliveries under way are done.
    pub fn stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Delivers the letters of the outbox until it is asked to stop.
    pub async fn run(&self) {
        let mut stopping = self.stopping.subscribe();
        while !*stopping.borrow() {
            match self.look().await {
                Ok(0) => {}
                Ok(_) => continue,
                Err(error) => tracing::warn!(%error, "the outbox cannot be worked off now"),
            }
            tokio::select! {
                () = self.wake.notified() => {}
                () = sleep(LOOK_EVERY) => {}
                _ = stopping.changed() => {}
            }
        }
    }

    /// Tries the letters that are due; returns how many there were.
    async fn look(&self) -> Result<usize, SqlError> {
        let now = self.clock.now();
        let due = outbox::due(&self.db, now.into(), AT_ONCE).await?;
        if due.is_empty() {
            outbox::forget_given_up(&self.db, now.plus_seconds(-KEEP_GIVEN_UP_SECONDS).into()).await?;
        }
        let tried = stream::iter(&due).map(|waiting| self.deliver(waiting)).buffer_unordered(UNDER_WAY);
        tried.collect::<Vec<_>>().await.into_iter().collect::<Result<(), _>>()?;
        Ok(due.len())
    }

    async fn deliver(&self, waiting: &Waiting) -> Result<(), SqlError> {
        let Some((recipient, letter)) = self.write(waiting).await? else { return Ok(()) };
        let sent = match self.message(waiting.id, &recipient, &letter) {
            Ok(message) => {
                let id = waiting.id.to_string();
                match timeout(self.within, self.transport.send(&id, message, &letter)).await {
                    Ok(sent) => sent,
                    Err(_) => {
                        Err(NotSent { reason: "the mail server takes too long".into(), is_transient: true })
                    }
                }
            }
            Err(error) => Err(NotSent { reason: error, is_transient: false }),
        };
        let attempts = waiting.attempts + 1;
        match sent {
            Ok(()) => outbox::forget(self.db.write(), waiting.id).await,
            Err(failed) if failed.is_transient && attempts < MOST_ATTEMPTS => {
                let reason = failed.for_log();
                tracing::warn!(mail = %waiting.id, attempts, reason, "mail not sent; it will be tried again");
                Ok(())
            }
            Err(failed) => {
                tracing::error!(mail = %waiting.id, attempts, reason = failed.for_log(), "mail given up");
                outbox::give_up(self.db.write(), waiting.id, &failed.to_string(), self.clock.now().into())
                    .await
            }
        }
    }

    /// Takes a letter and writes it, with a new link. `None` if it must not be written, or not yet.
    async fn write(&self, waiting: &Waiting) -> Result<Option<(String, Letter)>, SqlError> {
        let _one = self.writing.lock().await;
        let now = self.clock.now();
        let mut tx = self.db.begin().await?;
        if !outbox::take(&mut tx, waiting, now.plus_seconds(pause(waiting.attempts)).into()).await? {
            return Ok(None);
        }
        let is_first = waiting.attempts == 0;
        if is_first && self.is_put_off(&mut tx, waiting, now).await? {
            tx.commit().await?;
            return Ok(None);
        }
        let written = match waiting.letter {
            LetterKind::Link(purpose) => self.with_link(&mut tx, waiting, purpose, now).await?,
            LetterKind::Notice(notice) => {
                let about = waiting.about.as_deref().unwrap_or_default();
                let letter = letter::write_notice(notice, &waiting.greeting, about);
                Some((waiting.recipient.clone(), letter))
            }
        };
        if let Some((recipient, _)) = written.as_ref().filter(|_| is_first) {
            letter_written::insert(tx.on(), waiting.id, recipient, waiting.letter, now.into()).await?;
        }
        tx.commit().await?;
        Ok(written)
    }

    /// Whether the recipient has had as many letters as a day allows. The letter is then postponed until the next one
    /// is allowed, or dropped if it was requested by address or has waited for a day: by then it is of no use.
    async fn is_put_off(&self, tx: &mut Tx, waiting: &Waiting, now: Timestamp) -> Result<bool, SqlError> {
        let next = allowance::not_before(tx, waiting.letter, &waiting.recipient, now).await?;
        let Some(next) = next else { return Ok(false) };
        let has_waited = now.seconds_since(waiting.created_at.0) > link::SECONDS;
        if has_waited || waiting.subject_id.is_none() {
            tracing::warn!(mail = %waiting.id, "not written: its recipient has had as many as a day bears");
            outbox::forget(tx.on(), waiting.id).await?;
        } else {
            outbox::postpone(tx, waiting.id, next.into()).await?;
        }
        Ok(true)
    }

    async fn with_link(
        &self,
        tx: &mut Tx,
        waiting: &Waiting,
        purpose: Purpose,
        now: Timestamp,
    ) -> Result<Option<(String, Letter)>, SqlError> {
        let mail = match waiting.subject_id {
            Some(subject_id) => OutgoingMail {
                purpose,
                subject_id,
                recipient: waiting.recipient.clone(),
                greeting: waiting.greeting.clone(),
                about: waiting.about.clone(),
            },
            None => match addressee::find(tx, purpose, &waiting.recipient, now).await? {
                Decision::For(mail) => {
                    outbox::address(tx, waiting.id, &mail).await?;
                    mail
                }
                Decision::NotBefore(next) => {
                    outbox::postpone(tx, waiting.id, next.into()).await?;
                    return Ok(None);
                }
                Decision::NoReason => {
                    outbox::forget(tx.on(), waiting.id).await?;
                    return Ok(None);
                }
            },
        };
        if waiting.attempts == 0 {
            one_time_token::supersede(tx.on(), purpose, mail.subject_id, now.into()).await?;
        }
        let token = link::issue(tx, purpose, mail.subject_id, now).await?;
        let until = now.plus_seconds(link::SECONDS);
        let creator = if purpose == Purpose::ActivateOrganization {
            if waiting.attempts == 0 {
                activation::sent(tx.on(), &mail, now.into(), until.into()).await?;
            }
            creator::address(tx.on(), mail.subject_id).await?
        } else {
            None
        };
        let timezone = outbox::timezone(tx, purpose, mail.subject_id).await?.unwrap_or_default();
        let until = told(until, &timezone);
        let content = letter::LetterContent {
            greeting: &mail.greeting,
            about: mail.about.as_deref().unwrap_or_default(),
            creator: creator.as_deref(),
            until: &until,
        };
        let letter = letter::write(purpose, content, &self.public_url, &token);
        Ok(Some((mail.recipient, letter)))
    }

    fn message(&self, id: Uuid, recipient: &str, letter: &Letter) -> Result<Message, BoxError> {
        let mut message = Message::builder()
            .from(self.from.clone())
            .to(lettre::message::Mailbox::new(None, recipient.parse()?))
            .subject(letter.subject.clone())
            .message_id(Some(format!("<{id}@{}>", self.from.email.domain())))
            .header(ContentType::TEXT_PLAIN)
            .body(self.transport.body(&letter.body))?;
        // Keeps auto-responders from answering (RFC 3834).
        let automatic = HeaderName::new_from_ascii_str("Auto-Submitted");
        message.headers_mut().insert_raw(HeaderValue::new(automatic, "auto-generated".to_owned()));
        Ok(message)
    }
}

/// Seconds to wait before the next attempt, after this many.
fn pause(attempts: i64) -> f64 {
    (FIRST_PAUSE_SECONDS * f64::powi(2.0, attempts.clamp(0, 30) as i32)).min(LONGEST_PAUSE_SECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_an_hour_and_last_some_hours() {
        let pauses: Vec<f64> = (0..MOST_ATTEMPTS).map(pause).collect();
        assert_eq!(&pauses[..3], [30.0, 60.0, 120.0]);
        assert_eq!(pauses.last(), Some(&LONGEST_PAUSE_SECONDS));
        let hours = pauses.iter().sum::<f64>() / 3600.0;
        assert!((4.0..8.0).contains(&hours), "{hours}");
    }
}
