//! Recurring work for as long as the server runs: what trackers were heard, partitions, signing keys, uses of keys, retention,
//! purges, states, packed days of the fuel log, SQLite's log.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until};

use crate::clock::Clock;
use crate::context::Context;
use crate::ops::fuel_packing::pack_days;
use crate::ops::pending_trackers::take_kept;
use crate::ops::purge::purge;
use crate::ops::retention::{Gone, enforce};
use crate::ops::tracker_reports::save;
use crate::store::partitions::make_partitions;
use crate::store::sql::Db;
use crate::store::wal;

/// Pause before work that panicked is begun again.
const AGAIN_AFTER_PANIC: Duration = Duration::from_secs(60);
/// Pause between two checks for partitions to make, and before those are tried again for which a table could not be locked.
const PARTITIONS_EVERY: Duration = Duration::from_secs(3600);

/// Pause between two checks whether the signing keys were rotated.
const KEYS_EVERY: Duration = Duration::from_secs(5);
/// Pause between two looks for changes without a number, on a node of a cluster.
const NUMBERING_EVERY: Duration = Duration::from_secs(5);
/// Pause between two saves of refused reports.
const REPORTS_EVERY: Duration = Duration::from_secs(5);
/// How many of these saves come before one with the contacts of all trackers.
const SAVES_BETWEEN_CONTACTS: u32 = 12;
/// Pause between two times of storing when keys were last accepted.
const KEY_USES_EVERY: Duration = Duration::from_secs(60);
/// Pause between two checks of the size of the embedded store's log.
const LOG_EVERY: Duration = Duration::from_secs(10);
/// Pause between two runs of retention, each of which also stores every vehicle's state. So the fix log holds a fix
/// for this long at most.
const RETENTION_EVERY: Duration = Duration::from_secs(3600);
/// Pause before the next look whether the live core is done with a deleted vehicle.
const PURGE_AGAIN: Duration = Duration::from_secs(1);
/// Pause after an error.
const PURGE_AGAIN_AFTER_ERROR: Duration = Duration::from_secs(60);

/// Does recurring work on this thread.
pub(super) fn keep_up<F: Future<Output = ()> + 'static>(
    name: &'static str,
    work: impl Fn(Context) -> F + 'static,
    context: &Context,
) -> JoinHandle<()> {
    let context = context.clone();
    actix_rt::spawn(despite_panics(name, AGAIN_AFTER_PANIC, move || work(context.clone())))
}

/// Does work, and begins it again if it panics: what hinders it this time need not the next.
async fn despite_panics<F: Future<Output = ()>>(name: &str, pause: Duration, work: impl Fn() -> F) {
    while AssertUnwindSafe(work()).catch_unwind().await.is_err() {
        tracing::error!(name, "recurring work panicked; it is begun again in {} s", pause.as_secs());
        sleep(pause).await;
    }
}

/// Makes partitions ahead of their time, for as long as the server runs.
pub(super) async fn keep_partitions(context: Context) {
    loop {
        sleep(PARTITIONS_EVERY).await;
        renew_partitions(&context.db, &context.clock).await;
    }
}

/// Loads keys made by `waypost keys rotate`, for as long as the server runs. What hinders it is told once, not each time.
pub(super) async fn keep_keys(context: Context) {
    let mut told = None;
    loop {
        sleep(KEYS_EVERY).await;
        let failed = context.auth.renew_keys().await.err().map(|error| error.to_string());
        if let Some(error) = failed.as_ref().filter(|_| told != failed) {
            tracing::error!(%error, "the signing keys cannot be read; those known before go on, until the next start");
        }
        told = failed;
    }
}

