//! A store that forgets what it is given.

use std::sync::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use waypost_actors::model::{Change, GeofenceId, VehicleId};
use waypost_actors::ports::{
    Batch, Committed, Counts, RefusedFix, Reread, Seeds, Slice, StoreError, TrackStore, VehicleWrite,
};
use waypost_actors::tracking::Record;

/// Gives out what the core starts with, once; numbers and forgets the rest.
pub(crate) struct Forgetful {
    seeds: Mutex<Option<Seeds>>,
    next_sequence: AtomicI64,
}

impl Forgetful {
    pub(crate) fn new(seeds: Seeds) -> Self {
        Self { next_sequence: AtomicI64::new(seeds.next_sequence), seeds: Mutex::new(Some(seeds)) }
    }

    fn numbered(&self, records: &[Record]) -> Vec<Record> {
        let number = || self.next_sequence.fetch_add(1, Ordering::Relaxed);
        records.iter().map(|record| Record { sequence: number(), ..record.clone() }).collect()
    }

    fn committed(&self, VehicleWrite { effects, .. }: &VehicleWrite) -> Committed {
        let counts = Counts { stored: effects.rows.len() as u64, duplicates: 0 };
        Committed { counts, records: self.numbered(&effects.records), ..Committed::default() }
    }
}

/// No fix here is late, refused or in doubt.
fn never<T>() -> Result<T, StoreError> {
    Err(StoreError::away("this store is never asked for that"))
}

impl TrackStore for Forgetful {
    fn seeds(&self) -> BoxFuture<'_, Result<Seeds, StoreError>> {
        let seeds = self.seeds.lock().ok().and_then(|mut seeds| seeds.take());
        ready(seeds.map_or_else(never, Ok)).boxed()
    }

    fn commit<'a>(&'a self, batch: &'a Batch) -> BoxFuture<'a, Result<Vec<Committed>, StoreError>> {
        async { Ok(batch.writes.iter().map(|write| self.committed(write)).collect()) }.boxed()
    }

    fn number_changes(&self) -> BoxFuture<'_, Result<Vec<Change>, StoreError>> {
        ready(Ok(Vec::new())).boxed()
    }

    fn revise_drivers(&self) -> BoxFuture<'_, Result<(Vec<Record>, bool), StoreError>> {
        ready(Ok((Vec::new(), false))).boxed()
    }

    fn log_connections<'a>(
        &'a self,
        records: &'a [Record],
    ) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        ready(Ok(self.numbered(records))).boxed()
    }

    fn slice(&self, _: VehicleId) -> BoxFuture<'_, Result<Option<Slice>, StoreError>> {
        ready(Ok(None)).boxed()
    }

    fn reread<'a>(&'a self, _: &'a [VehicleId], _: i64) -> BoxFuture<'a, Result<Reread, StoreError>> {
        ready(never()).boxed()
    }

    fn keep_refused_fix<'a>(&'a self, _: &'a RefusedFix) -> BoxFuture<'a, Result<(), StoreError>> {
        ready(never()).boxed()
    }

    fn mark_settled(&self, _: GeofenceId, _: i64) -> BoxFuture<'_, Result<(), StoreError>> {
        ready(Ok(())).boxed()
    }

    fn mark_calibrated(&self, _: VehicleId, _: i64) -> BoxFuture<'_, Result<(), StoreError>> {
        ready(Ok(())).boxed()
    }
}
