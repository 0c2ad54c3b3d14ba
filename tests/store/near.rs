//! Who came near a geofence is told from the areas of chunks, of the tail, and of rows that came late.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use uuid::Uuid;
use waypost_actors::geofence::{FenceTimeline, GeoBox};
use waypost_actors::model::{
    Fence, FenceVersion, GeofenceId, Place, Polygon, Rules, ShapeSpec, Timestamp, VehicleId,
};
use waypost_actors::ports::TrackStore;
use waypost_actors::tracking::{NearSpan, Stretch};
use waypost_test_support::{Engine, TestStore, for_each_engine, run, stored_positions};

use crate::chunks::Dice;
use crate::driven::{Driven, driving};
use crate::fix_log::start;
use crate::fleet::{ORGANIZATION, VEHICLE, at, commit, stand};
use crate::steps::count_steps;

for_each_engine!(whoever_came_near_is_told_and_where_is_bounded);

const HOUR: i64 = 3_600;

/// A square of some 200 m.
fn around(place: Place) -> FenceTimeline {
    let corner = |dy: f64, dx: f64| Place::new(place.latitude + dy, place.longitude + dx);
    let vertices = vec![corner(-1e-3, -1e-3), corner(-1e-3, 1e-3), corner(1e-3, 1e-3), corner(1e-3, -1e-3)];
    let version = FenceVersion {
        version: 1,
        effective_from: None,
        changed_at: at(0),
        active: true,
        deleted: false,
        shape: ShapeSpec::Polygon(Polygon { vertices, holes: vec![] }),
        rules: Rules::EXACT,
    };
    FenceTimeline::prepare(&Fence {
        id: GeofenceId(Uuid::from_u128(9)),
        organization_id: ORGANIZATION,
        name: "Yard".into(),
        versions: vec![version],
    })
}

/// What is stored, fix by fix.
async fn fix_by_fix(store: &TestStore) -> BTreeMap<Timestamp, Vec<Place>> {
    let mut places: BTreeMap<Timestamp, Vec<Place>> = BTreeMap::new();
    for (_, position) in stored_positions(&store.db).await.expect("read") {
        if position.quarantine.is_none() {
            let place = Place::new(position.latitude, position.longitude);
            places.entry(position.recorded_at).or_default().push(place);
        }
    }
    places
}

async fn whoever_came_near_is_told_and_where_is_bounded(store: TestStore) {
    let mut track = stand(&store).await;
    let (mut bus, mut dice) = (Driven::new(VEHICLE), Dice(11));
    let (mut now, mut place) = (0, Place::new(30.25, -97.75));
    for _ in 0..120 {
        let mut reports = Vec::new();
        for _ in 0..20 {
            now += 1 + dice.below(60) as i64 + if dice.one_in(200) { 200 * HOUR } else { 0 };
            let step = |dice: &mut Dice| (dice.below(2_001) as f64 - 1_000.0) / 1e6;
            place = Place::new(place.latitude + step(&mut dice), place.longitude + 3.0 * step(&mut dice));
            let mut fix = driving(if dice.one_in(15) { dice.below(now as u64) as i64 } else { now });
            fix.place = place;
            fix.received_at = at(now + 1);
            reports.push(fix);
        }
        commit(&track, vec![bus.report(&reports)]).await;
        if dice.one_in(3) {
            track.save_states().await.expect("saved");
        }
        if dice.one_in(20) {
            track = start(&store).await.0;
        }
    }
    let places = fix_by_fix(&store).await;
    let stranger = VehicleId(Uuid::from_u128(77));
    let (mut near, mut bounded) = (0, 0);
    for number in 0..60 {
        let visited = places.values().nth(dice.below(places.len() as u64) as usize).expect("some")[0];
        let far = if number % 2 == 0 { 0.0 } else { 0.002 + dice.below(100) as f64 / 1e3 };
        let fence = around(Place::new(visited.latitude + far, visited.longitude + far));
        let from = if number % 5 == 0 { Timestamp::FIRST } else { at(dice.below(now as u64) as i64) };
        let told = track.came_near(&fence, from, &[VEHICLE, stranger]).await.expect("told");
        assert!(told.iter().all(|(vehicle, _)| *vehicle == VEHICLE), "the other one never reported");
        let begin = places.range(..from).rev().take(2).last().map_or(from, |(at, _)| *at);
        let stretch = |(at, places): (&Timestamp, &Vec<Place>)| Stretch {
            began_at: *at,
            ended_at: *at,
            area: GeoBox::around(places.iter().copied()),
        };
        let exact = NearSpan::of(&fence, from, places.range(begin..).map(stretch));
        let Some(exact) = exact else { continue };
        let [(_, span)] = told[..] else { panic!("it came near: {exact:?}, {told:?}") };
        assert!(span.from <= exact.from, "{span:?} does not hold {exact:?}");
        assert!(
            span.until.is_none_or(|until| exact.until.is_some_and(|exact| until >= exact)),
            "{span:?} does not hold {exact:?}"
        );
        near += 1;
        bounded += usize::from(span.from > from || span.until.is_some());
    }
    assert!(near > 20 && bounded > 10, "{near} near, {bounded} bounded");
    // And nothing is told of a place where it never was.
    let elsewhere = around(Place::new(-30.0, 100.0));
    let told = track.came_near(&elsewhere, Timestamp::FIRST, &[VEHICLE]).await.expect("told");
    assert_eq!(told, []);
}

#[test]
fn the_chunks_of_others_are_not_gone_through() {
    run(Engine::Sqlite, async |store: TestStore| {
        let track = stand(&store).await;
        for fill in [
            "with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000) \
             insert into position_chunk (vehicle_id, recorded_at, ended_at, fixes, area) \
             select unhex(printf('%032x', i % 200)), i * 1000000, i * 1000000, x'00', x'' from n",
            "with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000) \
             insert into position (vehicle_id, recorded_at, latitude, longitude, received_at) \
             select unhex(printf('%032x', i % 200)), i * 1000000, 30.0, -97.0, i * 1000000 from n",
        ] {
            store.db.write().sql(fill).run().await.expect("filled");
        }
        let steps = count_steps(&store.db).await;
        let some: Vec<VehicleId> = (0..16).map(|number| VehicleId(Uuid::from_u128(number))).collect();
        let fence = around(Place::new(30.25, -97.75));
        let near = track.came_near(&fence, at(0), &some).await.expect("told");
        assert_eq!(near.len(), some.len(), "of chunks without an area nobody knows");
        let steps = steps.load(Ordering::Relaxed);
        assert!(steps < 20_000, "{steps} steps for {} vehicles of 200", some.len());
    });
}
