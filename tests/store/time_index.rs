//! What is said of where records since an instant begin stays true, whatever comes late, is put right or goes.

use waypost::store::time_index::{first_since, renew};
use waypost_actors::tracking::Record;
use waypost_test_support::{TestStore, for_each_engine};

use crate::chunks::Dice;
use crate::fleet::{ORGANIZATION, at, commit, correcting, correction, entry, recording, stand};

for_each_engine!(no_record_of_a_lower_number_occurred_later);

/// Extends the index; how many rows there are then, and how many of them are wrong.
async fn renewed(store: &TestStore) -> (i64, i64) {
    renew(&store.db, ORGANIZATION).await.expect("renewed");
    let count = async |text: &'static str| store.db.read().sql(text).scalar::<i64>().await.expect("counted");
    let wrong = "select count(*) from time_index t where exists (select 1 from records e \
        where e.sequence < t.sequence and e.occurred_at > t.latest_at)";
    (count("select count(*) from time_index").await, count(wrong).await)
}

async fn no_record_of_a_lower_number_occurred_later(store: TestStore) {
    let track = stand(&store).await;
    let mut dice = Dice(7);
    // One of ten comes late, by up to all there was.
    let mut found = |number: i64| {
        let late = if dice.one_in(10) { dice.below(number as u64) as i64 } else { 0 };
        entry(number, 10 * (number - late))
    };
    let all: Vec<Record> = (1..=3_000).map(&mut found).collect();
    for some in all.chunks(500) {
        commit(&track, vec![recording(some.to_vec())]).await;
    }
    let begins = async |seconds| first_since(&store.db, ORGANIZATION, at(seconds)).await.expect("looked for");
    assert_eq!(begins(15_000).await, None, "nothing is said yet");
    assert_eq!(renewed(&store).await, (2, 0));
    for (seconds, first) in [(0, 0), (15_000, 1_001), (40_000, 2_001)] {
        assert_eq!(begins(seconds).await, Some(first), "since {seconds} s");
    }

    // Half of a part occurred earlier, and the rest of it never.
    let (after, until) = (at(10_000), at(14_000));
    let part = all.iter().filter(|record| record.occurred_at > after && record.occurred_at <= until);
    let put_right = part
        .step_by(2)
        .map(|record| Record { occurred_at: record.occurred_at.plus_seconds(-3.0), ..record.clone() });
    let put_right = correction(Some(10_000), Some(14_000), put_right.collect());
    let told = commit(&track, vec![correcting(put_right)]).await;
    assert!(told[0].records.len() > 200, "{} records have new numbers", told[0].records.len());
    let (rows, wrong) = renewed(&store).await;
    assert!(rows >= 3 && wrong == 0, "{rows} rows, of which {wrong} are wrong");

    for (delete, left) in
        [("delete from records where sequence < 2500", rows - 2), ("delete from records", 0)]
    {
        store.db.write().sql(delete).run().await.expect("deleted");
        assert_eq!(renewed(&store).await, (left, 0));
    }
}
