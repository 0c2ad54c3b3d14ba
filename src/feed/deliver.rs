//! Delivery to a subscription: its snapshot, what it missed of the log, what comes, and deltas.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};
use waypost_actors::model::Change;
use waypost_actors::watch::{CommittedRecord, News, PositionBatch, Update};

use super::changes::Delta;
use super::ending::{Close, Stop, ended, store_away};
use super::filter::Filter;
use super::merged::{FeedMessage, MergedSubscription};
use super::occupancy::OccupancyOut;
use super::outlet::Telling;
use super::protocol::{ResetReason, Say, Subscribe};
use super::session::{Socket, Step};
use super::shard_feed::{ShardFeeds, ShardMessage};
use super::subscription::{Entry, Subscription, encoded};
use super::wire::PART;
use super::{cursor, wire};
use crate::auth::Sees;
use crate::domain::change::ShownChange;
use crate::sessions::End;

/// Entries per read from the log.
const LOG_PAGE: i64 = 500;
/// The store has this long to tell what a changed thing looks like now.
const SHOWN_WITHIN: Duration = Duration::from_secs(10);

impl Socket {
    pub(super) async fn begin(&mut self, asked: &Subscribe, filter: Filter) -> Step {
        let (now, audience) = (self.feed.live.now(), filter.interest.audience);
        let asked_for = asked
            .cursor
            .as_deref()
            .and_then(|text| cursor::open(&self.feed.auth.cursor_signer, audience, text, now));
        let begun = Subscription::begin(asked, filter, &self.feed.live).await;
        let mut subscription = begun.map_err(|_| ended(End::Restarting))?;
        let next = subscription.next_sequence;
        let resumed = asked_for.filter(|from| self.feed.log.goes_on_from(audience, *from, next));
        subscription.next_sequence = resumed.unwrap_or(subscription.next_sequence);
        let sealed = self.cursor(&subscription);
        self.subscriptions.push(subscription);
        let index = self.subscriptions.len() - 1;
        self.subscribed(asked, resumed.is_some(), &sealed).await?;
        self.snapshot(index).await?;
        self.catch_up(index).await
    }

    /// Subscribes to all organizations of a cluster, and goes on where the client was at each of its shards.
    pub(super) async fn begin_merged(
        &mut self,
        asked: &Subscribe,
        filter: &Filter,
        feeds: &dyn ShardFeeds,
    ) -> Step {
        let (auth, now) = (self.feed.auth.clone(), self.feed.live.now());
        let from = asked.cursor.as_deref().and_then(|text| cursor::open_all(&auth.cursor_signer, text, now));
        let goes_on = (from, filter.has_snapshot());
        let merged = MergedSubscription::begin(feeds, (&auth, &self.caller), asked, goes_on).await?;
        let (resumed, sealed) = (merged.resumed(), merged.cursor(&auth.cursor_signer, now));
        self.merged.push(merged);
        self.subscribed(asked, resumed, &sealed).await
    }

    /// Says where a subscription begins.
    async fn subscribed(&mut self, asked: &Subscribe, resumed: bool, cursor: &str) -> Step {
        if asked.cursor.is_some() && !resumed {
            self.say(&Say::Reset { id: &asked.id, reason: ResetReason::CursorExpired }).await?;
        }
        let mode = if resumed { "resumed" } else { "snapshot" };
        self.say(&Say::Subscribed { id: &asked.id, mode, cursor }).await
    }

    /// Tells the client what a shard said to a subscription to all of them.
    pub(super) async fn said(&mut self, index: usize, place: usize, said: Option<ShardMessage>) -> Step {
        let (signer, now) = (&self.feed.auth.cursor_signer, self.feed.live.now());
        match self.merged[index].take(place, said, (signer, now))? {
            Some(FeedMessage { kind, cursor, text }) => {
                self.tell_client(Telling { kind, cursor: cursor.as_deref(), text: &[&text] }).await
            }
            None => Ok(()),
        }
    }

