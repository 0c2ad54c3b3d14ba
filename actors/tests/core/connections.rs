//! Silence, found by one wheel on a clock that tests set: told once, and never for what the server itself missed.

use std::sync::Arc;

use waypost_actors::model::{Connection, Fix, Silence, Timestamp};
use waypost_actors::tracking::{Record, RecordKind};
use waypost_actors::watch::Audience;

use crate::late::{insist, report};
use crate::store::{Fault, Store};
use crate::world::{
    INSIDE, OUTSIDE, World, at, eventually, fence_with, known_vehicle, org, quick, square, vehicle, version,
    within,
};

const SILENCE: Silence = Silence { stale_after_seconds: 300, offline_after_seconds: 3_600 };

fn store(vehicles: u128) -> Arc<Store> {
    let fences = vec![fence_with(1, 1, version(1, None, square(INSIDE)))];
    let store = Store::new((1..=vehicles).map(|number| known_vehicle(number, 1)).collect(), fences);
    store.set_silence(org(1), SILENCE);
    Arc::new(store)
}

async fn world(vehicles: u128) -> World {
    World::at(store(vehicles), quick(), at(0.0)).await
}

/// A fix that comes now.
fn now(world: &World) -> Fix {
    Fix::new(world.live.now(), world.live.now(), OUTSIDE)
}

async fn say(world: &World, number: u128) {
    insist(world, number, vec![now(world)]).await;
}

/// Moves the clock in steps that are no pause of the server, and waits after each until the wheel has seen it twice: what it found
/// at the first look is on its way.
async fn pass(world: &World, seconds: f64) {
    let mut left = seconds;
    while left != 0.0 {
        let step = left.min(60.0);
        jump(world, step);
        looked(world).await;
        left -= step;
    }
}

/// Moves the clock at once, as a server sees it that was paused.
fn jump(world: &World, seconds: f64) {
    world.clock.set(world.live.now().plus_seconds(seconds));
}

/// Waits for looks that began after this call, and for what they found.
async fn looked(world: &World) {
    let looks = world.live.meters().connection_looks.get();
    eventually("it looked", || world.live.meters().connection_looks.get() >= looks + 3).await;
}

fn told(world: &World) -> Vec<(RecordKind, Timestamp)> {
    world.store.connections().iter().map(|record| (record.kind(), record.occurred_at)).collect()
}

async fn state(world: &World, number: u128) -> Connection {
    let known = world.live.vehicle(vehicle(number)).await.expect("the core runs");
    known.expect("a known vehicle").connection
}

async fn becomes(world: &World, number: u128, expected: Connection) {
    within(async {
        while state(world, number).await != expected {
            tokio::task::yield_now().await;
        }
    })
    .await;
    // When it is to be looked at again is set after that.
    looked(world).await;
}

/// Two fixes, ten seconds apart, of a vehicle that says how fast it goes.
fn driving(kmh: f64) -> Vec<Fix> {
    let fix = |seconds: f64| Fix { speed_kmh: Some(kmh), ..Fix::new(at(seconds), at(0.0), OUTSIDE) };
    vec![fix(-10.0), fix(0.0)]
}

#[actix_rt::test]
async fn a_silence_tells_whether_the_vehicle_was_on_its_way() {
    let world = world(3).await;
    for (number, kmh) in [(1, 50.0), (2, 0.0), (3, 20.0)] {
        insist(&world, number, driving(kmh)).await;
    }
    pass(&world, 3_600.0).await;
    for number in 1..=3 {
        becomes(&world, number, Connection::Offline).await;
    }
    let records = world.store.connections();
    let was_moving = |number| {
        let own = records.iter().filter(|record| record.vehicle_id == vehicle(number));
        own.filter_map(Record::connection).map(|detail| detail.was_moving).collect::<Vec<bool>>()
    };
    // Of each that it became stale, and offline.
    assert_eq!([was_moving(1), was_moving(2), was_moving(3)], [[true; 2], [false; 2], [false; 2]]);
    world.end().await;
}

