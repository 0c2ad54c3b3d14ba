//! Watchers: a snapshot and every commit after it, for those who may see it, bounded.

use std::collections::{BTreeMap, BTreeSet};
use std::task::{Context, Poll, Waker};

use futures_util::future::{join, join_all};
use tokio::sync::mpsc::error::TryRecvError;
use waypost_actors::live::LiveConfig;
use waypost_actors::model::{Event, Fix, GeofenceId, VehicleId};
use waypost_actors::watch::{Audience, News, PositionBatch, Update, Watch};

use crate::client::deliver;
use crate::ledger::geofence_events;
use crate::store::Store;
use crate::world::{
    INSIDE, OUTSIDE, World, crossings, eventually, fence_with, fix, known_vehicle, org, quick, square,
    vehicle, version, within,
};

/// What a watcher knows after reading everything.
struct Known {
    audience: Audience,
    /// The number of the first event it gets, and of the next.
    first: i64,
    next: i64,
    events: Vec<Event>,
    /// Where each vehicle is, and how new that is.
    places: BTreeMap<VehicleId, (u64, Option<Fix>)>,
    inside: BTreeSet<(VehicleId, GeofenceId)>,
}

/// The next news, if there is any.
pub(crate) fn news(watch: &mut Watch) -> Option<News> {
    match watch.poll_news(true, &mut Context::from_waker(Waker::noop())) {
        Poll::Ready(news) => Some(news),
        Poll::Pending => None,
    }
}

impl Known {
    /// Reads the snapshot.
    fn begin(watch: &Watch, audience: Audience) -> Self {
        let (first, next) = (watch.next_sequence, watch.next_sequence);
        let (places, inside) = (BTreeMap::new(), BTreeSet::new());
        let mut known = Self { audience, first, next, events: vec![], places, inside };
        for (id, organization, now) in &watch.vehicles {
            assert!(audience.sees(*organization));
            known.inside.extend(now.state.open_stays().map(|stay| (*id, stay.geofence_id)));
            assert!(known.places.insert(*id, (0, now.state.last)).is_none(), "each vehicle once");
        }
        for provisional in &watch.provisional {
            known.places.insert(provisional.vehicle_id, (provisional.order, provisional.fix().copied()));
        }
        known
    }

    /// Reads the news there is, checking that each follows on the one before.
    fn read(&mut self, watch: &mut Watch) {
        while let Some(news) = news(watch) {
            match news {
                News::Provisional(seen) => self.see(&seen),
                News::Commit(update, seen) => {
                    self.see(&seen);
                    self.commit(&update);
                }
                News::Lost => panic!("nobody is slow here"),
            }
        }
    }

    /// Whether each vehicle is where the store has it.
    fn is_there(&self, store: &Store) -> bool {
        self.places.iter().all(|(id, (_, place))| *place == store.state(*id).last)
    }

    fn see(&mut self, seen: &[std::sync::Arc<PositionBatch>]) {
        for provisional in seen.iter().flat_map(|batch| &batch.provisional) {
            assert!(self.audience.sees(provisional.organization_id));
            self.places.insert(provisional.vehicle_id, (provisional.order, provisional.fix().copied()));
        }
    }

    fn commit(&mut self, update: &Update) {
        for vehicle in &update.vehicles {
            assert!(self.audience.sees(vehicle.organization_id));
            let id = vehicle.vehicle_id;
            for left in &vehicle.left {
                assert!(self.inside.remove(&(id, *left)), "left what it was not in");
            }
            for entered in &vehicle.entered {
                assert!(self.inside.insert((id, entered.geofence_id)), "entered what it was in");
            }
            if self.places.get(&id).is_none_or(|(order, _)| *order < vehicle.order) {
                let seen = vehicle.provisional.as_ref().map(|provisional| provisional.fix().copied());
                self.places.insert(id, (vehicle.order, seen.unwrap_or(vehicle.state.last)));
            }
        }
        for record in update.records.iter().map(|told| &told.record) {
            assert!(self.audience.sees(record.organization_id));
            assert!(record.sequence >= self.next && record.sequence < update.next_sequence);
            self.next = record.sequence + 1;
            self.events.extend(geofence_events([record]));
        }
        assert!(update.next_sequence >= self.next);
        self.next = update.next_sequence;
    }

