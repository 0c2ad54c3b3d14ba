//! One subscription: its watch on the live core, and where its events continue.

use std::borrow::Cow;
use std::collections::HashMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::time::Instant;
use waypost_actors::live::{Live, LiveError};
use waypost_actors::model::{Change, Event, Timestamp};
use waypost_actors::tracking::RecordView;
use waypost_actors::watch::{Audience, CommittedRecord, News, PositionBatch, Update, Watch};

use super::changes::{Known, PendingDelta};
use super::filter::Filter;
use super::occupancy::{InsideOut, inside};
use super::protocol::Subscribe;
use super::{cursor, wire};
use crate::auth::{CursorSigner, Sees};

/// A backlog of more batches than this is merged instead of being sent batch by batch.
const MAX_AS_THEY_ARE: usize = 8;

/// Something of the log.
#[derive(Clone, Debug)]
pub enum Entry {
    /// What happened to a vehicle.
    Record(Arc<CommittedRecord>),
    /// A change of master data.
    Change(Change),
}

impl Entry {
    /// Its number.
    #[must_use]
    pub fn sequence(&self) -> i64 {
        match self {
            Self::Record(told) => told.record.sequence,
            Self::Change(change) => change.sequence,
        }
    }
}

/// A record's JSON, encoded once for all subscribers that may see all of it.
#[must_use]
pub fn encoded(told: &CommittedRecord, sees: Sees) -> Cow<'_, str> {
    let all = told.record.geofence().and_then(|detail| detail.analytics);
    let mut analytics = all;
    sees.narrow(&mut analytics);
    if analytics != all
        && let RecordView::Geofence(event) = RecordView::from(&told.record)
    {
        return Cow::Owned(wire::json(&Event { analytics, ..event }));
    }
    Cow::Borrowed(told.encoded(|record| wire::json(&RecordView::from(record))))
}

/// An active subscription.
pub(super) struct Subscription {
    pub(super) id: String,
    /// The same as JSON.
    pub(super) id_json: Arc<str>,
    /// What its cursors are signed for.
    cursor_purpose: String,
    pub(super) filter: Filter,
    pub(super) min_interval: Duration,
    pub(super) watch: Watch,
    /// The number of the next event to send.
    pub(super) next_sequence: i64,
    pub(super) changes: PendingDelta,
    next_delta: Instant,
}

impl Subscription {
    /// Starts watching; events start with the next one to come.
    pub(super) async fn begin(asked: &Subscribe, filter: Filter, live: &Live) -> Result<Self, LiveError> {
        let watch = live.watch(filter.interest.clone()).await?;
        Ok(Self {
            id: asked.id.clone(),
            id_json: wire::json(&asked.id).into(),
            cursor_purpose: cursor::purpose(filter.interest.audience),
            filter,
            min_interval: Duration::from_millis(asked.min_interval_ms),
            next_sequence: watch.next_sequence,
            watch,
            changes: PendingDelta::default(),
            next_delta: Instant::now(),
        })
    }

    pub(super) const fn audience(&self) -> Audience {
        self.filter.interest.audience
    }

    /// Watches anew after having lagged behind; events continue where they were.
    pub(super) async fn begin_anew(&mut self, live: &Live) -> Result<(), LiveError> {
        self.watch = live.watch(self.filter.interest.clone()).await?;
        Ok(())
    }

    /// Takes the vehicles of a new snapshot, shown or relevant for occupancy; changes count from it on.
    pub(super) fn take_snapshot(&mut self) -> Vec<Known> {
        let seen = std::mem::take(&mut self.watch.provisional);
        let mut seen: HashMap<_, _> = seen.into_iter().map(|seen| (seen.vehicle_id, seen)).collect();
        let vehicles = std::mem::take(&mut self.watch.vehicles).into_iter();
        let mut vehicles: Vec<Known> = vehicles
            .map(|(vehicle_id, organization_id, now)| {
                let provisional = seen.remove(&vehicle_id);
                Known { vehicle_id, organization_id, now, provisional }
            })
            .collect();
        let shown = vehicles.iter().filter(|known| self.shows_place(known)).map(|known| known.vehicle_id);
        self.changes = PendingDelta::from_snapshot(shown, &self.filter);
        vehicles.sort_unstable_by_key(|known| known.vehicle_id);
        vehicles
    }

    /// Whether a vehicle is within the subscription's area.
    fn shows_place(&self, known: &Known) -> bool {
        known.fix().is_none_or(|fix| self.filter.place(fix.place))
    }

