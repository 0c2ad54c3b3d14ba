//! What a step of a correction reads, and that a crash between two steps loses none of it.

use waypost::store::track::Track;
use waypost_actors::model::{EventStatus, Fix, Place, Timestamp};
use waypost_actors::ports::{Slice, TrackStore};
use waypost_actors::tracking::{
    Checkpoint, Correction, Freshness, Mark, PositionRow, Quarantine, RecordKind, VehicleState,
};
use waypost_test_support::{TestStore, for_each_engine};

use crate::fleet::{
    VEHICLE, at, checkpoint, commit, correcting, correction, entry, exit, fix, log, mark, row, stand, write,
};

for_each_engine!(
    a_slice_never_splits_an_instant,
    a_slice_has_what_counts,
    a_slice_begins_with_fixes_as_they_are_stored_by_now,
    a_server_that_dies_between_slices_goes_on,
);

/// A fix of an instant, at a place of its own.
fn nth_fix(number: usize, second: i64) -> PositionRow {
    let mut fix = fix(second);
    fix.place.latitude += number as f64 / 1e5;
    row(fix, Freshness::Fresh)
}

async fn read(track: &Track) -> Slice {
    track.slice(VEHICLE).await.expect("read").expect("it is dirty")
}

async fn a_slice_never_splits_an_instant(store: TestStore) {
    let track = stand(&store).await;
    let most = Slice::MAX_FIXES;
    let mut rows = vec![nth_fix(0, 0)];
    rows.extend((0..most).map(|n| nth_fix(n, 10)));
    rows.extend((0..Slice::MAX_FIXES_OF_INSTANT + 2).map(|n| nth_fix(n, 20)));
    let mut written = write(rows);
    written.effects.late = Some(mark(0, 0));
    commit(&track, vec![written]).await;
    let mut sizes = Vec::new();
    loop {
        let slice = read(&track).await;
        let last = slice.fixes.last().expect("some").fix.recorded_at;
        sizes.push((slice.fixes.len(), slice.is_last));
        if slice.is_last {
            break;
        }
        let after = slice.checkpoint.map(|checkpoint| checkpoint.at);
        let dirty = Some(Mark { from: last.plus_seconds(0.001), ..mark(0, 100) });
        let left = Checkpoint { at: last, state: VehicleState::default() };
        let part = correction(None, None, Vec::new());
        let part = Correction { after, until: Some(last), dirty, checkpoints: vec![left], ..part };
        commit(&track, vec![correcting(part)]).await;
    }
    assert_eq!(sizes, [(1, false), (most, false), (Slice::MAX_FIXES_OF_INSTANT, true)]);
}

async fn a_slice_has_what_counts(store: TestStore) {
    let track = stand(&store).await;
    let why = |second, quarantine| PositionRow { quarantine, ..row(fix(second), Freshness::Fresh) };
    let full = Fix { speed_kmh: Some(3.5), ignition: Some(false), ..fix(30) };
    let mut written = write(vec![
        why(10, None),
        why(20, Some(Quarantine::Accuracy)),
        row(full, Freshness::Fresh),
        why(40, Some(Quarantine::OutOfService)),
        why(50, Some(Quarantine::Speed)),
        why(60, Some(Quarantine::Future)),
    ]);
    written.effects.checkpoints = [5, 10, 15, 25, 45, 70].map(|second| checkpoint(second, second)).to_vec();
    written.effects.late = Some(mark(15, 40));
    commit(&track, vec![written]).await;
    let slice = read(&track).await;
    assert_eq!((slice.mark, slice.is_last), (mark(15, 40), true));
    assert_eq!(slice.checkpoint, Some(checkpoint(10, 10)), "the one at the mark's instant is not before it");
    assert_eq!(slice.checkpoints, [15, 25, 45, 70].map(|second| checkpoint(second, second)));
    let fixes: Vec<_> = slice.fixes.iter().map(|stored| (stored.fix, stored.quarantine)).collect();
    let expected = [
        (fix(20), Some(Quarantine::Accuracy)),
        (full, None),
        (fix(40), Some(Quarantine::OutOfService)),
        (fix(50), Some(Quarantine::Speed)),
    ];
    assert_eq!(fixes, expected);
    let mut earlier = write(Vec::new());
    earlier.effects.late = Some(mark(5, 5));
    commit(&track, vec![earlier]).await;
    let slice = read(&track).await;
    assert_eq!((slice.checkpoint, slice.fixes.len(), slice.checkpoints.len()), (None, 5, 6));
}

