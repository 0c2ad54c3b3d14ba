//! Who had which shard, and who committed, as the database saw it: held to the rules of the model of ownership.
//!
//! A trigger writes it down within the transactions of the nodes themselves, so it knows nothing of what was undone, and holds whatever
//! a node believes of itself.

use std::collections::BTreeSet;

use waypost::store::open::Location;
use waypost::store::shard::SHARDS;
use waypost_ownership::history::{Event, Line, wrongs};
use waypost_test_support::Launch;

use crate::shelf::Shelf;

/// The row `main` is that of a single server.
const RECORDING: [&str; 4] = [
    "create schema drill",
    "create table drill.history (line bigserial primary key, at timestamptz not null default clock_timestamp(), \
     node text not null, shard text not null, epoch bigint not null, number bigint)",
    "create function drill.note() returns trigger language plpgsql as $$ begin \
     if new.epoch <> old.epoch or new.log_number <> old.log_number then \
     insert into drill.history (node, shard, epoch, number) values (current_setting('drill.node'), new.name, \
     new.epoch, case when new.epoch = old.epoch then new.log_number end); end if; return null; end $$",
    "create trigger note after update on writer for each row when (new.name <> 'main') execute function drill.note()",
];

/// Has the database write down what nodes do from now on.
pub(crate) async fn record(place: &Location) {
    let shelf = Shelf::open(place).await;
    for text in RECORDING {
        shelf.db.write().sql(text).run().await.unwrap();
    }
    shelf.close().await;
}

/// Names a node to the database.
pub(crate) fn name(launch: &mut Launch, number: usize) {
    launch.settings.push(("PGOPTIONS".to_owned(), format!("-c drill.node={number}")));
}

/// Reads what was written down, and holds it to the rules.
pub(crate) async fn check(place: &Location, seed: u64) {
    let shelf = Shelf::open(place).await;
    let text = "select cast(1000 * extract(epoch from at) as bigint) || ' ' || node || ' ' || shard || \
        coalesce(' committed ' || epoch || ' ' || number, ' took ' || epoch) from drill.history order by at, line";
    let rows: Vec<(String,)> = shelf.db.read().sql(text).all().await.unwrap();
    shelf.close().await;
    let lines: Vec<Line> = rows.iter().map(|(line,)| line.parse().unwrap()).collect();
    let wrong = wrongs(&lines);
    assert!(wrong.is_empty(), "seed {seed}: {} rules of ownership broken, such as {}", wrong.len(), wrong[0]);
    let took = lines.iter().filter(|line| matches!(line.event, Event::Took { .. }));
    let taken: Vec<u16> = took.map(|line| line.shard).collect();
    let shards: BTreeSet<&u16> = taken.iter().collect();
    assert_eq!(shards.len(), usize::from(SHARDS), "every shard was somebody's");
    println!("seed {seed}: {} times a shard was taken, {} commits", taken.len(), lines.len() - taken.len());
}
