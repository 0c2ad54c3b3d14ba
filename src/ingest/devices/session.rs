//! One device's connection, from its name to its end. What was read is answered after its commit, and nothing is read
//! meanwhile: the device waits in its own memory.

use std::io::ErrorKind;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until, timeout};
use waypost_actors::ports::Counts;

use super::inbox::{Broken, Inbox};
use super::listener_context::{Admitted, ListenerContext};
use super::message::Message;
use crate::auth::Reports;
use crate::connections::Connection;
use crate::ingest::decode::{BadItem, Item};
use crate::ingest::protocol::MAX_ITEMS;
use crate::ingest::{Intake, Rejected};
use crate::report_log::Tally;
use crate::sessions::{End, KeepDays, News, TrackerSession};

/// A device that says nothing for this long is gone: those that sleep say something at least every hour.
const SILENT_FOR: Duration = Duration::from_secs(2 * 3_600);
/// A message that has begun must be complete within this.
const COMPLETE_WITHIN: Duration = Duration::from_secs(60);
/// A device that takes no answer for this long is gone.
const WRITTEN_WITHIN: Duration = Duration::from_secs(30);
/// How long a stopping server waits for the commit of what it has read.
const LAST_ANSWER_WITHIN: Duration = Duration::from_secs(3);
/// Damaged messages one after the other, until the device had better connect anew.
const DAMAGED: u32 = 5;
/// Bytes read at a time.
const READ_BYTES: usize = 2 * 1024;

/// The connection is over.
enum Over {
    /// The device or the network ended it, or it may not go on here.
    Ended,
    /// The device is given up for what it sent.
    GivenUp {
        /// What that was, and what to do, for people.
        detail: String,
        /// The beginning of it.
        raw: Vec<u8>,
    },
}

impl From<Broken> for Over {
    fn from(Broken { what, raw }: Broken) -> Self {
        let detail = format!("{what}: check that the device speaks this port's protocol, and its firmware");
        Self::GivenUp { detail, raw }
    }
}

struct Session {
    stream: TcpStream,
    context: ListenerContext,
    inbox: Inbox,
    intake: Intake,
    device: String,
    damaged: u32,
    /// When what was read of a message began to wait for the rest of it.
    begun_at: Option<Instant>,
}

/// What another node is told of a device that may report, before anything that the device is told.
pub const ADMITTED: u8 = 1;
/// What it is told of one that may not.
const REFUSED: u8 = 0;

/// Serves a connection until it ends.
pub async fn serve(connection: Connection, context: ListenerContext) {
    serve_from(connection, context, Verdict::Kept, Connection::into_parts).await;
}

/// Serves the connection of a device that is at another node, which passes on what either side says. That node is told first
/// whether the device may report.
pub async fn serve_relayed(connection: TcpStream, context: ListenerContext) {
    serve_from(connection, context, Verdict::Told, |connection| (connection, ())).await;
}

/// Whether somebody is told first if the device may report.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Told,
    Kept,
}

async fn serve_from<S, Seat>(
    mut connection: S,
    context: ListenerContext,
    verdict: Verdict,
    into_parts: impl FnOnce(S) -> (TcpStream, Seat),
) where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let refused: &[u8] = if verdict == Verdict::Told { &[REFUSED] } else { &[] };
    let mut stopping = context.sessions.stopping();
    let admitted = tokio::select! {
        // In a box: a connection that waits has no room for what it needed at its beginning.
        admitted = Box::pin(context.admit(&mut connection, refused)) => admitted,
        _ = stopping.wait_for(Option::is_some) => None,
    };
    let Some(Admitted { tracker, mut open, inbox, messages }) = admitted else { return };
    let (mut stream, seat) = into_parts(connection);
    if verdict == Verdict::Told && stream.write_all(&[ADMITTED]).await.is_err() {
        return;
    }
    let device = tracker.unique_id.clone();
    let intake = Intake::new(context.live.clone(), Reports::Own(tracker), context.report_log.clone());
    let intake = intake.item_by_item().for_long().by(context.listener.protocol.as_str());
    let mut session = Session { stream, context, inbox, intake, device, damaged: 0, begun_at: None };
    let over = session.run(&mut open, messages).await;
    if let Err(Over::GivenUp { detail, raw }) = over {
        session.note_given_up(detail, &raw);
    }
    drop(seat);
}

impl Session {
    async fn run(&mut self, open: &mut TrackerSession, mut messages: Vec<Message>) -> Result<(), Over> {
        loop {
            // What came before something unreadable is stored all the same.
            let gathered = self.gather(&mut messages);
            if messages.is_empty() {
                gathered?;
                self.listen(open).await?;
            } else {
                Box::pin(self.store_and_answer(open, std::mem::take(&mut messages))).await?;
                gathered?;
            }
        }
    }