async fn a_slice_begins_with_fixes_as_they_are_stored_by_now(store: TestStore) {
    let track = stand(&store).await;
    let mut kept = checkpoint(20, 10);
    kept.state.suspect = Some(Box::new(fix(20)));
    let mut written = write(vec![row(fix(10), Freshness::Fresh), row(fix(20), Freshness::Fresh)]);
    written.effects.checkpoints = vec![kept.clone()];
    written.effects.late = Some(mark(30, 30));
    commit(&track, vec![written]).await;
    let again = |second| Fix { odometer_km: Some(second as f64), ..fix(second) };
    let elsewhere = Fix { place: Place::new(30.0, -97.75), odometer_km: Some(7.0), ..fix(10) };
    let rows = vec![
        row(elsewhere, Freshness::Recheck { late: false }),
        row(again(10), Freshness::Repeat),
        row(again(20), Freshness::Repeat),
    ];
    commit(&track, vec![write(rows)]).await;
    (kept.state.last, kept.state.suspect) = (Some(again(10)), Some(Box::new(again(20))));
    assert_eq!(read(&track).await.checkpoint, Some(kept));
}

/// What a real evaluation would produce, without one: a record per fix, and the rest left to the next slice.
fn evaluated(slice: &Slice) -> Correction {
    let last = slice.fixes.last().map(|stored| stored.fix.recorded_at);
    let second = |at_: Timestamp| at_.seconds_since(at(0)) as i64;
    let seconds = slice.fixes.iter().map(|stored| second(stored.fix.recorded_at));
    let until = last.filter(|_| !slice.is_last);
    let state = VehicleState { last: slice.fixes.last().map(|stored| stored.fix), ..VehicleState::default() };
    Correction {
        after: slice.checkpoint.as_ref().map(|checkpoint| checkpoint.at),
        until,
        checkpoints: until.map(|at| Checkpoint { at, state }).into_iter().collect(),
        dirty: until.map(|at| Mark { from: at.plus_seconds(0.001), ..slice.mark }),
        ..correction(None, None, seconds.filter(|s| s % 10 == 0).map(|s| entry(s, s)).collect())
    }
}

async fn a_server_that_dies_between_slices_goes_on(store: TestStore) {
    let mut track = stand(&store).await;
    let rows = (0..4_500).map(|second| row(fix(second), Freshness::Fresh)).collect();
    let mut written = write(rows);
    written.effects.records = (0..450).map(|n| exit(10_000 + n, 10 * n)).collect();
    written.effects.late = Some(mark(0, 0));
    commit(&track, vec![written]).await;
    for (size, is_last) in [(2_000, false), (2_000, false), (500, true)] {
        let slice = read(&track).await;
        assert_eq!((slice.fixes.len(), slice.is_last), (size, is_last));
        let committed = commit(&track, vec![correcting(evaluated(&slice))]).await;
        assert_eq!(committed[0].is_dirty(), !is_last);
        // Nothing is left of the server but the store.
        track = Track::take_over(store.db.clone(), store.db.clone()).await.expect("taken over");
        let seeds = track.seeds().await.expect("read");
        assert_eq!(seeds.vehicles[0].dirty_from.is_some(), !is_last);
    }
    assert!(track.slice(VEHICLE).await.expect("read").is_none());
    let log = log(&track).await;
    let active: Vec<RecordKind> =
        log.iter().filter(|e| e.status == EventStatus::Active).map(|e| e.kind()).collect();
    assert_eq!(active, [RecordKind::Entry; 450], "all were taken back, and others found");
    // 450 at first, 900 by corrections; the first ones moved on.
    assert!(log.iter().map(|event| event.sequence).eq(451..=1_350));
}