    /// Checks that it matches what the store holds for the audience, each event since the snapshot once.
    fn is_complete(&self, store: &Store) {
        let mine = |event: &Event| self.audience.sees(event.organization_id);
        let events: Vec<Event> =
            store.events().into_iter().filter(|e| mine(e) && e.sequence >= self.first).collect();
        assert_eq!(self.events, events);
        let mut inside = BTreeSet::new();
        assert!(self.is_there(store));
        for id in self.places.keys() {
            inside.extend(store.state(*id).open_stays().map(|stay| (*id, stay.geofence_id)));
        }
        assert_eq!(self.inside, inside);
    }
}

/// Vehicles 1 to 5 of organization 1 and 6 to 10 of organization 2, a fence each.
async fn two_fleets(config: LiveConfig) -> World {
    let vehicles = (1..=10).map(|n| known_vehicle(n, if n <= 5 { 1 } else { 2 })).collect();
    let fences = (1..=2).map(|n| fence_with(n, n, version(1, None, square(INSIDE)))).collect();
    World::of(vehicles, fences, config).await
}

#[actix_rt::test]
async fn whoever_begins_in_the_middle_misses_nothing_and_gets_nothing_twice() {
    let world = two_fleets(LiveConfig { watch_capacity: 10_000, max_batch_rows: 20, ..quick() }).await;
    let audiences = [Audience::Everyone, Audience::Organization(org(1)), Audience::Organization(org(2))];
    let fixes = crossings(80);
    let sends = join_all((1..=10).map(|n| deliver(&world.live, &world.store, vehicle(n), &fixes, 2)));
    let watches = async {
        let mut watches = Vec::new();
        for round in 0..20 {
            eventually("more is committed", || world.store.events().len() >= round * 40).await;
            for audience in audiences {
                watches.push((audience, world.live.watch(audience).await.unwrap()));
            }
        }
        watches
    };
    let (_, watches) = join(sends, watches).await;
    assert!(watches.iter().any(|(_, watch)| watch.next_sequence > 1), "some began in the middle");
    for (audience, mut watch) in watches {
        let mut known = Known::begin(&watch, audience);
        // What goes to many watchers is gathered for a moment.
        eventually("the last is told", || {
            known.read(&mut watch);
            known.is_there(&world.store)
        })
        .await;
        assert_eq!(known.places.len(), if audience == Audience::Everyone { 10 } else { 5 });
        known.is_complete(&world.store);
    }
    world.end().await;
}

#[actix_rt::test]
async fn one_who_does_not_read_is_let_go_and_nobody_else() {
    let world = two_fleets(LiveConfig { watch_capacity: 4, ..quick() }).await;
    let mut asleep = world.live.watch(Audience::Everyone).await.unwrap();
    let mut awake = world.live.watch(Audience::Everyone).await.unwrap();
    let mut stranger = world.live.watch(Audience::Organization(org(2))).await.unwrap();
    let mut reporter = world.live.reporter();
    let mut heard = 0;
    for fix in crossings(50) {
        let pending = within(reporter.report(vehicle(1), vec![fix])).await.unwrap();
        within(pending.committed()).await.unwrap();
        heard += within(awake.updates.recv()).await.expect("who reads is served").records.len();
    }
    assert_eq!(heard, 50);
    for _ in 0..4 {
        asleep.updates.try_recv().expect("what there was room for");
    }
    assert_eq!(asleep.updates.try_recv().unwrap_err(), TryRecvError::Disconnected);
    // The other tenant's commits take no room in this channel.
    assert_eq!(stranger.updates.try_recv().unwrap_err(), TryRecvError::Empty);
    let own = within(reporter.report(vehicle(6), vec![fix(0.0, INSIDE)])).await.unwrap();
    within(own.committed()).await.unwrap();
    assert_eq!(stranger.updates.try_recv().unwrap().records.len(), 1);
    // And it may start over.
    let anew = world.live.watch(Audience::Everyone).await.unwrap();
    assert_eq!(anew.next_sequence, 52);
    world.end().await;
}

