//! A server that was stopped in the middle of deleting what was recorded of a vehicle.

use sqlx::AssertSqlSafe;
use uuid::Uuid;
use waypost_test_support::{TestStore, eventually, for_each_engine};

use crate::server::{Bus, DEADLINE, Server};

for_each_engine!(what_is_left_to_delete_goes_at_the_next_start);

/// Tables with rows of a vehicle that is inside a fence.
const TABLES: [&str; 4] = ["vehicle_state", "position_chunk", "records", "visit"];

async fn rows(store: &TestStore, table: &str, bus: &Bus) -> i64 {
    let count = AssertSqlSafe(format!("select count(*) from {table} where vehicle_id = $1"));
    store.db.read().sql(count).bind(bus.vehicle.parse::<Uuid>().unwrap()).scalar().await.unwrap()
}

async fn what_is_left_to_delete_goes_at_the_next_start(store: TestStore) {
    let server = Server::start(&store).await;
    let fleet = server.fleet("org").await;
    fleet.fence("depot").await;
    let (gone, stays) = (fleet.bus("gone").await, fleet.bus("stays").await);
    for bus in [&gone, &stays] {
        bus.cross(&server, 1, 5).await;
    }
    server.context.track.save_states().await.unwrap();
    server.stop().await;
    // The deletion was committed, and a record of it had gone, when the server was killed.
    let id: Uuid = gone.vehicle.parse().unwrap();
    for text in [
        "update vehicle set deleted_at = updated_at, purge_asked_at = updated_at where id = $1",
        "update vehicle_state set dirty_from = v.created_at, dirty_until = v.updated_at, dirty_origin = 'recompute' \
         from vehicle v where v.id = vehicle_id and v.id = $1",
        "delete from records where id = (select id from records where vehicle_id = $1 order by occurred_at limit 1)",
    ] {
        store.db.write().sql(text).bind(id).run().await.unwrap();
    }
    let mut before = Vec::new();
    for table in TABLES {
        let (of_gone, of_other) = (rows(&store, table, &gone).await, rows(&store, table, &stays).await);
        assert!(of_gone > 0 && of_other > 0, "{table}");
        before.push(of_other);
    }
    let server = Server::start(&store).await;
    let purged = "select count(*) from vehicle where purged_at is not null";
    eventually(DEADLINE, async || store.db.read().sql(purged).scalar::<i64>().await.unwrap() == 1).await;
    for (table, of_other) in TABLES.into_iter().zip(before) {
        assert_eq!(
            (rows(&store, table, &gone).await, rows(&store, table, &stays).await),
            (0, of_other),
            "{table}"
        );
    }
    server.stop().await;
    assert_eq!(rows(&store, "vehicle_state", &gone).await, 0, "nor does a stop bring anything back");
}
