//! Who had which shard, and who committed, as the database saw it: held to the rules of the model of ownership.
//!
//! A trigger writes it down within the transactions of the nodes themselves, so it knows nothing of what was undone, and holds whatever
//! a node believes of itself.

use std::collections::BTreeSet;

use waypost::store::open::{Location, Options, open};
use waypost_ownership::history::{Event, Line, wrongs};
use waypost_test_support::{Launch, eventually};

use crate::ground::DEADLINE;

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
    let options = Options::new(place.clone());
    let db = eventually(DEADLINE, || open(&options)).await;
    for text in RECORDING {
        db.write().sql(text).run().await.unwrap();
    }
    db.close().await;
}

/// Names a node to the database.
pub(crate) fn name(launch: &mut Launch, number: usize) {
    launch.settings.push(("PGOPTIONS".to_owned(), format!("-c drill.node={number}")));
}

/// Reads what was written down, and holds it to the rules.
pub(crate) async fn check(place: &Location, seed: u64) {
    let options = Options::new(place.clone());
    let db = eventually(DEADLINE, || open(&options)).await;
    let text = "select cast(1000 * extract(epoch from at) as bigint), node, cast(shard as bigint), epoch, number \
        from drill.history order by at, line";
    let rows: Vec<(i64, String, i64, i64, Option<i64>)> = db.read().sql(text).all().await.unwrap();
    db.close().await;
    let line = |(at, node, shard, epoch, number): (i64, String, i64, i64, Option<i64>)| Line {
        at: at as u64,
        node,
        shard: shard as u16,
        event: match number {
            None => Event::Took { epoch },
            Some(number) => Event::Committed { epoch, number },
        },
    };
    let lines: Vec<Line> = rows.into_iter().map(line).collect();
    let is_taking = |line: &&Line| matches!(line.event, Event::Took { .. });
    let (taken, shards) = (
        lines.iter().filter(is_taking).count(),
        lines.iter().filter(is_taking).map(|line| line.shard).collect::<BTreeSet<_>>(),
    );
    let wrong = wrongs(&lines);
    assert!(wrong.is_empty(), "seed {seed}: {} rules of ownership broken, such as {}", wrong.len(), wrong[0]);
    assert_eq!(shards.len(), usize::from(waypost::store::shard::SHARDS), "every shard was somebody's");
    println!("seed {seed}: {taken} times a shard was taken, {} commits", lines.len() - taken);
}
