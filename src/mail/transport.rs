//! Mail transports: an SMTP server, a folder of `.eml` files, or a mailbox in memory for tests.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lettre::message::Body;
use lettre::message::header::ContentTransferEncoding;
use lettre::transport::smtp;
use lettre::{AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use parking_lot::Mutex;
use tokio::sync::watch;

use super::letter::Letter;
use crate::store::private;

/// Bytes of the longest line that every mail server takes (RFC 5321), without its end.
const LONGEST_LINE: usize = 998;

/// A mail transport.
#[derive(Clone)]
pub enum Transport {
    /// To an SMTP server.
    Smtp(AsyncSmtpTransport<Tokio1Executor>),
    /// Into a folder that only the server's user can read. For development.
    Folder(PathBuf),
    /// Into memory. For tests.
    Memory(Mailbox),
}

/// The cause of a failure, for the log.
pub(super) type BoxError = Box<dyn Error + Send + Sync>;

/// Why a letter was not sent.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub(super) struct NotSent {
    #[source]
    pub(super) reason: BoxError,
    /// Whether another attempt may succeed.
    pub(super) is_transient: bool,
}

impl NotSent {
    /// Why, for the log: without the mail server's words, which mostly quote the recipient's address.
    pub(super) fn for_log(&self) -> String {
        match self.reason.downcast_ref::<smtp::Error>().and_then(smtp::Error::status) {
            Some(code) => format!("the mail server answered {code}"),
            None => self.reason.to_string(),
        }
    }
}

/// Whether a refusal is about the recipient, and so for good. Servers refuse for good, in the words of SMTP, much that is not: a
/// password that was changed, a sender that sent too much today.
fn is_about_recipient(error: &smtp::Error) -> bool {
    let Some(code) = error.status().filter(|_| error.is_permanent()) else { return false };
    // RFC 3463: 5.1 is about addresses, 5.1.7 and 5.1.8 about the sender's. Not all servers say such a code.
    let said = error.source().map(ToString::to_string).unwrap_or_default();
    let enhanced = said.split_whitespace().next().filter(|word| word.starts_with("5."));
    match enhanced {
        Some(enhanced) => enhanced.starts_with("5.1.") && !["5.1.7", "5.1.8"].contains(&enhanced),
        None => ["550", "551", "553"].contains(&code.to_string().as_str()),
    }
}

/// A letter in a [`Mailbox`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// The recipient's address.
    pub recipient: String,
    /// Its subject.
    pub subject: String,
    /// Its text.
    pub body: String,
    /// The link it asks to open; empty if there is none.
    pub link: String,
    /// Its message id, the same for all attempts.
    pub message_id: String,
}

/// Letters in memory, and the failures set for the next ones.
#[derive(Clone)]
pub struct Mailbox(Arc<Inside>);

struct Inside {
    letters: watch::Sender<Vec<Received>>,
    failures: Mutex<Vec<bool>>,
}

impl Transport {
    /// An SMTP server by its URL. Fails if the URL cannot be read.
    pub fn smtp(url: &str, within: Duration) -> Result<Self, smtp::Error> {
        let builder = AsyncSmtpTransport::<Tokio1Executor>::from_url(url)?;
        Ok(Self::Smtp(builder.timeout(Some(within)).build()))
    }

