//! A tracker as docs/tracking.md describes one: it keeps what is not acknowledged, sends it again after
//! `retry` and after every reconnect, and comes back after a random moment.

use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use waypost_client::socket::{self, Socket};
use waypost_client::trace::Point;

use crate::book::Book;
use crate::ground::Bus;
use crate::ledger::FixKey;
use crate::wire::{connect, next};

/// Frames that may wait for their ack.
const WINDOW: usize = 8;
/// How long the server may take for anything but an ack.
const PATIENCE: Duration = Duration::from_secs(15);

/// How a tracker behaves.
#[derive(Clone)]
pub(crate) struct Manner {
    /// The server's `http://…`, or that of the proxy in front of it; those of a cluster's nodes, of which each connection takes one.
    pub(crate) servers: Vec<String>,
    /// Fixes in a frame, at most.
    pub(crate) items: usize,
    /// Whether it declares its boot.
    pub(crate) hello: bool,
    /// The least time between two frames.
    pub(crate) pace: Duration,
    /// The longest time before it reconnects after a lost connection.
    pub(crate) away: Duration,
    /// Without an ack for this long, the connection counts as lost.
    pub(crate) patience: Duration,
}

/// A tracker at work.
pub(crate) struct Tracker {
    bus: Bus,
    manner: Manner,
    book: Rc<Book>,
    dice: StdRng,
    boot: String,
    next: usize,
    next_seq: u64,
    acked: u64,
    waiting: VecDeque<Frame>,
}

struct Frame {
    last_seq: u64,
    fixes: Vec<FixKey>,
    text: String,
    sent_at: Instant,
}

impl Tracker {
    pub(crate) fn new(bus: Bus, manner: Manner, book: Rc<Book>, mut dice: StdRng) -> Self {
        let boot = format!("boot-{}", dice.random_range(0..u64::MAX));
        Self { bus, manner, book, dice, boot, next: 0, next_seq: 1, acked: 0, waiting: VecDeque::new() }
    }

    /// Reports everything, through as many connections as it takes.
    pub(crate) async fn run(mut self) {
        while let Err(why) = self.session().await {
            if self.book.is_over.get() {
                return;
            }
            self.book.count(|counts| *counts.ends.entry(why).or_default() += 1);
            let most = self.manner.away.as_millis().max(2) as u64;
            sleep(Duration::from_millis(self.dice.random_range(1..most))).await;
        }
    }

    fn is_done(&self) -> bool {
        self.next == self.bus.points.len() && self.waiting.is_empty()
    }

    async fn session(&mut self) -> Result<(), String> {
        let servers = &self.manner.servers;
        let server = &servers[self.dice.random_range(0..servers.len())];
        let mut socket = connect(socket::tracker(server, &self.bus.token)).await?;
        self.book.count(|counts| counts.connections += 1);
        if self.manner.hello {
            say(&mut socket, json!({ "type": "hello", "bootId": self.boot }).to_string()).await?;
            let welcome = loop {
                let said = hear(&mut socket).await?;
                if said["type"] == "welcome" {
                    break said;
                }
            };
            // What the server remembers of this boot is acknowledged.
            self.take(&welcome["ackedSeq"], &[]);
        }
        self.send_again(&mut socket).await?;
        let (mut due, mut heard_at) = (Instant::now(), Instant::now());
        while !self.is_done() {
            let may_send = self.waiting.len() < WINDOW && self.next < self.bus.points.len();
            tokio::select! {
                biased;
                said = next(&mut socket) => {
                    heard_at = Instant::now();
                    self.hear(said?, &mut socket).await?;
                }
                () = sleep_until(due), if may_send => {
                    let pace = if self.book.has_seen_enough.get() { Duration::ZERO } else { self.manner.pace };
                    due = Instant::now() + pace;
                    if self.waiting.is_empty() {
                        heard_at = Instant::now();
                    }
                    self.send_next(&mut socket).await?;
                }
                () = sleep_until(heard_at + self.manner.patience), if !self.waiting.is_empty() => {
                    return Err("silent".to_owned());
                }
            }
        }
        let _ = timeout(PATIENCE, socket.close(None)).await;
        Ok(())
    }

    async fn hear(&mut self, said: Value, socket: &mut Socket) -> Result<(), String> {
        match said["type"].as_str() {
            Some("ack") => self.take(&said["seq"], said["rejected"].as_array().map_or(&[], Vec::as_slice)),
            Some("retry") => {
                self.book.count(|counts| counts.retries += 1);
                sleep(Duration::from_millis(said["afterMs"].as_u64().unwrap_or(1000))).await;
                self.send_again(socket).await?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Takes an ack up to a number, with what was refused.
    fn take(&mut self, seq: &Value, rejected: &[Value]) {
        let Some(seq) = seq.as_u64() else { return };
        while let Some(frame) = self.waiting.pop_front_if(|frame| frame.last_seq <= seq) {
            let first = frame.last_seq + 1 - frame.fixes.len() as u64;
            let is_refused = |number: u64| rejected.iter().any(|item| item["seq"] == number);
            let (mut acked, mut refused) = (Vec::new(), Vec::new());
            for (fix, number) in frame.fixes.iter().zip(first..) {
                // A welcome counts what was refused with the rest, and does not name it again.
                if is_refused(number) || fix.is_nowhere() { refused.push(*fix) } else { acked.push(*fix) }
            }
            self.book.acked(&acked, &refused, frame.sent_at);
        }
        self.acked = self.acked.max(seq);
    }

    async fn send_again(&mut self, socket: &mut Socket) -> Result<(), String> {
        for frame in &mut self.waiting {
            frame.sent_at = Instant::now();
            say(socket, frame.text.clone()).await?;
        }
        Ok(())
    }

    async fn send_next(&mut self, socket: &mut Socket) -> Result<(), String> {
        let count = self.dice.random_range(1..=self.manner.items);
        let points = &self.bus.points[self.next..(self.next + count).min(self.bus.points.len())];
        let fixes: Vec<FixKey> = points.iter().map(|point| self.bus.key(point)).collect();
        let items: Vec<Value> =
            points.iter().zip(self.next_seq..).map(|(point, seq)| item(seq, point)).collect();
        let text = json!({ "type": "positions", "items": items }).to_string();
        self.book.sent(&fixes);
        self.next += fixes.len();
        self.next_seq += fixes.len() as u64;
        let (last_seq, sent_at) = (self.next_seq - 1, Instant::now());
        self.waiting.push_back(Frame { last_seq, fixes, text: text.clone(), sent_at });
        say(socket, text).await
    }
}

fn item(seq: u64, point: &Point) -> Value {
    let mut item = serde_json::to_value(point).expect("a point is an object of numbers and texts");
    item["seq"] = seq.into();
    item
}

async fn say(socket: &mut Socket, text: String) -> Result<(), String> {
    let sent = timeout(PATIENCE, socket::say(socket, text)).await;
    sent.map_err(|_| "not taken".to_owned())?.map_err(|_| "broken".to_owned())
}

async fn hear(socket: &mut Socket) -> Result<Value, String> {
    timeout(PATIENCE, next(socket)).await.map_err(|_| "silent".to_owned())?
}