#[actix_rt::test]
async fn silence_is_told_once_and_so_is_its_end() {
    let world = world(2).await;
    let mut watch = world.live.watch(Audience::Everyone).await.unwrap();
    assert_eq!(state(&world, 1).await, Connection::Offline, "it never reported");
    say(&world, 1).await;
    assert_eq!(state(&world, 1).await, Connection::Online);
    pass(&world, 299.0).await;
    assert_eq!((told(&world), state(&world, 1).await), (Vec::new(), Connection::Online));
    pass(&world, 1.0).await;
    becomes(&world, 1, Connection::Stale).await;
    pass(&world, 3_299.0).await;
    assert_eq!(told(&world), [(RecordKind::Stale, at(300.0))]);
    pass(&world, 1.0).await;
    becomes(&world, 1, Connection::Offline).await;
    jump(&world, 100_000.0);
    looked(&world).await;
    // An old track, sent again, is a sign of life too.
    insist(&world, 1, vec![Fix::new(at(-5.0), world.live.now(), OUTSIDE)]).await;
    becomes(&world, 1, Connection::Online).await;
    pass(&world, 1.0).await;
    let expected = [
        (RecordKind::Stale, at(300.0)),
        (RecordKind::Offline, at(3_600.0)),
        (RecordKind::Online, at(103_600.0)),
    ];
    assert_eq!(told(&world), expected);
    // Watchers heard of each, numbered, with the vehicle as it is from then on; the one that never reported is in none.
    let mut heard = Vec::new();
    while heard.len() < 3 {
        let update = within(watch.updates.recv()).await.unwrap();
        for told in &update.records {
            let Some(detail) = told.record.connection() else { continue };
            assert_eq!((told.record.vehicle_id, told.record.vehicle_name.as_str()), (vehicle(1), "V1"));
            assert_eq!(update.vehicles[0].connection, detail.state);
            assert_eq!(told.record.location, Some(OUTSIDE));
            heard.push((told.record.kind(), told.record.occurred_at));
        }
    }
    assert_eq!(heard, expected);
    world.end().await;
}

#[actix_rt::test]
async fn who_reports_on_time_is_never_told_of() {
    let world = world(3).await;
    for _ in 0..40 {
        for number in 1..=3 {
            say(&world, number).await;
        }
        pass(&world, 299.0).await;
    }
    assert_eq!(told(&world), []);
    world.end().await;
}

#[actix_rt::test]
async fn a_restart_tells_nothing_and_silence_counts_anew() {
    let world = world(20).await;
    for number in 1..=20 {
        say(&world, number).await;
    }
    pass(&world, 200.0).await;
    for number in 2..=20 {
        say(&world, number).await;
    }
    pass(&world, 200.0).await;
    becomes(&world, 1, Connection::Stale).await;
    let store = Arc::clone(&world.store);
    within(world.live.stop()).await;
    // It was away for a day.
    let world = World::at(store, quick(), at(86_400.0)).await;
    looked(&world).await;
    assert_eq!((state(&world, 1).await, state(&world, 2).await), (Connection::Stale, Connection::Online));
    for number in 2..=20 {
        say(&world, number).await;
    }
    pass(&world, 299.0).await;
    assert_eq!(told(&world), [(RecordKind::Stale, at(300.0))], "the one before the restart");
    for number in 2..=20 {
        say(&world, number).await;
    }
    // Who was stale goes on from the start of the server; the others were heard later.
    pass(&world, 290.0).await;
    for number in 2..=20 {
        say(&world, number).await;
    }
    pass(&world, 3_600.0 - 589.0).await;
    becomes(&world, 1, Connection::Offline).await;
    let first = world.store.connections().into_iter().filter(|record| record.vehicle_id == vehicle(1));
    let first: Vec<_> = first.map(|record| (record.kind(), record.occurred_at)).collect();
    assert_eq!(first, [(RecordKind::Stale, at(300.0)), (RecordKind::Offline, at(90_000.0))]);
    world.end().await;
}

#[actix_rt::test]
async fn a_start_without_any_word_of_it_takes_silence_as_it_was() {
    let world = World::at(
        Arc::new(Store::new((1..=3).map(|n| known_vehicle(n, 1)).collect(), vec![])),
        quick(),
        at(0.0),
    );
    let world = world.await;
    say(&world, 1).await;
    jump(&world, 5_000.0);
    say(&world, 2).await;
    let store = Arc::clone(&world.store);
    within(world.live.stop()).await;
    store.set_silence(org(1), SILENCE);
    let world = World::at(store, quick(), at(90_000.0)).await;
    looked(&world).await;
    let states = [state(&world, 1).await, state(&world, 2).await, state(&world, 3).await];
    assert_eq!(states, [Connection::Offline, Connection::Online, Connection::Offline]);
    assert_eq!(told(&world), []);
    say(&world, 1).await;
    becomes(&world, 1, Connection::Online).await;
    say(&world, 3).await;
    looked(&world).await;
    assert_eq!(told(&world), [(RecordKind::Online, at(90_000.0))], "the third reports for the first time");
    world.end().await;
}

#[actix_rt::test]
async fn a_server_that_was_paused_makes_nobody_silent() {
    let world = world(1).await;
    say(&world, 1).await;
    pass(&world, 200.0).await;
    // Its machine was suspended for a day, and it looks before anybody can report again.
    jump(&world, 86_400.0);
    looked(&world).await;
    assert_eq!((told(&world), state(&world, 1).await), (Vec::new(), Connection::Online));
    pass(&world, 299.0).await;
    assert_eq!(told(&world), []);
    pass(&world, 1.0).await;
    becomes(&world, 1, Connection::Stale).await;
    assert_eq!(told(&world), [(RecordKind::Stale, at(86_900.0))]);
    world.end().await;
}