    /// Connects to the SMTP server and signs in, without sending anything.
    pub async fn check(&self) -> Result<(), String> {
        let Self::Smtp(server) = self else { return Ok(()) };
        match server.test_connection().await {
            Ok(true) => Ok(()),
            Ok(false) => Err("it answers, and refuses to be asked".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Encodes a text so that its lines stay whole where possible: a link copied out of a saved letter works.
    /// Quoted-printable, which breaks long lines, is for servers that may accept nothing but ASCII, and no line beyond a bound.
    pub(super) fn body(&self, text: &str) -> Body {
        let lines = || text.replace('\n', "\r\n").into_bytes();
        let is_plain = text.is_ascii() && text.lines().all(|line| line.len() <= LONGEST_LINE);
        match self {
            _ if is_plain => Body::dangerous_pre_encoded(lines(), ContentTransferEncoding::SevenBit),
            Self::Folder(_) => Body::dangerous_pre_encoded(lines(), ContentTransferEncoding::EightBit),
            _ => Body::new(text.to_owned()),
        }
    }

    /// Hands a letter over. SMTP confirms each letter once; if the connection breaks between the letter and the
    /// confirmation, it remains unknown whether the letter was accepted.
    pub(super) async fn send(&self, id: &str, message: Message, letter: &Letter) -> Result<(), NotSent> {
        match self {
            Self::Smtp(server) => server
                .send(message)
                .await
                .map(drop)
                .map_err(|error| NotSent { is_transient: !is_about_recipient(&error), reason: error.into() }),
            Self::Folder(folder) => {
                let (file, part) = (folder.join(format!("{id}.eml")), folder.join(format!("{id}.part")));
                let written = async {
                    private::make_directory(folder)?;
                    private::close_to_others(folder)?; // servers before this one made it for everybody
                    private::write(&part, &message.formatted()).await?;
                    tokio::fs::rename(&part, &file).await // so that whoever watches the folder finds whole ones
                };
                written.await.map_err(|error| NotSent { reason: error.into(), is_transient: true })?;
                // The link signs in, so it is kept out of the log, which more people can read than the file.
                tracing::info!(subject = letter.subject, file = %file.display(), "mail saved: no smtpUrl is set");
                Ok(())
            }
            Self::Memory(mailbox) => mailbox.take(&message, letter),
        }
    }
}

impl Default for Mailbox {
    fn default() -> Self {
        let (letters, _) = watch::channel(Vec::new());
        Self(Arc::new(Inside { letters, failures: Mutex::default() }))
    }
}

impl Mailbox {
    /// Makes the next letter fail, temporarily or for good.
    pub fn fail_next(&self, is_transient: bool) {
        self.0.failures.lock().insert(0, is_transient);
    }

    /// All letters to an address, oldest first.
    #[must_use]
    pub fn all(&self, recipient: &str) -> Vec<Received> {
        self.0.letters.borrow().iter().filter(|letter| letter.recipient == recipient).cloned().collect()
    }

    /// Waits until `number` letters have come to an address; returns the last of them.
    pub async fn nth(&self, recipient: &str, number: usize) -> Received {
        let mut letters = self.0.letters.subscribe();
        loop {
            if let Some(letter) =
                number.checked_sub(1).and_then(|index| self.all(recipient).get(index).cloned())
            {
                return letter;
            }
            if letters.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    fn take(&self, message: &Message, letter: &Letter) -> Result<(), NotSent> {
        if let Some(is_transient) = self.0.failures.lock().pop() {
            return Err(NotSent { reason: "the mailbox was told to fail".into(), is_transient });
        }
        let recipient = message.envelope().to().first().map(ToString::to_string).unwrap_or_default();
        let message_id = message.headers().get_raw("Message-ID").unwrap_or_default().to_owned();
        let (subject, body, link) =
            (letter.subject.clone(), letter.body.clone(), letter.link.clone().unwrap_or_default());
        let received = Received { recipient, subject, body, link, message_id };
        self.0.letters.send_modify(|letters| letters.push(received));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_saved_letter_is_never_broken() {
        let link = format!("https://fleet.example.org/invite/wpi_{}", "x".repeat(60));
        let folder = Transport::Folder(PathBuf::new());
        for text in [format!("Hello Ada,\n{link}\n"), format!("Hello Zoë,\n{link}\n")] {
            let saved = String::from_utf8(folder.body(&text).into_vec()).unwrap();
            assert!(saved.lines().any(|line| line == link), "{saved}");
        }
        // Some servers accept nothing but ASCII, so the encoded letter is ASCII, and a letter in plain ASCII keeps
        // its lines.
        let memory = Transport::Memory(Mailbox::default());
        let sent = |text: &str| String::from_utf8(memory.body(text).into_vec()).unwrap();
        assert!(sent(&format!("Hello Ada,\n{link}\n")).lines().any(|line| line == link));
        assert!(sent(&format!("Hello Zoë,\n{link}\n")).is_ascii());
        // No server need take a longer line than these.
        for (length, is_whole) in [(998, true), (999, false)] {
            let long = format!("Hello Ada,\n{}\n", "x".repeat(length));
            let sent = sent(&long);
            assert!(sent.is_ascii() && sent.lines().all(|line| line.len() <= 998), "{length}");
            assert_eq!(sent.lines().any(|line| line.len() == length), is_whole);
        }
    }
}