    /// Takes what was read, up to a batch.
    fn gather(&mut self, messages: &mut Vec<Message>) -> Result<(), Over> {
        let mut items: usize = messages.iter().map(|message| message.items.len()).sum();
        while items < MAX_ITEMS {
            let Some(message) = self.inbox.take(self.context.live.now())? else { break };
            // A connection is one device's.
            if let Some(name) = message.device.as_ref().filter(|name| **name != self.device) {
                let own = &self.device;
                let detail = format!("it names itself {name} on the connection of {own}: each needs its own");
                return Err(Over::GivenUp { detail, raw: message.raw });
            }
            self.damaged = if message.is_damaged { self.damaged + 1 } else { 0 };
            if self.damaged > DAMAGED {
                let detail = "message after message is damaged: check the device's reception and firmware";
                return Err(Over::GivenUp { detail: detail.to_owned(), raw: message.raw });
            }
            items += message.items.len();
            self.begun_at = None;
            messages.push(message);
        }
        Ok(())
    }

    /// Says why the device was cut off, which it may be again and again: in the log, and to who looks at its tracker.
    fn note_given_up(&self, detail: String, raw: &[u8]) {
        let Self { context, device, intake, .. } = self;
        tracing::debug!(listener = %context.listener, device, detail, "a device is cut off");
        let tracker = intake.whose(device);
        let detail = format!("the connection was ended: {detail}");
        let rejected = Rejected { seq: None, index: 0, code: "unreadable", detail, tracker };
        intake.note(Tally::default(), vec![rejected], raw);
    }

    /// Waits until there is something to read, and reads it.
    async fn listen(&mut self, open: &mut TrackerSession) -> Result<(), Over> {
        let now = Instant::now();
        let deadline = if self.inbox.is_begun() {
            *self.begun_at.get_or_insert(now) + COMPLETE_WITHIN
        } else {
            self.begun_at = None;
            now + SILENT_FOR
        };
        loop {
            tokio::select! {
                news = open.news() => self.heed(news)?,
                () = sleep_until(deadline) => return Err(Over::Ended),
                readable = self.stream.readable() => {
                    readable.map_err(|_| Over::Ended)?;
                    if self.read()? {
                        return Ok(());
                    }
                }
            }
        }
    }

    fn heed(&mut self, news: News) -> Result<(), Over> {
        match news {
            News::End(_) => Err(Over::Ended),
            // Hardware is configured by other means.
            News::Config(_) => Ok(()),
            News::KeepDays(KeepDays(days)) => {
                self.intake.keep_positions(days);
                Ok(())
            }
        }
    }

    fn read(&mut self) -> Result<bool, Over> {
        let mut bytes = [0; READ_BYTES];
        match self.stream.try_read(&mut bytes) {
            Ok(0) => Err(Over::Ended),
            Ok(count) => {
                self.inbox.hear(&bytes[..count]);
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(_) => Err(Over::Ended),
        }
    }

    /// Stores what messages say, however long the store is away, then answers them.
    async fn store_and_answer(
        &mut self,
        open: &mut TrackerSession,
        messages: Vec<Message>,
    ) -> Result<(), Over> {
        let (mut items, mut answers) = (Vec::new(), Vec::new());
        // Where the items of each message end, and its bytes.
        let mut raw = Vec::new();
        for message in messages {
            items.extend(message.items);
            raw.push((items.len(), message.raw));
            answers.extend(message.answer);
        }
        let mut tally = Tally::default();
        let mut rejected = Vec::new();
        if items.is_empty() {
            // A heartbeat: no look-up, since the device is known.
            self.intake.hear(&[None]).await.map_err(|_| Over::Ended)?;
            tally.contacts = 1;
        } else {
            let counts;
            (counts, rejected) = self.store(open, items).await?;
            (tally.stored, tally.duplicates) = (counts.stored, counts.duplicates);
        }
        self.intake.note_each(tally, rejected, |index| {
            let message = raw.get(raw.partition_point(|(end, _)| *end <= index));
            message.map_or(&[][..], |(_, bytes)| bytes.as_slice())
        });
        if !answers.is_empty() {
            let written = timeout(WRITTEN_WITHIN, self.stream.write_all(&answers)).await;
            written.map_err(|_| Over::Ended)?.map_err(|_| Over::Ended)?;
        }
        Ok(())
    }

    async fn store(
        &mut self,
        open: &mut TrackerSession,
        items: Vec<Result<Item<'static>, BadItem>>,
    ) -> Result<(Counts, Vec<Rejected>), Over> {
        let mut keep_days = None;
        let ended = {
            let mut stored = std::pin::pin!(self.intake.store(&[], items));
            loop {
                tokio::select! {
                    stored = &mut stored => break stored.map_err(|_| Over::Ended),
                    news = open.news() => match news {
                        News::End(End::Restarting | End::Moved | End::Changed) => {
                            let last = timeout(LAST_ANSWER_WITHIN, &mut stored).await;
                            break last.map_err(|_| Over::Ended)?.map_err(|_| Over::Ended);
                        }
                        News::End(_) => break Err(Over::Ended),
                        News::KeepDays(days) => keep_days = Some(days),
                        News::Config(_) => {}
                    },
                }
            }
        };
        if let Some(KeepDays(days)) = keep_days {
            self.intake.keep_positions(days);
        }
        ended
    }
}
