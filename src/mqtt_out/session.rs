//! One connection to a broker: events in the order of the log, as many at once as may be without an acknowledgement, and
//! between them the positions that changed. What the connection has no room for waits here, and no newer than the log keeps.

use std::cell::RefCell;
use std::collections::{HashSet, VecDeque};
use std::future::poll_fn;
use std::time::Duration;

use rumqttc::{AsyncClient, Event, EventLoop, Packet, QoS};
use tokio::sync::Notify;
use tokio::time::{MissedTickBehavior, interval, timeout};
use waypost_actors::live::LiveError;
use waypost_actors::model::{ChangeKind, ChangedResource, VehicleId};
use waypost_actors::watch::{Audience, Interest, News, Watch};

use super::discovery::{Discovery, describe};
use super::parts::ShowPosition;
use super::positions::Positions;
use super::target::Target;
use super::window::Window;
use crate::feed::Entry;
use crate::throttle::Throttle;
use crate::webhooks::{Known, Message, Recent, Selection, Writer, read_log};

/// How often the fleet is looked at for new positions, and what was acknowledged is stored.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Looks between two at whether the organization is active, and between two saves of a cursor that only passes over what
/// concerns others.
const LOOKS_BETWEEN: u32 = 30;
/// Looks until a connection stands, over which an event goes that was not acknowledged on the connection before: one that a broker
/// ends at once, whatever comes, must not count against the event.
const LOOKS_UNTIL_IT_STANDS: u32 = 5;
/// Pause between two warnings about an entry of the log that what follows waits for.
const TELL_EVERY: Duration = Duration::from_secs(60);
/// A connection over which nothing happens for this long, not even a ping, is hung.
const SILENT_FOR: Duration = Duration::from_secs(75);
/// Events that wait for the connection.
const MOST_WAITING: usize = 100;
/// Bytes of their bodies, beyond which no other is read: that of a geofence may have megabytes.
const MOST_WAITING_BYTES: usize = 1 << 20;
/// Bytes of the longest event that is published.
const LONGEST_BYTES: usize = 8 * 1024 * 1024 - 64 * 1024;

/// One connection.
pub(super) struct Session<'a> {
    target: &'a Target,
    root: String,
    client: AsyncClient,
    window: RefCell<Window>,
    /// The connection took or acknowledged something.
    moved: Notify,
}

/// What is to be published of the log.
enum Publication {
    Event(Message),
    /// A vehicle was deleted: what is retained of it under a topic is emptied.
    Deleted(String),
}

/// A publication that waits.
struct Due {
    /// The number of its entry of the log.
    sequence: i64,
    /// Whether that entry is done with it.
    is_last: bool,
    publication: Publication,
}

/// What waits for the connection.
struct Waiting {
    events: VecDeque<Due>,
    /// The next number to be read from the log.
    read_to: i64,
    recent: Recent,
    writer: Writer,
    positions: Positions,
    show: Option<ShowPosition>,
    discovery: Option<Discovery>,
    /// How often it is said that an entry of the log cannot be told.
    warning: Throttle,
}

impl Waiting {
    fn has_room(&self) -> bool {
        let bytes = |due: &Due| match &due.publication {
            Publication::Event(message) => message.body.len(),
            Publication::Deleted(_) => 0,
        };
        self.events.len() < MOST_WAITING && self.events.iter().map(bytes).sum::<usize>() < MOST_WAITING_BYTES
    }
}

impl<'a> Session<'a> {
    pub(super) fn new(target: &'a Target, client: AsyncClient, window: Window) -> Self {
        let root = target.output.root(target.organization());
        Self { target, root, client, window: RefCell::new(window), moved: Notify::new() }
    }

    /// The first event that went over the connection and is not acknowledged: the number of its entry of the log, and its bytes.
    pub(super) fn first_unacknowledged(&self) -> Option<(i64, usize)> {
        self.window.borrow().first()
    }

    /// Keeps the connection going; returns why it ended.
    pub(super) async fn listen(&self, events: &mut EventLoop) -> String {
        loop {
            match timeout(SILENT_FOR, events.poll()).await {
                Ok(Ok(Event::Outgoing(rumqttc::Outgoing::Publish(packet)))) if packet != 0 => {
                    self.window.borrow_mut().sent(packet);
                }
                Ok(Ok(Event::Incoming(Packet::PubAck(ack)))) => {
                    if self.window.borrow_mut().acknowledged(ack.pkid) {
                        self.target.published();
                    }
                }
                Ok(Ok(_)) => {}
                Ok(Err(error)) => return error.to_string(),
                Err(_) => return "the broker hangs".to_owned(),
            }
            self.target.reached(self.window.borrow().reached());
            self.moved.notify_one();
        }
    }

