//! States lag behind the fix log: a start finds every one as it was committed, whatever part of it was stored.

use uuid::Uuid;
use waypost::store::track::Track;
use waypost_actors::geofence::FenceSet;
use waypost_actors::model::VehicleId;
use waypost_actors::ports::{TrackStore, VehicleSeed, VehicleWrite};
use waypost_actors::tracking::{Context, Meanwhile, correct};
use waypost_test_support::{TestStore, for_each_engine};

use crate::driven::{Driven, driving};
use crate::fleet::{VEHICLE, at, batch, commit, stand};

for_each_engine!(
    a_start_finds_states_that_were_never_stored,
    a_start_after_a_stop_finds_an_empty_log,
    the_log_is_cut_behind_the_oldest_state,
    numbers_of_commits_go_on_behind_an_empty_log,
    numbers_of_commits_go_on_behind_a_log_that_was_moved_here,
    a_vehicle_whose_settings_changed_awaits_a_correction,
    a_state_of_another_server_is_not_stored,
    states_are_saved_once_beside_commits,
    who_has_not_read_the_log_does_not_cut_it,
    a_state_that_cannot_be_read_costs_no_other_and_is_found_again,
);

pub(crate) async fn start(store: &TestStore) -> (Track, Vec<VehicleSeed>) {
    let track = Track::take_over(store.db.clone(), store.db.clone()).await.expect("taken over");
    let vehicles = track.seeds().await.expect("read").vehicles;
    (track, vehicles)
}

async fn count(store: &TestStore, sql: &'static str) -> i64 {
    store.db.read().sql(sql).scalar().await.expect("counted")
}

async fn rows_of_log(store: &TestStore) -> i64 {
    count(store, "select count(*) from fix_log").await
}

async fn a_start_finds_states_that_were_never_stored(store: TestStore) {
    let mut track = stand(&store).await;
    let mut bus = Driven::new(VEHICLE);
    for restart in 0..3 {
        for commit_number in 0..4 {
            let seconds = restart * 1_000 + commit_number * 100;
            let writes = vec![
                bus.report(&[driving(seconds), driving(seconds + 10)]),
                bus.report(&[driving(seconds + 20)]),
            ];
            commit(&track, writes).await;
        }
        assert_eq!(
            count(&store, "select count(*) from vehicle_state").await,
            0,
            "nothing but the log has it"
        );
        assert_eq!(track.reread(&[VEHICLE], 1).await.expect("read").states, [(VEHICLE, bus.state.clone())]);
        let (next, vehicles) = start(&store).await;
        assert_eq!(vehicles[0].state, bus.state);
        assert!(vehicles[0].dirty_from.is_none());
        assert_eq!(next.reread(&[VEHICLE], 1).await.expect("read").states, [(VEHICLE, bus.state.clone())]);
        track = next;
    }
    // A server that commits before it has asked for what is stored.
    let track = Track::take_over(store.db.clone(), store.db.clone()).await.expect("taken over");
    commit(&track, vec![bus.report(&[driving(9_000)])]).await;
    assert_eq!(start(&store).await.1[0].state, bus.state);
}

async fn a_start_after_a_stop_finds_an_empty_log(store: TestStore) {
    let track = stand(&store).await;
    let mut bus = Driven::new(VEHICLE);
    commit(&track, vec![bus.report(&[driving(0), driving(10)])]).await;
    assert_eq!(rows_of_log(&store).await, 1);
    track.save_states().await.expect("saved");
    assert_eq!(
        (rows_of_log(&store).await, count(&store, "select count(*) from vehicle_state").await),
        (0, 1)
    );
    assert_eq!(start(&store).await.1[0].state, bus.state);
    // A late fix stores the state with its mark.
    let (track, _) = start(&store).await;
    commit(&track, vec![bus.report(&[driving(20)])]).await;
    commit(&track, vec![bus.report(&[driving(5)])]).await;
    let vehicles = start(&store).await.1;
    assert_eq!((&vehicles[0].state, vehicles[0].dirty_from.is_some()), (&bus.state, true));
}

