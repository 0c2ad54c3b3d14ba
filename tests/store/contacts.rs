//! When trackers were last heard.

use std::collections::HashMap;

use waypost::clock::new_id;
use waypost::report_log::{Contact, Unsaved};
use waypost::store::tracker_report;
use waypost_actors::model::{Timestamp, TrackerId};
use waypost_test_support::{TestStore, for_each_engine};

for_each_engine!(a_heartbeat_leaves_when_the_last_position_came);

async fn a_heartbeat_leaves_when_the_last_position_came(store: TestStore) {
    let tracker = TrackerId(new_id());
    let [first, second] = [1_000, 2_000].map(Timestamp::from_micros);
    for (at, position_at) in [(first, Some(first)), (second, None)] {
        let contacts = HashMap::from([(tracker, Contact { at, position_at })]);
        tracker_report::save(&store.db, &Unsaved { contacts, ..Unsaved::default() })
            .await
            .expect("it is saved");
    }
    let kept = tracker_report::last_contact(store.db.read(), tracker).await.expect("it is read");
    assert_eq!(kept, Some(Contact { at: second, position_at: Some(first) }));
}