#[actix_rt::test]
async fn a_store_away_makes_no_storm() {
    const VEHICLES: u128 = 10_000;
    let world = world(VEHICLES).await;
    // Everybody is heard, and is to be stale in 300 s.
    report_all(&world, VEHICLES).await;
    pass(&world, 280.0).await;
    world.store.set_away(true);
    let mut reporter = world.live.reporter();
    assert!(report(&mut reporter, 1, vec![now(&world)]).await.is_err());
    eventually("it knows", || !world.live.is_available()).await;
    // All of them try each ten seconds, and are told to try again.
    for _ in 0..6 {
        pass(&world, 10.0).await;
        assert!(report(&mut reporter, 1, vec![now(&world)]).await.is_err());
    }
    world.store.set_away(false);
    eventually("the store is back", || world.live.is_available()).await;
    looked(&world).await;
    // They come back one after the other, the last of them a minute later.
    pass(&world, 60.0).await;
    report_all(&world, VEHICLES).await;
    pass(&world, 230.0).await;
    assert_eq!(told(&world), [], "not one record");
    // Silence after that counts: each is told once, whatever the wheel has seen before.
    pass(&world, 100.0).await;
    eventually("all are told", || world.store.connections().len() == VEHICLES as usize).await;
    pass(&world, 1.0).await;
    let told = world.store.connections();
    assert!(told.iter().all(|record| record.kind() == RecordKind::Stale), "each once");
    world.end().await;
}

async fn report_all(world: &World, vehicles: u128) {
    let mut reporter = world.live.reporter();
    let fix = now(world);
    let mut pending = Vec::new();
    for number in 1..=vehicles {
        pending.push(within(reporter.report(vehicle(number), vec![fix])).await.expect("the store answers"));
    }
    for applied in pending {
        within(applied.committed()).await.expect("the store answers");
    }
}

#[actix_rt::test]
async fn what_is_stored_without_an_answer_is_not_told_twice() {
    let world = world(2).await;
    say(&world, 1).await;
    say(&world, 2).await;
    world.store.plan_connections(&[Fault::Doubt]);
    pass(&world, 300.0).await;
    becomes(&world, 1, Connection::Stale).await;
    becomes(&world, 2, Connection::Stale).await;
    say(&world, 1).await;
    becomes(&world, 1, Connection::Online).await;
    pass(&world, 10.0).await;
    let kinds: Vec<_> = world.store.connections().iter().map(Record::kind).collect();
    assert_eq!(kinds, [RecordKind::Stale, RecordKind::Stale, RecordKind::Online]);
    // One that is refused for good stops nothing else.
    world.store.plan_connections(&[Fault::Refuse]);
    pass(&world, 300.0).await;
    looked(&world).await;
    assert_eq!((state(&world, 1).await, world.store.connections().len()), (Connection::Online, 3));
    say(&world, 2).await;
    becomes(&world, 2, Connection::Online).await;
    world.end().await;
}

#[actix_rt::test]
async fn one_that_is_refused_for_good_keeps_no_other_from_being_told() {
    let world = world(3).await;
    for number in 1..=3 {
        say(&world, number).await;
    }
    // All three, then the first one alone, the other two, and the second one alone.
    world.store.plan_connections(&[Fault::Refuse, Fault::None, Fault::Refuse, Fault::Refuse]);
    pass(&world, 300.0).await;
    becomes(&world, 1, Connection::Stale).await;
    becomes(&world, 3, Connection::Stale).await;
    assert_eq!((state(&world, 2).await, world.store.connections().len()), (Connection::Online, 2));
    world.end().await;
}

#[actix_rt::test]
async fn a_vehicle_that_is_deleted_and_one_that_moved_its_limit_are_told_right() {
    let world = world(2).await;
    say(&world, 1).await;
    say(&world, 2).await;
    pass(&world, 100.0).await;
    within(world.live.remove_vehicle(vehicle(1), world.live.now())).await.unwrap();
    pass(&world, 100.0).await;
    // The organization is less patient from now on.
    let silence = Silence { stale_after_seconds: 60, offline_after_seconds: 7_200 };
    within(world.live.put_silence(org(1), silence)).await.unwrap();
    pass(&world, 1.0).await;
    becomes(&world, 2, Connection::Stale).await;
    pass(&world, 7_200.0).await;
    becomes(&world, 2, Connection::Offline).await;
    let told = world.store.connections();
    assert!(told.iter().all(|record| record.vehicle_id == vehicle(2)), "{told:#?}");
    assert_eq!(told.len(), 2);
    world.end().await;
}

#[actix_rt::test]
async fn a_clock_that_was_ahead_hides_no_silence() {
    let world = world(1).await;
    say(&world, 1).await;
    pass(&world, 7_200.0).await;
    becomes(&world, 1, Connection::Offline).await;
    say(&world, 1).await;
    becomes(&world, 1, Connection::Online).await;
    pass(&world, -7_000.0).await;
    becomes(&world, 1, Connection::Online).await;
    pass(&world, 400.0).await;
    becomes(&world, 1, Connection::Stale).await;
    world.end().await;
}
