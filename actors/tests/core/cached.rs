//! What the cache for readers elsewhere receives.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures_util::future::{BoxFuture, ready};
use waypost_actors::clock;
use waypost_actors::live::{Live, LiveParts, LiveThreads, WatchdogConfig};
use waypost_actors::meters::Meters;
use waypost_actors::model::{OrganizationId, Place, Timestamp, VehicleId};
use waypost_actors::ports::{CacheError, LiveCache, Newest};

use crate::store::Store;
use crate::world::{INSIDE, OUTSIDE, eventually, fix, known_vehicle, quick, vehicle, within};

/// A cache in memory.
#[derive(Default)]
struct Shelf {
    holds: Mutex<BTreeMap<VehicleId, Place>>,
    is_filled: AtomicBool,
    is_away: AtomicBool,
}

impl Shelf {
    fn holds(&self) -> Vec<(VehicleId, Place)> {
        self.holds
            .lock()
            .expect("no test panics with it")
            .iter()
            .map(|(vehicle, place)| (*vehicle, *place))
            .collect()
    }

    fn empty(&self) {
        self.holds.lock().expect("no test panics with it").clear();
        self.is_filled.store(false, Ordering::SeqCst);
    }

    fn answer<'a, T: Send + 'a>(&self, answer: impl FnOnce() -> T) -> BoxFuture<'a, Result<T, CacheError>> {
        let is_away = self.is_away.load(Ordering::SeqCst);
        Box::pin(ready(if is_away { Err(CacheError::Timeout) } else { Ok(answer()) }))
    }

    fn take(&self, states: &[Newest]) {
        let places = states.iter().map(|(_, vehicle, state)| (*vehicle, state.last.expect("a place").place));
        self.holds.lock().expect("no test panics with it").extend(places);
    }
}

impl LiveCache for Shelf {
    fn put<'a>(
        &'a self,
        removed: &'a [(OrganizationId, VehicleId)],
        states: &'a [Newest],
        _: Timestamp,
    ) -> BoxFuture<'a, Result<(), CacheError>> {
        self.answer(|| {
            removed.iter().for_each(|(_, vehicle)| {
                self.holds.lock().expect("no test panics with it").remove(vehicle);
            });
            self.take(states);
        })
    }

    fn fill<'a>(&'a self, states: &'a [Newest], _: Timestamp) -> BoxFuture<'a, Result<(), CacheError>> {
        self.answer(|| {
            self.holds.lock().expect("no test panics with it").clear();
            self.take(states);
            self.is_filled.store(true, Ordering::SeqCst);
        })
    }

    fn is_filled(&self) -> BoxFuture<'_, Result<bool, CacheError>> {
        self.answer(|| self.is_filled.load(Ordering::SeqCst))
    }
}

#[actix_rt::test]
async fn it_is_filled_when_it_was_emptied_and_forgets_who_is_deleted() {
    let shelf = Arc::new(Shelf::default());
    let store = Arc::new(Store::new((1..=3).map(|n| known_vehicle(n, 1)).collect(), vec![]));
    let cache: Arc<dyn LiveCache> = Arc::clone(&shelf) as _;
    let meters = Meters::default();
    let threads = LiveThreads::start(1, WatchdogConfig::default(), &meters);
    let parts =
        LiveParts { config: quick(), store, cache: Some(cache), clock: clock::system(), meters, threads };
    let live = within(Live::start(parts)).await.expect("started");
    let mut reporter = live.reporter();
    let mut report = async |number, seconds, place| {
        let reported = reporter.report(vehicle(number), vec![fix(seconds, place)]).await.unwrap();
        within(reported.committed()).await.unwrap();
    };
    report(1, 0.0, INSIDE).await;
    report(2, 0.0, INSIDE).await;
    // The third one was never anywhere.
    let both = [(vehicle(1), INSIDE), (vehicle(2), INSIDE)];
    eventually("both are there", || shelf.holds() == both).await;
    eventually("and it is full", || shelf.is_filled.load(Ordering::SeqCst)).await;

    shelf.empty();
    eventually("they are there again, with no word from them", || shelf.holds() == both).await;

    // While the cache is away, one vehicle moves on and one is deleted: it gets both once it is back.
    shelf.is_away.store(true, Ordering::SeqCst);
    report(1, 1.0, OUTSIDE).await;
    within(live.remove_vehicle(vehicle(2), clock::now())).await.unwrap();
    shelf.is_away.store(false, Ordering::SeqCst);
    eventually("it moved on, and nobody else is there", || shelf.holds() == [(vehicle(1), OUTSIDE)]).await;
    within(live.stop()).await;
}
