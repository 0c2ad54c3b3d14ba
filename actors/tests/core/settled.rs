//! Up to when a vehicle's timeline stands: what a reader who trusts it may rely on.

use std::collections::BTreeMap;

use waypost_actors::model::{EventId, Fix, Timestamp};
use waypost_actors::report::Reporter;
use waypost_actors::tracking::Record;
use waypost_actors::watch::{Audience, News, Watch};

use crate::late::{clean, report};
use crate::store::Fault;
use crate::world::{INSIDE, OUTSIDE, World, at, eventually, fix, quick, vehicle, within};

/// A reader of one vehicle: the newest form of each record, and what was promised of it.
struct Reader {
    watch: Watch,
    records: BTreeMap<EventId, Record>,
    /// The instant that was last told, and the earliest fix that was sent since each of the instants.
    told: Vec<(Timestamp, Option<Timestamp>)>,
    changed: usize,
}

impl Reader {
    async fn of(world: &World) -> Self {
        let watch = world.live.watch(Audience::Everyone).await.expect("the core runs");
        Self { watch, records: BTreeMap::new(), told: Vec::new(), changed: 0 }
    }

    /// Notes that a fix is sent: it may change what was promised of instants that are not before it.
    fn sends(&mut self, fix: &Fix) {
        for (_, since) in &mut self.told {
            *since = Some(since.map_or(fix.recorded_at, |since| since.min(fix.recorded_at)));
        }
    }

    fn trusts(&mut self, settled: Option<Timestamp>) {
        self.told.extend(settled.map(|settled| (settled, None)));
    }

    /// Whether some instant was told that the record is not after, and nothing was sent since that is not after that
    /// instant.
    fn is_promised(&self, record: &Record) -> bool {
        self.told.iter().any(|(settled, since)| {
            record.confirmed_at <= *settled && since.is_none_or(|since| since > *settled)
        })
    }

    /// Takes in a record; one that was promised may not change.
    fn hears(&mut self, record: &Record) {
        if let Some(known) = self.records.insert(record.id, record.clone()) {
            assert!(!self.is_promised(&known), "{known:#?} became {record:#?}");
            self.changed += 1;
        }
    }

    /// Reads until this many records were told altogether, their revisions included.
    async fn reads(&mut self, next_sequence: i64) {
        while self.watch.known_up_to().is_none_or(|known| known < next_sequence) {
            let news = within(std::future::poll_fn(|cx| self.watch.poll_news(true, cx))).await;
            self.takes(&news);
        }
    }

    fn takes(&mut self, news: &News) {
        let batches = match news {
            News::Commit(update, seen) => {
                for told in &update.records {
                    self.hears(&told.record);
                }
                for now in &update.vehicles {
                    self.trusts(now.settled_through);
                }
                seen
            }
            News::Provisional(seen) => seen,
            News::Lost => panic!("it reads fast enough"),
        };
        for seen in batches.iter().flat_map(|batch| &batch.provisional) {
            self.trusts(seen.settled_through);
        }
    }
}

async fn settled(world: &World) -> Option<Timestamp> {
    let known = world.live.vehicle(vehicle(1)).await.expect("the core runs");
    known.expect("a known vehicle").settled_through
}

async fn told(world: &World, reporter: &mut Reporter, reader: &mut Reader, fixes: &[Fix]) {
    fixes.iter().for_each(|fix| reader.sends(fix));
    report(reporter, 1, fixes.to_vec()).await.expect("the store answers");
    reader.reads(world.store.next_sequence()).await;
    reader.trusts(settled(world).await);
}

#[actix_rt::test]
async fn what_stands_changes_only_by_what_comes_later() {
    let world = World::with(1, quick()).await;
    world.store.cut_slices(4);
    let mut reader = Reader::of(&world).await;
    let mut reporter = world.live.reporter();
    assert_eq!(settled(&world).await, None);
    for round in 0..8_u32 {
        let begin = f64::from(round) * 100.0;
        // In and out every 20 s; what came late says that it was the other way round in between.
        for step in 0..5_u32 {
            let place = if step % 2 == 0 { INSIDE } else { OUTSIDE };
            told(&world, &mut reporter, &mut reader, &[fix(begin + f64::from(step) * 20.0, place)]).await;
        }
        let newest = at(begin + 80.0);
        assert_eq!(settled(&world).await, Some(newest));
        world.store.hold_slices();
        let late = [fix(begin + 25.0, INSIDE), fix(begin + 5.0, OUTSIDE), fix(begin + 45.0, OUTSIDE)];
        for one in late {
            told(&world, &mut reporter, &mut reader, &[one]).await;
            assert!(settled(&world).await < Some(one.recorded_at), "it waits for its correction");
        }
        // Beside it, live fixes are judged; they do not stand.
        told(&world, &mut reporter, &mut reader, &[fix(begin + 85.0, OUTSIDE)]).await;
        assert_eq!(settled(&world).await, Some(at(begin + 4.999)));
        world.store.release_slices();
        clean(&world.store, 1).await;
        // The commit that made it clean is not told yet, maybe.
        let newest = Some(at(begin + 85.0));
        eventually_settled(&world, newest).await;
        reader.reads(world.store.next_sequence()).await;
        reader.trusts(settled(&world).await);
    }
    assert!(reader.changed > 8, "late data changed {} records", reader.changed);
    world.end().await;
}

async fn eventually_settled(world: &World, newest: Option<Timestamp>) {
    within(async {
        while settled(world).await != newest {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[actix_rt::test]
async fn a_lost_commit_and_a_restart_do_not_make_it_stand() {
    let world = World::with(1, quick()).await;
    let mut reporter = world.live.reporter();
    report(&mut reporter, 1, vec![fix(0.0, OUTSIDE), fix(20.0, INSIDE)]).await.unwrap();
    world.store.hold_slices();
    world.store.plan(&[Fault::Doubt]);
    // It is stored, and nobody heard.
    assert!(report(&mut reporter, 1, vec![fix(10.0, INSIDE)]).await.is_err());
    eventually("the store is back", || world.live.is_available()).await;
    assert_eq!(settled(&world).await, Some(at(9.999)));
    let store = std::sync::Arc::clone(&world.store);
    within(world.live.stop()).await;
    let world = World::on(store, quick()).await;
    assert_eq!(settled(&world).await, Some(at(9.999)));
    world.store.release_slices();
    eventually_settled(&world, Some(at(20.0))).await;
    world.end().await;
}