#[actix_rt::test]
async fn who_left_and_came_back_within_one_commit_is_told_by_the_new_visit() {
    let world = two_fleets(quick()).await;
    let mut reporter = world.live.reporter();
    let mut watch = world.live.watch(Audience::Everyone).await.unwrap();
    for fixes in [vec![fix(0.0, INSIDE)], vec![fix(10.0, OUTSIDE), fix(20.0, INSIDE)]] {
        within(within(reporter.report(vehicle(1), fixes)).await.unwrap().committed()).await.unwrap();
    }
    let first = watch.updates.try_recv().unwrap().vehicles[0].entered[0];
    let back = watch.updates.try_recv().unwrap();
    assert_eq!(back.vehicles[0].left, [first.geofence_id]);
    let again = back.vehicles[0].entered[0];
    assert!(again.visit_id != first.visit_id && again.entered_at > first.entered_at);
    assert_eq!(world.live.inside(first.geofence_id).await.unwrap()[0].held, again);
    world.end().await;
}

#[actix_rt::test]
async fn an_entry_is_told_if_another_report_of_its_commit_follows_it() {
    let world = two_fleets(quick()).await;
    let mut reporter = world.live.reporter();
    let mut watch = world.live.watch(Audience::Everyone).await.unwrap();
    world.store.hold();
    let first = within(reporter.report(vehicle(2), vec![fix(0.0, OUTSIDE)])).await.unwrap();
    eventually("the commit before began", || world.store.commits() == 1).await;
    let entry = within(reporter.report(vehicle(1), vec![fix(0.0, INSIDE)])).await.unwrap();
    let further = within(reporter.report(vehicle(1), vec![fix(1.0, INSIDE)])).await.unwrap();
    world.store.release();
    for pending in [first, entry, further] {
        within(pending.committed()).await.unwrap();
    }
    assert_eq!(world.store.commits(), 2, "both reports are in one commit");
    let update = watch.updates.try_recv().unwrap();
    let entered = update.vehicles[0].entered[0];
    assert_eq!(world.live.inside(entered.geofence_id).await.unwrap()[0].held, entered);
    world.end().await;
}

#[actix_rt::test]
async fn a_new_vehicle_is_shown_to_its_own() {
    let world = two_fleets(quick()).await;
    let mut own = world.live.watch(Audience::Organization(org(1))).await.unwrap();
    let mut stranger = world.live.watch(Audience::Organization(org(2))).await.unwrap();
    world.live.put_vehicle(known_vehicle(11, 1)).await.unwrap();
    let update = own.updates.try_recv().unwrap();
    assert_eq!(update.vehicles[0].vehicle_id, vehicle(11));
    assert_eq!(stranger.updates.try_recv().unwrap_err(), TryRecvError::Empty);
    // A new name is no change of state.
    world.live.put_vehicle(known_vehicle(11, 1)).await.unwrap();
    assert_eq!(own.updates.try_recv().unwrap_err(), TryRecvError::Empty);
    world.end().await;
}

#[actix_rt::test]
async fn a_position_is_stored_with_its_commit_whatever_late_fix_came_behind_it() {
    let world = two_fleets(quick()).await;
    let mut reporter = world.live.reporter();
    let _watch = world.live.watch(Audience::Everyone).await.unwrap();
    world.store.hold();
    let first = within(reporter.report(vehicle(2), vec![fix(0.0, OUTSIDE)])).await.unwrap();
    eventually("the commit before began", || world.store.commits() == 1).await;
    let newest = within(reporter.report(vehicle(1), vec![fix(10.0, OUTSIDE)])).await.unwrap();
    let late = within(reporter.report(vehicle(1), vec![fix(5.0, OUTSIDE)])).await.unwrap();
    world.store.release();
    for pending in [first, newest, late] {
        within(pending.committed()).await.unwrap();
    }
    eventually("it is put right", || !world.store.is_dirty(vehicle(1))).await;
    let watch = world.live.watch(Audience::Everyone).await.unwrap();
    assert_eq!(watch.provisional.iter().map(|open| open.vehicle_id).collect::<Vec<_>>(), []);
    world.end().await;
}