    /// Sends the current state, in parts, so that no message is large.
    pub(super) async fn snapshot(&mut self, index: usize) -> Step {
        let subscription = &mut self.subscriptions[index];
        let vehicles = subscription.take_snapshot();
        if !subscription.filter.has_snapshot() {
            return Ok(());
        }
        let id = subscription.id.clone();
        let parts = vehicles.chunks(PART).count().max(1);
        for part in 0..parts {
            let some = vehicles.chunks(PART).nth(part).unwrap_or_default();
            let (vehicles, occupancy) = self.subscriptions[index].snapshot_part(some);
            let last = part + 1 == parts;
            self.say(&Say::Snapshot { id: &id, part, last, vehicles: &vehicles, occupancy: &occupancy })
                .await?;
        }
        Ok(())
    }

    /// Sends the entries of the log between those sent and those the watch will bring.
    pub(super) async fn catch_up(&mut self, index: usize) -> Step {
        while self.subscriptions[index].is_behind() {
            let (entries, next) = self.logged(index).await?;
            self.tell(index, entries).await?;
            let subscription = &mut self.subscriptions[index];
            subscription.next_sequence = subscription.next_sequence.max(next);
        }
        Ok(())
    }

    /// The next entries of the log, and the number up to which there are no others.
    async fn logged(&self, index: usize) -> Result<(Vec<Entry>, i64), Stop> {
        let subscription = &self.subscriptions[index];
        let (audience, from, until) =
            (subscription.audience(), subscription.next_sequence, subscription.watch.next_sequence);
        let (log, interest) = (&self.feed.log, &subscription.filter.interest);
        let mut records = match interest.any_records() {
            true => log.records_from(audience, from, LOG_PAGE).await.map_err(store_away)?,
            false => Vec::new(),
        };
        let mut changes = match interest.changes {
            true => log.changes_from(audience, from, LOG_PAGE).await.map_err(store_away)?,
            false => Vec::new(),
        };
        // What lies beyond the last number of a full page is unknown.
        let known = |read: usize, last: Option<i64>| match last {
            Some(last) if read >= LOG_PAGE as usize => last + 1,
            _ => until,
        };
        let of_records = known(records.len(), records.last().map(|record| record.sequence));
        let of_changes = known(changes.len(), changes.last().map(|change| change.sequence));
        let next = of_records.min(of_changes).min(until);
        records.retain(|record| record.sequence < next);
        changes.retain(|change| change.sequence < next);
        let records: Vec<_> =
            records.into_iter().map(|record| Arc::new(CommittedRecord::new(record))).collect();
        Ok((subscription.unseen(&records, &changes), next))
    }

    pub(super) async fn news(&mut self, index: usize, news: News) -> Step {
        match news {
            News::Commit(update, seen) => {
                self.subscriptions[index].see(&seen);
                self.update(index, &update).await
            }
            News::Provisional(seen) => self.seen(index, &seen).await,
            News::Lost => self.lagged(index).await,
        }
    }

    async fn seen(&mut self, index: usize, seen: &[Arc<PositionBatch>]) -> Step {
        let takes_frames = self.takes_frames();
        let subscription = &mut self.subscriptions[index];
        if !takes_frames || !subscription.tells_as_it_is(seen) {
            subscription.see(seen);
            return Ok(());
        }
        subscription.delta_sent();
        for batch in seen {
            for frame in &*wire::seen_frames(&self.subscriptions[index].id, batch) {
                self.send(frame.clone()).await?;
            }
        }
        Ok(())
    }

    async fn update(&mut self, index: usize, update: &Update) -> Step {
        let entries = self.subscriptions[index].take(update);
        self.tell(index, entries).await
    }

