//! How many steps SQLite's machine takes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::join_all;
use waypost::store::sql::{Db, Pools};

/// From now on counts the steps of SQLite's machine on the writer and on the readers.
pub(crate) async fn count_steps(db: &Db) -> Arc<AtomicU64> {
    let Pools::Sqlite { writer, readers, .. } = &db.pools else { panic!("SQLite alone counts them") };
    let steps = Arc::<AtomicU64>::default();
    for pool in [writer, readers] {
        let all = join_all((0..pool.options().get_max_connections()).map(|_| pool.acquire())).await;
        for connection in all {
            let (mut connection, counted) = (connection.expect("a connection"), Arc::clone(&steps));
            connection.lock_handle().await.expect("its handle").set_progress_handler(100, move || {
                counted.fetch_add(100, Ordering::Relaxed);
                true
            });
        }
    }
    steps
}
