//! A store of live data that keeps none: commits are numbered and forgotten. It shows what the server costs without
//! a database. Only the bench has it; the product cannot be configured to use it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use futures_util::future::BoxFuture;
use waypost::store::track::Track;
use waypost_actors::model::{
    Change, Fix, GeofenceId, OrganizationId, Place, Timestamp, Vehicle, VehicleId, VehicleLimits,
};
use waypost_actors::ports::{
    Batch, Committed, Counts, RefusedFix, Reread, Seeds, Slice, StoreError, TrackStore, VehicleSeed,
    VehicleWrite,
};
use waypost_actors::tracking::{Record, VehicleState};

/// Master data comes from a real store, and vehicles that never report again may be added; nothing is written.
pub(crate) struct NullStore {
    master: Arc<Track>,
    idle_vehicles: u32,
    next_sequence: AtomicI64,
}

impl NullStore {
    pub(crate) fn new(master: Arc<Track>, idle_vehicles: u32) -> Self {
        Self { master, idle_vehicles, next_sequence: AtomicI64::new(1) }
    }

    fn committed(&self, write: &VehicleWrite) -> Committed {
        let mut records = write.effects.records.clone();
        for record in &mut records {
            record.sequence = self.next_sequence.fetch_add(1, Ordering::Relaxed);
        }
        let counts = Counts { stored: write.effects.rows.len() as u64, duplicates: 0 };
        Committed { counts, records, ..Committed::default() }
    }
}

/// A vehicle that reported once, long ago.
fn idle_vehicle(number: u32) -> VehicleSeed {
    let at = Timestamp::from_micros(1_700_000_000_000_000);
    let state = VehicleState {
        last: Some(Fix::new(at, at, Place::new(45.0, 10.0))),
        newest_entry: at,
        newest_stored: at,
        ..VehicleState::default()
    };
    let number = u128::from(number) + 1;
    let vehicle = Vehicle {
        id: VehicleId(uuid_of(number << 64 | number)),
        organization_id: OrganizationId(uuid_of(1)),
        name: format!("idle {number}"),
        limits: VehicleLimits::default(),
        out_of_service: Vec::new(),
        calibrations: Vec::new(),
    };
    VehicleSeed { vehicle, state, is_lost: false, is_removed: false, dirty_from: None, connection: None }
}

const fn uuid_of(number: u128) -> uuid::Uuid {
    uuid::Uuid::from_u128(number)
}

impl TrackStore for NullStore {
    fn seeds(&self) -> BoxFuture<'_, Result<Seeds, StoreError>> {
        Box::pin(async move {
            let mut seeds = self.master.seeds().await?;
            seeds.vehicles.extend((0..self.idle_vehicles).map(idle_vehicle));
            self.next_sequence.store(seeds.next_sequence, Ordering::Relaxed);
            Ok(seeds)
        })
    }

    fn commit<'a>(&'a self, batch: &'a Batch) -> BoxFuture<'a, Result<Vec<Committed>, StoreError>> {
        Box::pin(async move { Ok(batch.writes.iter().map(|write| self.committed(write)).collect()) })
    }

    fn number_changes(&self) -> BoxFuture<'_, Result<Vec<Change>, StoreError>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn revise_drivers(&self) -> BoxFuture<'_, Result<(Vec<Record>, bool), StoreError>> {
        Box::pin(std::future::ready(Ok((Vec::new(), false))))
    }

    fn log_connections<'a>(
        &'a self,
        records: &'a [Record],
    ) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        let number = || self.next_sequence.fetch_add(1, Ordering::Relaxed);
        let numbered = |record: &Record| Record { sequence: number(), ..record.clone() };
        let logged = records.iter().map(numbered).collect();
        Box::pin(async move { Ok(logged) })
    }

    fn slice(&self, _: VehicleId) -> BoxFuture<'_, Result<Option<Slice>, StoreError>> {
        Box::pin(async { Ok(None) })
    }

    fn reread<'a>(
        &'a self,
        vehicles: &'a [VehicleId],
        sequence: i64,
    ) -> BoxFuture<'a, Result<Reread, StoreError>> {
        self.master.reread(vehicles, sequence)
    }

    fn keep_refused_fix<'a>(&'a self, refused: &'a RefusedFix) -> BoxFuture<'a, Result<(), StoreError>> {
        self.master.keep_refused_fix(refused)
    }

    fn mark_settled(&self, fence: GeofenceId, version: i64) -> BoxFuture<'_, Result<(), StoreError>> {
        self.master.mark_settled(fence, version)
    }

    fn mark_calibrated(&self, vehicle: VehicleId, version: i64) -> BoxFuture<'_, Result<(), StoreError>> {
        self.master.mark_calibrated(vehicle, version)
    }
}
