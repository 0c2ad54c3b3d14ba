//! A dispatcher on the live feed: collects events, loses its connection on purpose, resumes by cursor.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use uuid::Uuid;

use super::records::Events;
use super::tracker::{ANSWER_WITHIN as HANDSHAKE_WITHIN, End};
use crate::Api;
use crate::socket::{self, hear, say};

/// A log or feed without news for this long is taken to be complete.
pub(super) const QUIET: Duration = Duration::from_secs(20);

/// Answers to a subscription come within this time.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// The name of the one subscription.
const SUBSCRIPTION: &str = "simulate";
/// The types of events that the list of geofence events has.
const LISTED: [&str; 3] = ["entry", "exit", "dwell"];

/// What the feed says, as far as it matters here. `subscribed` and `event` carry a cursor, a heartbeat
/// one per subscription.
#[derive(Deserialize)]
struct FeedMessage {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    cursor: Option<String>,
    #[serde(default)]
    cursors: HashMap<String, String>,
    #[serde(default)]
    event: Option<FeedEvent>,
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    detail: Option<String>,
}

#[derive(Deserialize)]
struct FeedEvent {
    id: Uuid,
    revision: i64,
    #[serde(default, rename = "type")]
    kind: String,
}

#[derive(Default)]
struct Seen {
    /// How often each revision of each record came.
    events: HashMap<(Uuid, i64), u32>,
    cursor: Option<String>,
    subscribed: bool,
    cuts: u32,
    resets: u32,
    failure: Option<String>,
    last_event: Option<Instant>,
    /// The server's last error message: it explains the close that follows.
    said: Option<String>,
}

impl Seen {
    fn fail(&mut self, reason: &str) {
        let said = self.said.as_deref().unwrap_or("no more said");
        self.failure = Some(format!("{reason} ({said})"));
    }
}

/// How the feed compares with what is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WatchReport {
    /// Different events received.
    pub received: usize,
    /// Stored and never received.
    pub missing: usize,
    /// Received more than once, repetitions counted.
    pub repeated: usize,
    /// Received and not stored.
    pub unknown: usize,
    /// Times the connection was cut on purpose.
    pub cuts: u32,
    /// Times the server asked for a new snapshot.
    pub resets: u32,
    /// Why the dispatcher gave up, if it did.
    pub failure: Option<String>,
}

impl WatchReport {
    /// Whether each event came exactly once.
    #[must_use]
    pub const fn agrees(&self) -> bool {
        self.missing + self.repeated + self.unknown == 0 && self.failure.is_none()
    }
}

/// A dispatcher under way.
pub(super) struct Watch {
    seen: Rc<RefCell<Seen>>,
    changed: Rc<Notify>,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// How to watch.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// The organization whose feed is watched.
    pub organization_id: String,
    /// Cut the connection at random, this many seconds apart on average.
    pub cut_seconds: Option<f64>,
    /// The seed of the moments to cut at.
    pub seed: u64,
    /// How long to keep trying to come back.
    pub reconnect_for: Duration,
}

/// Begins to watch; returns once the server has confirmed the subscription.
pub(super) async fn begin(api: Rc<Api>, plan: Plan) -> Result<Watch, String> {
    let (seen, changed) = (Rc::new(RefCell::new(Seen::default())), Rc::new(Notify::new()));
    let task = tokio::task::spawn_local(follow(api, plan, Rc::clone(&seen), Rc::clone(&changed)));
    let watch = Watch { seen, changed, task };
    while !watch.seen.borrow().subscribed {
        if let Some(failure) = watch.seen.borrow().failure.clone() {
            return Err(failure);
        }
        let news = timeout(ANSWER_WITHIN, watch.changed.notified()).await;
        if news.is_err() {
            let said = watch.seen.borrow().said.clone().unwrap_or_default();
            return Err(format!("the feed does not confirm the subscription {said}"));
        }
    }
    Ok(watch)
}

impl Watch {
    /// Waits until everything stored has come, or nothing more for a while; then compares.
    pub(super) async fn finish(self, stored: &Events) -> WatchReport {
        let begun = Instant::now();
        loop {
            let last = {
                let seen = self.seen.borrow();
                let may_be_complete = seen.events.len() >= stored.revisions.len();
                if seen.failure.is_some() || (may_be_complete && missing(&seen, stored).next().is_none()) {
                    break;
                }
                seen.last_event.unwrap_or(begun).max(begun)
            };
            if last.elapsed() >= QUIET {
                break;
            }
            let _ = timeout(QUIET, self.changed.notified()).await;
        }
        report(&self.seen.borrow(), stored)
    }
}

/// Records whose newest revision did not come.
fn missing<'a>(seen: &'a Seen, stored: &'a Events) -> impl Iterator<Item = &'a Uuid> {
    let newest = stored.revisions.iter().map(|(id, (newest, _))| (id, *newest));
    newest.filter(|(id, newest)| !seen.events.contains_key(&(**id, *newest))).map(|(id, _)| id)
}

fn report(seen: &Seen, stored: &Events) -> WatchReport {
    let known =
        |id: &Uuid, revision: i64| stored.revisions.get(id).is_some_and(|(newest, _)| revision <= *newest);
    WatchReport {
        received: seen.events.len(),
        missing: missing(seen, stored).count(),
        repeated: seen.events.values().map(|times| *times as usize - 1).sum(),
        unknown: seen.events.keys().filter(|(id, revision)| !known(id, *revision)).count(),
        cuts: seen.cuts,
        resets: seen.resets,
        failure: seen.failure.clone(),
    }
}