async fn the_log_is_cut_behind_the_oldest_state(store: TestStore) {
    let track = stand(&store).await;
    let mut buses = [Driven::new(VEHICLE), Driven::new(VehicleId(Uuid::from_u128(77)))];
    for seconds in 0..20 {
        let writes = buses.iter_mut().map(|bus| bus.report(&[driving(seconds)])).collect();
        commit(&track, writes).await;
    }
    let written = "select count(*) from vehicle_state";
    assert_eq!((rows_of_log(&store).await, count(&store, written).await), (20, 0));
    // A write without fixes stores its vehicle's state at once; the other one still needs the log.
    commit(&track, vec![VehicleWrite { effects: Box::default(), ..buses[0].report(&[driving(20)]) }]).await;
    commit(&track, vec![buses[0].report(&[driving(21)])]).await;
    assert_eq!((rows_of_log(&store).await, count(&store, written).await), (21, 1));
    commit(&track, vec![VehicleWrite { effects: Box::default(), ..buses[1].report(&[driving(20)]) }]).await;
    commit(&track, vec![buses[0].report(&[driving(22)])]).await;
    assert_eq!((rows_of_log(&store).await, count(&store, written).await), (2, 2));
    track.save_states().await.expect("saved");
    let newest = "select count(*) from vehicle_state where log_number = 24";
    assert_eq!((rows_of_log(&store).await, count(&store, newest).await), (0, 1));
    assert_eq!(start(&store).await.1[0].state, buses[0].state);
}

/// A state's row says by a number what of the log it has: one that came again would be taken for what is stored.
async fn numbers_of_commits_go_on_behind_an_empty_log(store: TestStore) {
    let track = stand(&store).await;
    let mut bus = Driven::new(VEHICLE);
    for seconds in 0..3 {
        commit(&track, vec![bus.report(&[driving(seconds)])]).await;
    }
    let newest = "select max(number) from fix_log";
    assert_eq!(count(&store, newest).await, 3);
    track.save_states().await.expect("saved");
    assert_eq!(rows_of_log(&store).await, 0);
    let (track, _) = start(&store).await;
    commit(&track, vec![bus.report(&[driving(3)])]).await;
    assert_eq!(count(&store, newest).await, 4);
    assert_eq!(start(&store).await.1[0].state, bus.state);
}

/// `waypost transfer` copies every table of a file, where the log alone may tell the newest number.
async fn numbers_of_commits_go_on_behind_a_log_that_was_moved_here(store: TestStore) {
    let track = stand(&store).await;
    let mut bus = Driven::new(VEHICLE);
    for seconds in 0..3 {
        commit(&track, vec![bus.report(&[driving(seconds)])]).await;
    }
    store.db.write().sql("update writer set log_number = 1").run().await.expect("set back");
    let (track, _) = start(&store).await;
    commit(&track, vec![bus.report(&[driving(3)])]).await;
    assert_eq!(count(&store, "select max(number) from fix_log").await, 4);
    assert_eq!(start(&store).await.1[0].state, bus.state);
}

async fn a_vehicle_whose_settings_changed_awaits_a_correction(store: TestStore) {
    let track = stand(&store).await;
    let mut bus = Driven::new(VEHICLE);
    commit(&track, vec![bus.report(&[driving(0), driving(10)])]).await;
    let strict = serde_json::json!({ "maxAccuracyMeters": 10.0 });
    let change = "update vehicle set tracking = $1";
    store.db.write().sql(change).bind(sqlx::types::Json(strict)).run().await.expect("changed");
    let (track, vehicles) = start(&store).await;
    assert!(vehicles[0].dirty_from.is_some() && vehicles[0].state != bus.state);
    let slice = track.slice(VEHICLE).await.expect("read").expect("it awaits one");
    assert_eq!((slice.mark.from, slice.fixes.len()), (at(0), 2));
    assert!(start(&store).await.1[0].dirty_from.is_some());
}

