//! Places, fences, vehicles, a clock that is set, and a live core on them.
//!
//! The fence of most tests is a square of 0.01° around [`INSIDE`]; every fix on the other side makes
//! exactly one event.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use uuid::Uuid;
use waypost_actors::clock::Clock;
use waypost_actors::live::{Live, LiveConfig, LiveParts, LiveThreads, WatchdogConfig};
use waypost_actors::meters::Invariant;
use waypost_actors::meters::Meters;
use waypost_actors::model::{
    Fence, FenceVersion, Fix, GeofenceId, OrganizationId, Place, Polygon, Rules, ShapeSpec, Timestamp,
    Vehicle, VehicleId, VehicleLimits,
};

use crate::store::Store;

pub(crate) const INSIDE: Place = Place::new(0.005, 0.005);
pub(crate) const OUTSIDE: Place = Place::new(0.005, 0.025);

/// No test waits longer than this.
const DEADLINE: Duration = Duration::from_secs(60);

pub(crate) fn org(number: u128) -> OrganizationId {
    OrganizationId(Uuid::from_u128(1_000 + number))
}

pub(crate) fn vehicle(number: u128) -> VehicleId {
    VehicleId(Uuid::from_u128(2_000 + number))
}

pub(crate) fn fence(number: u128) -> GeofenceId {
    GeofenceId(Uuid::from_u128(3_000 + number))
}

/// `seconds` after the clock's beginning.
pub(crate) fn at(seconds: f64) -> Timestamp {
    Timestamp::from_micros(1_700_000_000_000_000).plus_seconds(seconds)
}

pub(crate) fn fix(seconds: f64, place: Place) -> Fix {
    Fix::new(at(seconds), at(seconds), place)
}

/// Fixes that cross the boundary every time, a second apart; the first is inside.
pub(crate) fn crossings(count: usize) -> Vec<Fix> {
    (0..count).map(|i| fix(i as f64, if i % 2 == 0 { INSIDE } else { OUTSIDE })).collect()
}

pub(crate) fn known_vehicle(number: u128, organization: u128) -> Vehicle {
    Vehicle {
        id: vehicle(number),
        organization_id: org(organization),
        name: format!("V{number}"),
        limits: VehicleLimits { max_speed_kmh: None, max_accuracy_meters: None, overspeed_kmh: None },
        out_of_service: vec![],
        calibrations: vec![],
    }
}

/// The square of 0.01° around a place.
pub(crate) fn square(around: Place) -> ShapeSpec {
    let corner = |dy: f64, dx: f64| Place::new(around.latitude + dy, around.longitude + dx);
    let vertices =
        vec![corner(-0.005, -0.005), corner(-0.005, 0.005), corner(0.005, 0.005), corner(0.005, -0.005)];
    ShapeSpec::Polygon(Polygon { vertices, holes: vec![] })
}

pub(crate) fn version(number: i64, from: Option<Timestamp>, shape: ShapeSpec) -> FenceVersion {
    FenceVersion {
        version: number,
        effective_from: from,
        changed_at: from.unwrap_or(at(-1000.0)),
        active: true,
        deleted: false,
        shape,
        rules: Rules::EXACT,
    }
}

/// A fence with one version.
pub(crate) fn fence_with(number: u128, organization: u128, version: FenceVersion) -> Fence {
    Fence {
        id: fence(number),
        organization_id: org(organization),
        name: format!("F{number}"),
        versions: vec![version],
    }
}

/// A clock that tests set, make panic and make stand still.
pub(crate) struct TestClock {
    micros: AtomicI64,
    panics: AtomicU64,
    stands: Mutex<Standstill>,
    changed: Condvar,
    read_on: Mutex<Option<ThreadId>>,
}

#[derive(Default)]
struct Standstill {
    wanted: bool,
    waiting: usize,
}