    async fn tell(&mut self, index: usize, entries: Vec<Entry>) -> Step {
        if entries.is_empty() {
            return Ok(());
        }
        let (id, now) = (Arc::clone(&self.subscriptions[index].id_json), self.feed.live.now());
        for entry in entries {
            let (kind, body) = match &entry {
                Entry::Record(told) => ("event", encoded(told, self.subscriptions[index].filter.sees)),
                Entry::Change(change) => match self.shown(*change).await? {
                    Some(shown) => ("change", wire::json(&shown).into()),
                    None => continue,
                },
            };
            let signer = &self.feed.auth.cursor_signer;
            let cursor = self.subscriptions[index].cursor(signer, entry.sequence() + 1, now);
            let text = wire::entry(kind, &id, &cursor, &body);
            self.tell_client(Telling { kind, cursor: Some(&cursor), text: &text }).await?;
        }
        Ok(())
    }

    /// A change as this caller may see it, if at all.
    async fn shown(&self, change: Change) -> Result<Option<ShownChange>, Stop> {
        let shown = timeout(SHOWN_WITHIN, (self.show_change)(self.caller.clone(), change)).await;
        shown.unwrap_or_else(|_| Err("no answer in time".to_owned())).map_err(store_away)
    }

    /// Handles a client too slow for the watch: summarizes what it missed, without losing events.
    pub(super) async fn lagged(&mut self, index: usize) -> Step {
        let minute = Duration::from_secs(60);
        self.resets.retain(|at| at.elapsed() < minute);
        self.resets.push(Instant::now());
        if self.resets.len() > self.feed.limits.resets_per_minute {
            let detail = "too slow for this feed; resume with the last cursor";
            return Err(Stop::Close(Close(4408, "slowReader", detail.to_owned())));
        }
        let live = self.feed.live.clone();
        let subscription = &mut self.subscriptions[index];
        subscription.begin_anew(&live).await.map_err(|_| ended(End::Restarting))?;
        let id = subscription.id.clone();
        self.say(&Say::Reset { id: &id, reason: ResetReason::SlowReader }).await?;
        self.snapshot(index).await?;
        self.catch_up(index).await
    }

    pub(super) async fn deltas(&mut self) -> Step {
        for index in 0..self.subscriptions.len() {
            let subscription = &self.subscriptions[index];
            if subscription.delta_due().is_none_or(|due| due > Instant::now()) {
                continue;
            }
            // All waiting news first, so that the delta has the newest positions and none that a waiting commit
            // supersedes.
            while let Some(news) = self.subscriptions[index].waiting_news().await {
                match news {
                    News::Provisional(seen) => self.subscriptions[index].see(&seen),
                    news => self.news(index, news).await?,
                }
            }
            let subscription = &mut self.subscriptions[index];
            subscription.delta_sent();
            let delta = subscription.changes.take();
            let (id, sees) = (subscription.id.clone(), subscription.filter.sees);
            self.delta(&id, sees, &delta).await?;
        }
        Ok(())
    }

    /// Sends a large delta in parts; crossings and removals are in the first.
    async fn delta(&mut self, id: &str, sees: Sees, delta: &Delta) -> Step {
        let nobody = OccupancyOut::default();
        for part in 0..delta.vehicles.chunks(PART).count().max(1) {
            let vehicles = delta.vehicles.chunks(PART).nth(part).unwrap_or_default();
            let (removes, occupancy) =
                if part == 0 { (delta.removes.as_slice(), &delta.occupancy) } else { (&[][..], &nobody) };
            let text = wire::delta(id, sees, vehicles, removes, occupancy);
            self.tell_client(Telling { kind: "delta", cursor: None, text: &[&text] }).await?;
        }
        Ok(())
    }

    pub(super) fn cursor(&self, subscription: &Subscription) -> String {
        let (cursor_signer, now) = (&self.feed.auth.cursor_signer, self.feed.live.now());
        subscription.cursor(cursor_signer, subscription.goes_on_at(), now)
    }
}