async fn follow(api: Rc<Api>, plan: Plan, seen: Rc<RefCell<Seen>>, changed: Rc<Notify>) {
    let mut rng = StdRng::seed_from_u64(plan.seed);
    let mut lost_at: Option<Instant> = None;
    loop {
        let before = seen.borrow().events.len();
        let end = session(&api, &plan, &seen, &changed, cut_after(&plan, &mut rng)).await;
        let reason = match end {
            Ok(()) => {
                seen.borrow_mut().cuts += 1;
                lost_at = None;
                continue;
            }
            // The access token may have run out between two connections.
            Err(End::Refused(reason)) if reason.starts_with("401") => {
                let _ = api.renew().await;
                reason
            }
            Err(End::Refused(reason)) => {
                seen.borrow_mut().fail(&reason);
                changed.notify_one();
                return;
            }
            Err(End::Lost(reason)) => reason,
        };
        if seen.borrow().events.len() > before {
            lost_at = None;
        }
        if lost_at.get_or_insert_with(Instant::now).elapsed() >= plan.reconnect_for {
            seen.borrow_mut().fail(&reason);
            changed.notify_one();
            return;
        }
        sleep(Duration::from_millis(rng.random_range(50..500))).await;
    }
}

/// Exponentially distributed around the mean, so that cuts come at any moment.
fn cut_after(plan: &Plan, rng: &mut StdRng) -> Option<Duration> {
    let mean = plan.cut_seconds?;
    let uniform: f64 = rng.random_range(f64::EPSILON..1.0);
    Some(Duration::from_secs_f64((-uniform.ln() * mean).clamp(0.01, mean * 10.0)))
}

/// One connection. `Ok` when it was cut on purpose.
async fn session(
    api: &Api,
    plan: &Plan,
    seen: &RefCell<Seen>,
    changed: &Notify,
    cut: Option<Duration>,
) -> Result<(), End> {
    let feed = socket::feed_of(api.server(), &api.token(), &plan.organization_id);
    let mut socket = socket::open(feed, HANDSHAKE_WITHIN).await?;
    let mut subscribe = json!({
        "type": "subscribe",
        "id": SUBSCRIPTION,
        "topics": ["events", "occupancy"],
        "filter": { "organizationId": plan.organization_id },
    });
    if let Some(cursor) = seen.borrow().cursor.clone() {
        subscribe["cursor"] = cursor.into();
    }
    say(&mut socket, subscribe.to_string()).await?;
    let cut_at = cut.map(|after| Instant::now() + after);
    loop {
        let text = tokio::select! {
            text = hear(&mut socket) => text?,
            () = sleep_until(cut_at.unwrap_or_else(Instant::now)), if cut_at.is_some() => return Ok(()),
        };
        take(&text, &mut seen.borrow_mut())?;
        changed.notify_one();
    }
}

fn take(text: &str, seen: &mut Seen) -> Result<(), End> {
    let wrong = |error| End::Refused(format!("not the protocol: {error}: {text}"));
    let message: FeedMessage = serde_json::from_str(text).map_err(wrong)?;
    match message.kind.as_str() {
        "subscribed" => seen.subscribed = true,
        "reset" => seen.resets += 1,
        "error" => {
            let [code, detail] = [message.code, message.detail].map(Option::unwrap_or_default);
            seen.said = Some(format!("{code}: {detail}"));
        }
        _ => {}
    }
    let is_listed = |event: &FeedEvent| LISTED.contains(&event.kind.as_str());
    if let Some(event) = message.event.filter(is_listed) {
        *seen.events.entry((event.id, event.revision)).or_default() += 1;
        seen.last_event = Some(Instant::now());
    }
    if let Some(cursor) = message.cursor.or_else(|| message.cursors.get(SUBSCRIPTION).cloned()) {
        seen.cursor = Some(cursor);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(n: u128, revision: i64, cursor: &str) -> String {
        let id = Uuid::from_u128(n);
        json!({"type": "event", "id": "simulate", "cursor": cursor, "event": {"id": id, "type": "entry", "revision": revision}}).to_string()
    }

    #[test]
    fn missing_repeated_and_unknown_events_are_told_apart() {
        let mut seen = Seen::default();
        take(r#"{"type":"subscribed","id":"simulate","cursor":"c0"}"#, &mut seen).unwrap();
        assert_eq!((seen.subscribed, seen.cursor.as_deref()), (true, Some("c0")));
        for text in [event(1, 1, "c1"), event(2, 1, "c2"), event(2, 1, "c3"), event(9, 1, "c4")] {
            take(&text, &mut seen).unwrap();
        }
        assert_eq!(seen.cursor.as_deref(), Some("c4"));
        take(
            r#"{"type":"heartbeat","serverTime":"2026-01-01T00:00:00Z","cursors":{"simulate":"c5"}}"#,
            &mut seen,
        )
        .unwrap();
        assert_eq!(seen.cursor.as_deref(), Some("c5"));
        let stored = |ids: &[u128]| Events {
            revisions: ids.iter().map(|id| (Uuid::from_u128(*id), (1, 1))).collect(),
            ..Events::default()
        };
        let told = report(&seen, &stored(&[1, 2, 3]));
        assert_eq!((told.received, told.missing, told.repeated, told.unknown), (3, 1, 1, 1));
        assert!(!told.agrees());
        seen.events.retain(|_, times| *times == 1);
        assert!(report(&seen, &stored(&[1, 9])).agrees());
    }
}