impl TestClock {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            micros: AtomicI64::new(at(100.0).as_micros()),
            panics: AtomicU64::new(0),
            stands: Mutex::default(),
            changed: Condvar::new(),
            read_on: Mutex::default(),
        })
    }

    fn stands(&self) -> MutexGuard<'_, Standstill> {
        self.stands.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, now: Timestamp) {
        self.micros.store(now.as_micros(), Ordering::SeqCst);
    }

    /// Makes the next `times` readings panic: each in a step of the vehicle that reads.
    pub(crate) fn panic_next(&self, times: u64) {
        self.panics.store(times, Ordering::SeqCst);
    }

    pub(crate) fn panics_left(&self) -> u64 {
        self.panics.load(Ordering::SeqCst)
    }

    /// Makes every thread that reads the clock wait until [`Self::go_on`].
    pub(crate) fn stand_still(&self) {
        self.stands().wanted = true;
    }

    pub(crate) fn go_on(&self) {
        self.stands().wanted = false;
        self.changed.notify_all();
    }

    /// The number of threads that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.stands().waiting
    }

    /// The thread that read it last: that of the vehicle that made the last step.
    pub(crate) fn read_on(&self) -> Option<ThreadId> {
        *self.read_on.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self) -> Timestamp {
        *self.read_on.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread::current().id());
        let mut stands = self.stands();
        stands.waiting += 1;
        stands =
            self.changed.wait_while(stands, |stands| stands.wanted).unwrap_or_else(PoisonError::into_inner);
        stands.waiting -= 1;
        drop(stands);
        let panics =
            self.panics.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        assert!(!panics, "the clock panics, as it was told");
        Timestamp::from_micros(self.micros.load(Ordering::SeqCst))
    }
}

/// A live core, its store and its clock.
pub(crate) struct World {
    pub(crate) store: Arc<Store>,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) live: Live,
    reading: Clock,
    readers: usize,
}

/// Times that suit a test: nothing waits longer than it must.
pub(crate) fn quick() -> LiveConfig {
    LiveConfig {
        batch_window: Duration::from_millis(1),
        probe_every: Duration::from_millis(1),
        correction_delay: Duration::from_millis(1),
        connection_look_every: Duration::from_millis(1),
        ..LiveConfig::default()
    }
}

impl World {
    /// `vehicles` vehicles of organization 1 and the square fence 1 around [`INSIDE`].
    pub(crate) async fn with(vehicles: u128, config: LiveConfig) -> Self {
        let fences = vec![fence_with(1, 1, version(1, None, square(INSIDE)))];
        Self::of((1..=vehicles).map(|n| known_vehicle(n, 1)).collect(), fences, config).await
    }

    pub(crate) async fn of(vehicles: Vec<Vehicle>, fences: Vec<Fence>, config: LiveConfig) -> Self {
        Self::on(Arc::new(Store::new(vehicles, fences)), config).await
    }

    /// A server that starts with what a store holds.
    pub(crate) async fn on(store: Arc<Store>, config: LiveConfig) -> Self {
        Self::at(store, config, at(100.0)).await
    }

    /// A server that starts with what a store holds, at a given time of its clock.
    pub(crate) async fn at(store: Arc<Store>, config: LiveConfig, now: Timestamp) -> Self {
        let meters = Meters::default();
        let threads = LiveThreads::start(2, WatchdogConfig::default(), &meters);
        Self::on_threads((threads, meters), store, config, now).await
    }

    /// As [`Self::at`], on threads that may be others' too, and with what they count in.
    pub(crate) async fn on_threads(
        (threads, meters): (LiveThreads, Meters),
        store: Arc<Store>,
        config: LiveConfig,
        now: Timestamp,
    ) -> Self {
        let clock = TestClock::new();
        clock.set(now);
        let hands = Arc::clone(&clock);
        let reading: Clock = Arc::new(move || hands.read());
        let parts = LiveParts {
            config,
            store: store.clone(),
            cache: None,
            clock: Arc::clone(&reading),
            meters,
            threads,
        };
        let live = within(Live::start(parts)).await.expect("the store answers at the start");
        // The handle and the directory hold the clock from the start.
        let readers = Arc::strong_count(&reading);
        Self { store, clock, live, reading, readers }
    }

    /// Whether all actors are gone: this and the handle hold the clock too.
    pub(crate) fn has_ended(&self) -> bool {
        Arc::strong_count(&self.reading) == 2
    }

    /// How many vehicle actors there are: each holds the clock.
    pub(crate) fn actors(&self) -> usize {
        Arc::strong_count(&self.reading) - self.readers
    }

    /// Ends the server and checks the books, and that it found no broken invariant in itself.
    pub(crate) async fn end(self) {
        let meters = self.live.meters().clone();
        within(self.live.stop()).await;
        self.store.audit();
        for invariant in Invariant::ALL {
            assert_eq!(meters.violations(invariant), 0, "{invariant:?}");
        }
    }
}

/// The answer, before the deadline.
pub(crate) async fn within<T>(answer: impl Future<Output = T>) -> T {
    timeout(DEADLINE, answer).await.expect("an answer before the deadline")
}

/// Checks until the condition holds, or the deadline has passed.
pub(crate) async fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < DEADLINE, "never came true: {what}");
        sleep(Duration::from_millis(1)).await;
    }
}
