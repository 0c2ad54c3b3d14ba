//! Edits in the middle of a storm of reports: every record is explained by the version it names.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::time::Duration;

use futures_util::future::{join, join_all};
use waypost_actors::geofence::FenceTimeline;
use waypost_actors::live::{LiveConfig, LiveError};
use waypost_actors::model::{Cause, Event, EventKind, Fence, Fix, Place, Timestamp};
use waypost_actors::report::Reporter;

use crate::store::Fault;
use crate::world::{
    INSIDE, OUTSIDE, World, at, eventually, fence, fence_with, fix, known_vehicle, quick, square, vehicle,
    version, within,
};

const VEHICLES: u128 = 8;
const EDITS: i64 = 30;

/// More seconds than the fixes of a storm advance while an edit is made.
const AHEAD_SECONDS: f64 = 1e6;

/// What goes on besides the core: one time for fixes and edits, and every version that was made.
struct Storm {
    world: World,
    seconds: Cell<f64>,
    is_over: Cell<bool>,
    versions: RefCell<HashMap<i64, Fence>>,
}

/// The shape alternates between the two places; every third version is disabled.
fn edit(number: i64, from: Option<Timestamp>) -> Fence {
    let around = if number % 2 == 0 { OUTSIDE } else { INSIDE };
    let mut version = version(number, from, square(around));
    version.active = number % 3 != 0;
    fence_with(1, 1, version)
}

impl Storm {
    async fn begin(config: LiveConfig) -> Self {
        let vehicles = (1..=VEHICLES).map(|number| known_vehicle(number, 1)).collect();
        let world = World::of(vehicles, vec![edit(1, None)], config).await;
        let versions = RefCell::new(HashMap::from([(1, edit(1, None))]));
        Self { world, seconds: Cell::new(0.0), is_over: Cell::new(false), versions }
    }

    /// Every fix and every edit has an instant of its own.
    fn next_second(&self) -> f64 {
        self.seconds.set(self.seconds.get() + 1.0);
        self.seconds.get()
    }

    /// One fix after the other, on alternating sides, until stopped.
    async fn drive(&self, number: u128) {
        let mut reporter = self.world.live.reporter();
        let mut place = INSIDE;
        while !self.is_over.get() {
            place = if place == INSIDE { OUTSIDE } else { INSIDE };
            self.report(&mut reporter, number, fix(self.next_second(), place)).await;
        }
    }

    /// Reports a fix until it is acknowledged.
    async fn report(&self, reporter: &mut Reporter, number: u128, fix: Fix) {
        loop {
            let stored = match within(reporter.report(vehicle(number), vec![fix])).await {
                Ok(pending) => within(pending.committed()).await.is_ok(),
                Err(_) => false,
            };
            if stored {
                return;
            }
            eventually("the store is back", || self.world.live.is_available()).await;
        }
    }

    async fn edit(&self, plan: &[Fault]) {
        for number in 2..=EDITS {
            if number == EDITS / 2 {
                self.world.store.plan(plan);
            }
            // An edit may find the store away; then it is settled later.
            let _later = self.put(number).await;
        }
        eventually("the last one is settled", || self.world.store.is_settled(fence(1), EDITS)).await;
        self.is_over.set(true);
    }

    /// Makes the version take effect after every fix recorded so far, and before all others.
    async fn put(&self, number: i64) -> Result<(), LiveError> {
        let from = self.seconds.get() + AHEAD_SECONDS;
        let edit = edit(number, Some(at(from)));
        self.versions.borrow_mut().insert(number, edit.clone());
        // It is put only when it takes effect; fixes recorded later may be judged before it is known.
        self.seconds.set(from);
        self.world.clock.set(at(from));
        within(self.world.live.put_fences(vec![edit])).await
    }

    fn explain(&self, event: &Event) {
        let timeline = FenceTimeline::prepare(&self.versions.borrow()[&event.geofence_version]);
        let version = timeline.newest();
        let holds =
            version.active && version.shape.covers(Place::new(event.fix.latitude, event.fix.longitude));
        assert_eq!(holds, event.kind == EventKind::Entry, "{event:?}");
        if event.cause == Cause::GeofenceDeleted {
            assert!(!version.active, "{event:?}");
        }
        // A crossing may lie before the fix that shows it, and is judged by that fix's version.
        let found_at = event.occurred_at.max(event.fix.recorded_at);
        assert!(version.effective_from.is_none_or(|from| from <= found_at), "{event:?}");
    }

    /// Checks that every vehicle is where the newest version says.
    async fn check_places(&self, newest: i64) {
        let timeline = FenceTimeline::prepare(&self.versions.borrow()[&newest]);
        let newest = timeline.newest();
        let mut inside = 0;
        for number in 1..=VEHICLES {
            let state = self.world.store.state(vehicle(number));
            let last = state.last.expect("it reported");
            let is_in = newest.active && newest.shape.covers(last.place);
            assert_eq!(state.stay(fence(1)).is_some(), is_in, "vehicle {number}");
            inside += usize::from(is_in);
        }
        let told = self.world.live.inside(fence(1)).await.expect("it runs");
        assert_eq!(told.len(), inside);
    }
}

async fn storm_of_edits(config: LiveConfig, plan: &[Fault]) {
    let storm = Storm::begin(config).await;
    join(join_all((1..=VEHICLES).map(|number| storm.drive(number))), storm.edit(plan)).await;
    // The storm is over: the next fix of each is judged by the newest version, and nothing is late.
    for number in 1..=VEHICLES {
        let place = if number % 2 == 0 { INSIDE } else { OUTSIDE };
        let calm = fix(storm.next_second(), place);
        storm.report(&mut storm.world.live.reporter(), number, calm).await;
        assert_eq!(storm.world.store.state(vehicle(number)).last, Some(calm));
    }
    storm.check_places(EDITS).await;
    storm.put(EDITS + 1).await.expect("the store is back");
    storm.check_places(EDITS + 1).await;
    let events = storm.world.store.events();
    assert!(events.iter().any(|event| event.cause == Cause::GeofenceChanged), "edits met vehicles inside");
    for event in events {
        storm.explain(&event);
    }
    storm.world.end().await;
}

#[actix_rt::test]
async fn every_record_of_a_storm_is_explained_by_its_version() {
    storm_of_edits(quick(), &[]).await;
}

#[actix_rt::test]
async fn and_so_when_commits_fail_in_between() {
    use Fault::{Doubt, None, Refuse};
    storm_of_edits(quick(), &[Refuse, None, Doubt, None, None, Doubt, Refuse, None, Doubt]).await;
}

/// There is always something waiting for the next commit; an edit must not wait until there is nothing.
#[actix_rt::test]
async fn an_edit_ends_while_reports_keep_coming() {
    let storm = Storm::begin(LiveConfig { max_batch_rows: 2, ..quick() }).await;
    storm.world.store.set_slow(Duration::from_millis(2));
    let edits = async {
        eventually("reports keep coming", || storm.world.store.commits() > 50).await;
        for number in 2..=4 {
            storm.put(number).await.expect("the store is there");
        }
        storm.is_over.set(true);
    };
    join(join_all((1..=VEHICLES).map(|number| storm.drive(number))), edits).await;
    storm.world.end().await;
}