/// Stores the states known only through the fix log and deletes what is past retention, for as long as the server runs; until it
/// does so again, what was recorded of what is deleted goes as soon as that is asked for, and days of the fuel log are packed. If
/// stopped in the middle, it continues after the next start.
pub(super) async fn keep_retention(context: Context) {
    loop {
        let until = Instant::now() + RETENTION_EVERY;
        match enforce(&context).await {
            Ok(gone) if gone == Gone::default() => {}
            Ok(gone) => tracing::info!(?gone, "deleted what is past retention"),
            Err(error) => tracing::warn!(%error, "what is past retention could not be deleted"),
        }
        // With time, licences expire: the writer looks, as after each edit.
        context.live.number_changes();
        let mut has_more = true;
        loop {
            let again = purge_marked(&context).await;
            // Once no day is left, it is asked again in the next hour and not with each purge.
            has_more = has_more && pack_some(&context).await;
            if !has_more {
                tokio::select! {
                    () = sleep_until(until.min(Instant::now() + again)) => {}
                    () = context.purges.notified() => {}
                }
            }
            if Instant::now() >= until {
                break;
            }
        }
    }
}

/// Deletes what was recorded of what is deleted; returns when to look again unless something is marked before.
async fn purge_marked(context: &Context) -> Duration {
    match purge(context).await {
        Ok(purged) => {
            if purged.vehicles > 0 {
                tracing::info!(?purged, "deleted what was recorded of deleted vehicles");
            }
            if purged.waiting > 0 { PURGE_AGAIN } else { RETENTION_EVERY }
        }
        Err(error) => {
            tracing::warn!(%error, "what was recorded of deleted vehicles could not be deleted");
            PURGE_AGAIN_AFTER_ERROR
        }
    }
}

/// Packs some days of the fuel log; returns whether there may be more.
async fn pack_some(context: &Context) -> bool {
    match pack_days(context).await {
        Ok(days) => {
            if days > 0 {
                tracing::info!(days, "packed days of the fuel log");
            }
            days > 0
        }
        Err(error) => {
            tracing::warn!(%error, "days of the fuel log could not be packed");
            false
        }
    }
}

/// Numbers changes of this shard's organizations that were made where what is of no organization is served, for as long as the
/// server runs.
pub(super) async fn keep_numbering(context: Context) {
    loop {
        sleep(NUMBERING_EVERY).await;
        context.live.number_changes();
    }
}

/// Saves refused reports and contacts, and stores what new trackers had sent before they were any, for as long as the server runs.
pub(super) async fn keep_reports(context: Context) {
    let mut saves = 0;
    loop {
        sleep(REPORTS_EVERY).await;
        saves = (saves + 1) % SAVES_BETWEEN_CONTACTS;
        if let Err(error) = save(&context, saves == 0).await {
            tracing::debug!(%error, "refused reports and contacts are saved later");
        }
        if let Err(error) = take_kept(&context).await {
            tracing::debug!(%error, "what new trackers had sent is stored later");
        }
    }
}

/// Stores when keys were last accepted, for as long as the server runs.
pub(super) async fn keep_key_uses(context: Context) {
    loop {
        sleep(KEY_USES_EVERY).await;
        if let Err(error) = context.auth.store_key_uses().await {
            tracing::warn!(%error, "when keys were last used could not be stored");
        }
    }
}

/// Shrinks the embedded store's log, for as long as the server runs.
pub(super) async fn keep_log_small(context: Context) {
    loop {
        sleep(LOG_EVERY).await;
        if let Err(error) = wal::give_back(&context.db, wal::LARGE_BYTES).await {
            tracing::warn!(%error, "the log of the embedded store could not be begun anew");
        }
    }
}

/// A failure is only logged, because nothing is lost without new partitions: the default one may hold so much that
/// scanning it takes longer than a statement may, or be read by a backup.
pub(super) async fn renew_partitions(db: &Db, clock: &Clock) {
    if let Err(error) = make_partitions(db, clock.now()).await {
        tracing::error!(%error, "partitions could not be made; fixes go to the default one until they can, which is tried each hour");
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[actix_rt::test]
    async fn work_that_panics_is_begun_again() {
        let begun = Cell::new(0);
        let work = async || {
            begun.set(begun.get() + 1);
            assert!(begun.get() == 3, "this time it does not work");
        };
        despite_panics("test", Duration::ZERO, work).await;
        assert_eq!(begun.get(), 3);
    }
}