    /// Gives the connection what is to be published; returns why it gave up.
    pub(super) async fn work(&self) -> String {
        let mut waiting = self.waiting();
        let Ok(mut watch) = self.watch(&mut waiting.recent).await else {
            return "the server stops".to_owned();
        };
        let (mut tick, mut looks) = (interval(LOOK_EVERY), 0_u32);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            if let Err(error) = self.fill(&mut waiting).await {
                tracing::debug!(%error, "what is to be published is read later");
            }
            let stands = looks >= LOOKS_UNTIL_IT_STANDS || !self.window.borrow().is_cautious();
            self.hand_over(&mut waiting, stands);
            tokio::select! {
                () = self.moved.notified() => {}
                news = poll_fn(|cx| watch.poll_news(false, cx)) => match news {
                    News::Commit(update, _) => drop(waiting.recent.add(&update)),
                    News::Provisional(_) => {}
                    News::Lost => match self.watch(&mut waiting.recent).await {
                        Ok(anew) => watch = anew,
                        Err(_) => return "the server stops".to_owned(),
                    },
                },
                _ = tick.tick() => {
                    if let Some(known) = watch.known_up_to() {
                        waiting.recent.passed(known);
                    }
                    looks = looks.wrapping_add(1);
                    if looks.is_multiple_of(LOOKS_BETWEEN) && !self.target.is_active().await {
                        return "the organization is not active any more".to_owned();
                    }
                    self.look(&mut waiting, looks).await;
                }
            }
        }
    }

    fn waiting(&self) -> Waiting {
        let of = self.target;
        let mut recent = Recent::default();
        recent.follow(&HashSet::from([of.organization()]));
        let writer = Writer::new(Selection {
            organization_id: of.organization(),
            scopes: None,
            event_types: of.output.events.clone(),
            vehicle_ids: Vec::new(),
            geofence_ids: Vec::new(),
        });
        let (read_to, positions) = (self.window.borrow().reached(), Positions::default());
        let (discovery, events) = (of.output.discovery_root().map(Discovery::new), VecDeque::new());
        Waiting {
            events,
            read_to,
            recent,
            writer,
            positions,
            show: None,
            discovery,
            warning: Throttle::new(TELL_EVERY),
        }
    }

    fn audience(&self) -> Audience {
        Audience::Organization(self.target.organization())
    }

    async fn watch(&self, recent: &mut Recent) -> Result<Watch, LiveError> {
        let mut watch = self.target.parts.live.watch(Interest::of_log(self.audience())).await?;
        watch.vehicles = Vec::new();
        recent.begin(watch.next_sequence);
        Ok(watch)
    }

    /// Looks at the fleet, and stores how far the broker acknowledged.
    async fn look(&self, waiting: &mut Waiting, looks: u32) {
        match (self.target.ports.fleet)(self.target.organization()).await {
            Ok(fleet) => {
                waiting.positions.look(fleet.vehicles);
                waiting.show = Some(fleet.show);
            }
            Err(error) => tracing::debug!(%error, "positions are published later"),
        }
        if let Some(discovery) = waiting.discovery.as_mut().filter(|discovery| discovery.is_stale()) {
            match (self.target.ports.names)(self.target.organization()).await {
                Ok(names) => discovery.look(names),
                Err(error) => tracing::debug!(%error, "vehicles are described later"),
            }
        }
        if looks.is_multiple_of(LOOKS_BETWEEN) || self.target.has_published() {
            self.target.save().await;
        }
    }

    /// Reads what follows in the log, as far as there is room, and notes how far that is.
    async fn fill(&self, waiting: &mut Waiting) -> Result<(), String> {
        let read = self.read(waiting).await;
        if waiting.events.is_empty() {
            let mut window = self.window.borrow_mut();
            window.passed(waiting.read_to);
            self.target.reached(window.reached());
        }
        read
    }

    async fn read(&self, waiting: &mut Waiting) -> Result<(), String> {
        let of = self.target;
        'reading: while waiting.has_room() {
            let from = waiting.read_to;
            let known = waiting.recent.after(of.organization(), from, MOST_WAITING);
            let (entries, next) = match known {
                Known::Entries(entries, next) => (entries, next),
                Known::InLog(until) => {
                    read_log(&*of.parts.log, self.audience(), from..until, MOST_WAITING).await?
                }
            };
            for entry in entries {
                if !waiting.has_room() {
                    break 'reading;
                }
                let sequence = entry.sequence();
                let message = waiting.writer.write(&entry, &of.ports.show_change).await;
                if let Err(error) = &message {
                    self.cannot_tell(waiting, sequence, error);
                }
                let message = message?.filter(|message| is_short_enough(message, sequence));
                waiting.read_to = sequence + 1;
                self.put(&entry, message, waiting);
            }
            waiting.read_to = waiting.read_to.max(next);
            if waiting.read_to == from {
                break;
            }
        }
        Ok(())
    }

    /// Says that all that follows an entry of the log waits, since it cannot be told now.
    fn cannot_tell(&self, waiting: &Waiting, sequence: i64, error: &str) {
        if waiting.warning.is_due() {
            tracing::warn!(broker = %self.target.broker, sequence, error, "a broker waits: an entry of the log cannot be told");
        }
    }

    /// Puts what is to be published of an entry of the log; all of it is published before the entry is done.
    fn put(&self, entry: &Entry, message: Option<Message>, waiting: &mut Waiting) {
        let mut publications = Vec::new();
        if let Some((vehicle, kind)) = changed_vehicle(entry) {
            if kind == ChangeKind::Deleted {
                waiting.positions.delete(vehicle);
                if let Some(discovery) = &mut waiting.discovery {
                    discovery.delete(vehicle);
                    publications.push(Publication::Deleted(discovery.topic_of(vehicle)));
                }
                publications.push(Publication::Deleted(self.topic_of(vehicle)));
            } else if let Some(discovery) = &mut waiting.discovery {
                discovery.changed();
            }
        }
        publications.extend(message.map(Publication::Event));
        let last = publications.len();
        for (number, publication) in (1..).zip(publications) {
            let (sequence, is_last) = (entry.sequence(), number == last);
            waiting.events.push_back(Due { sequence, is_last, publication });
        }
    }

    /// Hands over events, if the connection stands, positions and descriptions in turn until it has no room or nothing waits.
    fn hand_over(&self, waiting: &mut Waiting, stands: bool) {
        loop {
            let is_event = stands && self.window.borrow().has_room() && !waiting.events.is_empty();
            if is_event && !self.hand_over_event(waiting) {
                return;
            }
            let is_position = waiting.positions.first().is_some() && waiting.show.is_some();
            if is_position && !self.hand_over_position(waiting) {
                return;
            }
            let is_description = waiting.discovery.as_ref().is_some_and(|of| of.first().is_some());
            if is_description && !self.hand_over_description(waiting) {
                return;
            }
            if !is_event && !is_position && !is_description {
                return;
            }
        }
    }

    fn hand_over_event(&self, waiting: &mut Waiting) -> bool {
        let Some(Due { sequence, is_last, publication }) = waiting.events.front() else { return true };
        let (sequence, is_last) = (*sequence, *is_last);
        let (topic, retain, body) = match publication {
            Publication::Event(message) => {
                (format!("{}/events/{}", self.root, message.event_type), false, message.body.clone())
            }
            Publication::Deleted(topic) => (topic.clone(), true, String::new()),
        };
        let bytes = body.len();
        let is_taken = self.client.try_publish(topic, QoS::AtLeastOnce, retain, body).is_ok();
        if is_taken {
            waiting.events.pop_front();
            self.window.borrow_mut().push(sequence, is_last, bytes);
        }
        is_taken
    }

    fn hand_over_position(&self, waiting: &mut Waiting) -> bool {
        let (Some((vehicle, now)), Some(show)) = (waiting.positions.first(), &waiting.show) else {
            return true;
        };
        // Nothing empties what is retained.
        let body = now.map(|now| show(vehicle, now)).unwrap_or_default();
        let is_taken = self.client.try_publish(self.topic_of(vehicle), QoS::AtMostOnce, true, body).is_ok();
        if is_taken {
            waiting.positions.pop();
            self.target.parts.meters.positions.add(1);
        }
        is_taken
    }

    fn hand_over_description(&self, waiting: &mut Waiting) -> bool {
        let Some(discovery) = &mut waiting.discovery else { return true };
        let Some((vehicle, name)) = discovery.first() else { return true };
        let (topic, body) = (discovery.topic_of(vehicle), describe(vehicle, name, &self.topic_of(vehicle)));
        let is_taken = self.client.try_publish(topic, QoS::AtMostOnce, true, body).is_ok();
        if is_taken {
            discovery.pop();
        }
        is_taken
    }

    fn topic_of(&self, vehicle: VehicleId) -> String {
        format!("{}/vehicles/{}/position", self.root, vehicle.0)
    }
}

/// A longer one would end the connection, each time.
fn is_short_enough(message: &Message, sequence: i64) -> bool {
    let is_short = message.body.len() <= LONGEST_BYTES;
    if !is_short {
        tracing::warn!(sequence, "an event is too long for a broker and is passed over");
    }
    is_short
}

/// The vehicle whose master data an entry of the log changes, and how.
fn changed_vehicle(entry: &Entry) -> Option<(VehicleId, ChangeKind)> {
    match entry {
        Entry::Change(change) if change.resource == ChangedResource::Vehicle => {
            Some((VehicleId(change.resource_id), change.kind))
        }
        _ => None,
    }
}