    /// Some vehicles of a snapshot and their occupancy, as JSON.
    pub(super) fn snapshot_part(&self, some: &[Known]) -> (Box<RawValue>, Box<RawValue>) {
        let is_shown =
            |known: &&Known| self.filter.shows(known.now.state.fuel.is_some()) && self.shows_place(known);
        let shown: Vec<String> =
            some.iter().filter(is_shown).map(|known| wire::known(known, self.filter.sees)).collect();
        let interest = &self.filter.interest;
        let inside: Vec<InsideOut> = some
            .iter()
            .filter(|_| interest.occupancy)
            .flat_map(|known| inside(known.vehicle_id, &known.now.state))
            .filter(|inside| interest.fence(inside.geofence_id))
            .collect();
        (wire::list(shown.iter().map(String::as_str)), wire::raw(wire::json(&inside)))
    }

    /// Whether entries between those sent and those the watch will bring must come from the log.
    pub(super) fn is_behind(&self) -> bool {
        self.filter.interest.any_of_log() && self.next_sequence < self.watch.next_sequence
    }

    /// The next news that has to be sent now.
    pub(super) fn poll_news(&mut self, cx: &mut Context<'_>) -> Poll<News> {
        // While changes wait for their interval, further positions need not wake the subscription.
        let positions = self.changes.is_empty() || self.is_due();
        self.watch.poll_news(positions, cx)
    }

    /// The next news, if any is ready.
    pub(super) async fn waiting_news(&mut self) -> Option<News> {
        poll_fn(|cx| match self.watch.poll_news(true, cx) {
            Poll::Ready(news) => Poll::Ready(Some(news)),
            Poll::Pending => Poll::Ready(None),
        })
        .await
    }

    /// Takes in a commit; returns the entries of the log to send.
    pub(super) fn take(&mut self, update: &Update) -> Vec<Entry> {
        for vehicle in &update.vehicles {
            self.changes.add(vehicle, &self.filter);
        }
        let interest = &self.filter.interest;
        if interest.states() {
            for vehicle in update.removed.iter().filter(|vehicle| interest.vehicle(**vehicle)) {
                self.changes.remove(*vehicle);
            }
        }
        let entries = self.unseen(&update.records, &update.changes);
        self.next_sequence = self.next_sequence.max(update.next_sequence);
        entries
    }

    /// Takes in provisional positions.
    pub(super) fn see(&mut self, seen: &[Arc<PositionBatch>]) {
        for batch in seen {
            self.changes.see(batch, &self.filter);
        }
    }

    /// Whether these positions can be sent at once in their shared encoding, instead of being put together for this
    /// subscription alone. A backlog is merged instead.
    pub(super) fn tells_as_it_is(&self, seen: &[Arc<PositionBatch>]) -> bool {
        let is_all = self.filter.interest.positions && self.filter.sees.all() && !self.filter.has_box();
        is_all && seen.len() <= MAX_AS_THEY_ARE && self.changes.is_empty() && self.is_due()
    }

    /// The event number it continues at: past the events it was sent and those it did not want.
    pub(super) fn goes_on_at(&self) -> i64 {
        let known = self.watch.known_up_to().filter(|_| !self.is_behind());
        known.map_or(self.next_sequence, |known| known.max(self.next_sequence))
    }

    /// The cursor that goes on at a number of its log. `known_at`: everything numbered before it was told by then.
    pub(super) fn cursor(&self, signer: &CursorSigner, next_sequence: i64, known_at: Timestamp) -> String {
        cursor::sign_for(signer, &self.cursor_purpose, next_sequence, known_at)
    }

    /// The given records and changes that it wants and has not been sent, by number.
    pub(super) fn unseen(&self, records: &[Arc<CommittedRecord>], changes: &[Change]) -> Vec<Entry> {
        let interest = &self.filter.interest;
        let records = records.iter().filter(|told| interest.record(&told.record));
        let changes = changes.iter().filter(|change| interest.master_data(change));
        let entries = records.cloned().map(Entry::Record).chain(changes.copied().map(Entry::Change));
        let mut unseen: Vec<_> = entries.filter(|entry| entry.sequence() >= self.next_sequence).collect();
        unseen.sort_by_key(Entry::sequence);
        unseen
    }

    /// When the next delta is due, if there is anything to send.
    pub(super) fn delta_due(&self) -> Option<Instant> {
        (!self.changes.is_empty()).then_some(self.next_delta)
    }

    fn is_due(&self) -> bool {
        self.next_delta <= Instant::now()
    }

    pub(super) fn delta_sent(&mut self) {
        self.next_delta = Instant::now() + self.min_interval;
    }
}