async fn a_state_of_another_server_is_not_stored(store: TestStore) {
    let track = stand(&store).await;
    let mut bus = Driven::new(VEHICLE);
    commit(&track, vec![bus.report(&[driving(0)])]).await;
    let (next, _) = start(&store).await;
    next.commit(&batch(vec![bus.report(&[driving(10)])])).await.expect("committed");
    track.save_states().await.expect("nothing to do");
    assert_eq!(
        (rows_of_log(&store).await, count(&store, "select count(*) from vehicle_state").await),
        (2, 0)
    );
    assert_eq!(start(&store).await.1[0].state, bus.state);
}

async fn states_are_saved_once_beside_commits(store: TestStore) {
    let track = stand(&store).await;
    let mut bus = Driven::new(VEHICLE);
    commit(&track, vec![bus.report(&[driving(0)])]).await;
    let commits = async {
        for seconds in 1..500 {
            commit(&track, vec![bus.report(&[driving(seconds)])]).await;
        }
    };
    tokio::select! {
        biased;
        () = commits => panic!("what comes meanwhile is saved too, without an end"),
        saved = track.save_states() => saved.expect("saved"),
    }
}

async fn who_has_not_read_the_log_does_not_cut_it(store: TestStore) {
    let track = stand(&store).await;
    let mut bus = Driven::new(VEHICLE);
    commit(&track, vec![bus.report(&[driving(0)])]).await;
    let next = Track::take_over(store.db.clone(), store.db.clone()).await.expect("taken over");
    next.save_states().await.expect("nothing to do");
    assert_eq!(rows_of_log(&store).await, 1);
    assert_eq!(start(&store).await.1[0].state, bus.state);
}

async fn a_state_that_cannot_be_read_costs_no_other_and_is_found_again(store: TestStore) {
    let track = stand(&store).await;
    let other = VehicleId(Uuid::from_u128(77));
    let insert = "insert into vehicle (id, organization_id, name, category, status, fuel, tracking, created_at, \
        updated_at) select $1, organization_id, 'Bus 2', category, status, fuel, tracking, created_at, updated_at \
        from vehicle";
    store.db.write().sql(insert).bind(other.0).run().await.expect("inserted");
    let mut buses = [Driven::new(VEHICLE), Driven::new(other)];
    let writes = buses.iter_mut().map(|bus| bus.report(&[driving(0), driving(10)])).collect();
    commit(&track, writes).await;
    track.save_states().await.expect("saved");
    let damage = "update vehicle_state set state = $1 where vehicle_id = $2";
    store.db.write().sql(damage).bind(vec![1_u8, 9]).bind(VEHICLE.0).run().await.expect("damaged");
    let (track, mut vehicles) = start(&store).await;
    vehicles.sort_by_key(|seed| seed.vehicle.id);
    let [lost, sound] = vehicles.as_slice() else { panic!("{vehicles:?}") };
    assert_eq!((lost.is_lost, lost.state.last, lost.dirty_from.is_some()), (true, None, true));
    assert_eq!((sound.is_lost, &sound.state), (false, &buses[1].state));
    let slice = track.slice(VEHICLE).await.expect("read").expect("it awaits a correction");
    let fences = FenceSet::new(vec![]);
    let context = Context { vehicle: &buses[0].vehicle, fences: &fences, detected_at: at(60) };
    let found = correct(&slice, &Meanwhile::default(), &context).live(&lost.state);
    assert!(found.agrees_with(&buses[0].state), "{found:#?}");
    let again = start(&store).await.1;
    assert!(again.iter().all(|seed| !seed.is_lost), "it is told once");
    // One that a newer version wrote is left to it.
    store.db.write().sql(damage).bind(vec![9_u8]).bind(VEHICLE.0).run().await.expect("written");
    let track = Track::take_over(store.db.clone(), store.db.clone()).await.expect("taken over");
    assert!(track.seeds().await.is_err());
    let kept: Vec<u8> = store
        .db
        .read()
        .sql("select state from vehicle_state where vehicle_id = $1")
        .bind(VEHICLE.0)
        .scalar()
        .await
        .expect("read");
    assert_eq!(kept, [9]);
}
