//! A storm: fixes in any order, over and over, while fences change, commits fail and servers restart.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{join, join_all};
use waypost_actors::live::LiveConfig;
use waypost_actors::model::{Fence, Fix, Place, Rules, Vehicle, VehicleLimits};

use crate::late::{clean, insist, keeps_the_law};
use crate::store::Fault;
use crate::world::{
    INSIDE, OUTSIDE, World, at, eventually, fence, fence_with, fix, known_vehicle, quick, square, version,
    within,
};

/// Numbers that look random and are the same each time.
struct Lots(u64);

impl Lots {
    fn draw(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.draw(i as u64 + 1) as usize);
        }
    }
}

/// What a report says besides place and instant; another report of the same fix may differ.
fn say(lots: &mut Lots, fix: &mut Fix) {
    fix.accuracy_meters = [None, Some(8.0), Some(50.0), Some(300.0)][lots.draw(4) as usize];
    fix.speed_kmh = [None, Some(0.0), Some(40.0), Some(130.0)][lots.draw(4) as usize];
    fix.heading_degrees = [None, None, Some(90.0)][lots.draw(3) as usize];
}

/// A track with jitter, gaps, outliers, poor fixes and two places at one instant.
fn track(lots: &mut Lots, fixes: usize) -> Vec<Fix> {
    let (mut seconds, mut place) = (0.0, INSIDE);
    let mut track = Vec::new();
    for _ in 0..fixes {
        seconds += [0.0, 5.0, 10.0, 10.0, 30.0, 700.0][lots.draw(6) as usize];
        let mut step = |meters: u64| (lots.draw(2 * meters + 1) as f64 - meters as f64) / 111_000.0;
        place =
            Place::new((place.latitude + step(400)).clamp(-0.02, 0.03), place.longitude + step(400) / 2.0);
        if place.longitude.abs() > 0.03 {
            place = INSIDE;
        }
        let mut made = fix(seconds, place);
        made.received_at = at(0.0);
        say(lots, &mut made);
        if lots.draw(15) == 0 {
            made.place = Place::new(1.0, 1.0);
        }
        track.push(made);
    }
    track
}

fn limited(number: u128) -> Vehicle {
    let limits =
        VehicleLimits { max_speed_kmh: Some(250.0), max_accuracy_meters: Some(200.0), overspeed_kmh: None };
    Vehicle { limits, ..known_vehicle(number, 1) }
}

const VEHICLES: u128 = 4;

/// What happens to the fences during the storm: the default, dated back, always, deleted.
fn edits(lots: &mut Lots) -> Vec<Fence> {
    let around = |lots: &mut Lots| square([INSIDE, Place::new(0.0, 0.0), OUTSIDE][lots.draw(3) as usize]);
    let mut edits = Vec::new();
    for number in 2..=7 {
        let from = [None, Some(at(lots.draw(4000) as f64)), Some(at(8_000.0))][lots.draw(3) as usize];
        let mut made = version(number, from, around(lots));
        let dwelling =
            Rules { dwell_after_seconds: Some(60.0), speed_limit_kmh: Some(30.0), ..Rules::default() };
        made.rules = [Rules::EXACT, Rules::default(), dwelling][lots.draw(3) as usize];
        made.active = lots.draw(4) > 0;
        (made.deleted, made.active) = (number == 7, made.active && number < 7);
        edits.push(fence_with(1, 1, made));
    }
    let mut other = version(1, Some(at(1_000.0)), around(lots));
    other.rules = Rules { min_inside_seconds: 20.0, min_outside_seconds: 15.0, ..Rules::default() };
    edits.push(fence_with(2, 1, other));
    lots.shuffle(&mut edits);
    edits.sort_by_key(|edit| (edit.id != fence(1), edit.versions[0].version));
    edits
}

/// Fixes in any order, over and over, in frames of any size, while fences change, commits fail, and the server is
/// restarted in the middle of the corrections.
async fn storm(seed: u64, plan: &[Fault], restart: bool) {
    let mut lots = Lots(seed);
    let mut fences = vec![fence_with(1, 1, version(1, None, square(INSIDE)))];
    let vehicles: Vec<Vehicle> = (1..=VEHICLES).map(limited).collect();
    let config = LiveConfig { idle_after: Duration::from_millis(20), ..quick() };
    let mut world = World::of(vehicles.clone(), fences.clone(), config.clone()).await;
    world.clock.set(at(9_000.0));
    world.store.cut_slices(7);
    world.store.plan(plan);
    let tracks: Vec<Vec<Fix>> = (0..VEHICLES)
        .map(|_| {
            let mut fixes = track(&mut lots, 80);
            let mut again: Vec<Fix> = fixes.iter().step_by(3).copied().collect();
            again.iter_mut().skip(3).step_by(4).for_each(|fix| say(&mut lots, fix));
            fixes.extend(again);
            lots.shuffle(&mut fixes);
            fixes
        })
        .collect();
    let edits = edits(&mut lots);
    for part in 0..2 {
        let frames = 3 + lots.draw(9) as usize;
        let drives = tracks.iter().zip(1..).map(|(fixes, number)| {
            let world = &world;
            let half = fixes.len() / 2;
            let fixes = if part == 0 { &fixes[..half] } else { &fixes[half..] };
            async move {
                for frame in fixes.chunks(frames) {
                    insist(world, number, frame.to_vec()).await;
                }
            }
        });
        let changes = async {
            for edit in edits.iter().skip(part * 4).take(4) {
                world.store.add_unsettled(edit.clone());
                let _later = within(world.live.put_fences(vec![edit.clone()])).await;
            }
        };
        join(join_all(drives), changes).await;
        if restart && part == 0 {
            // The store goes away under the corrections, and comes back under another server.
            world.store.set_away(true);
            within(world.live.stop()).await;
            world.store.set_away(false);
            let store = Arc::clone(&world.store);
            world = World::at(store, config.clone(), at(9_000.0)).await;
        }
    }
    eventually("every edit is settled", || {
        edits.iter().all(|edit| world.store.is_settled(edit.id, edit.versions[0].version))
    })
    .await;
    clean(&world.store, VEHICLES).await;
    for edit in edits {
        match fences.iter_mut().find(|known| known.id == edit.id) {
            Some(known) => known.versions.extend(edit.versions),
            None => fences.push(edit),
        }
    }
    for known in &vehicles {
        keeps_the_law(&world, known, &fences);
        let state = world.store.state(known.id);
        let mut held: Vec<_> = state.open_stays().map(|stay| stay.geofence_id).collect();
        let view = world.live.vehicle(known.id).await.expect("it runs").expect("it is known");
        let mut shown: Vec<_> = view.geofences.iter().map(|held| held.geofence_id).collect();
        held.sort_unstable();
        shown.sort_unstable();
        assert_eq!(shown, held, "occupancy follows");
        assert!(!shown.contains(&fence(1)), "it is deleted");
    }
    world.end().await;
}

#[actix_rt::test]
async fn whatever_order_things_come_in_the_records_are_those_of_the_timeline() {
    for seed in 0..12 {
        storm(seed, &[], false).await;
    }
}

#[actix_rt::test]
async fn and_so_when_commits_fail_and_the_server_starts_anew_in_the_middle() {
    use Fault::{Doubt, None, Panic, Refuse};
    for seed in 20..28 {
        let plan = [None, None, Refuse, None, Doubt, None, None, Doubt, Refuse, None, Panic, None, Doubt];
        storm(seed, &plan, true).await;
    }
}
