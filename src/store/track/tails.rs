//! Vehicles' newest fixes: those that the fix log has and no chunk yet.

use std::borrow::Cow;
use std::collections::HashMap;

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use postcard::{take_from_bytes, to_extend};
use waypost_actors::model::{Attributes, Timestamp, VehicleId};
use waypost_actors::ports::VehicleWrite;
use waypost_actors::tracking::{Freshness, PositionRow};

use super::packed_fixes::PackedFix;
use crate::store::packed_chunk::ChunkFix;
use crate::store::sql::{Result, SqlError};

/// The fixes of each vehicle that are in no chunk, oldest first. Read while commits go on.
#[derive(Debug, Default)]
pub(super) struct Tails(RwLock<HashMap<VehicleId, Tail>>);

#[derive(Debug)]
struct Tail {
    /// No fix of the vehicle that is stored in order is newer.
    newest: Timestamp,
    /// One [`PackedFix`] after the other.
    packed: Vec<u8>,
    count: usize,
    /// What some of them carry, by their place.
    attributes: Vec<(usize, Attributes)>,
}

impl Default for Tail {
    fn default() -> Self {
        Self { newest: Timestamp::MIN, packed: Vec::new(), count: 0, attributes: Vec::new() }
    }
}

impl Tail {
    fn fixes(&self) -> Result<Vec<ChunkFix>> {
        let (mut fixes, mut rest) = (Vec::new(), self.packed.as_slice());
        let mut carried = self.attributes.iter().peekable();
        while !rest.is_empty() {
            let (packed, behind): (PackedFix, _) =
                take_from_bytes(rest).map_err(|error| SqlError::Decode(error.into()))?;
            let row = packed.unpack(0)?;
            let attributes = carried.next_if(|(place, _)| *place == fixes.len());
            let attributes = attributes.map(|(_, attributes)| attributes.clone());
            fixes.push(ChunkFix { fix: row.fix, quarantine: row.quarantine, attributes });
            rest = behind;
        }
        Ok(fixes)
    }

    fn append(&mut self, fixes: &[ChunkFix]) -> Result<()> {
        for ChunkFix { fix, quarantine, attributes } in fixes {
            self.newest = self.newest.max(fix.recorded_at);
            if let Some(attributes) = attributes {
                // Most say the same as the one before, which is kept once.
                let last = self.attributes.last().map(|(_, last)| last).filter(|last| *last == attributes);
                let attributes = last.unwrap_or(attributes).clone();
                self.attributes.push((self.count, attributes));
            }
            let (fix, quarantine, freshness) = (*fix, *quarantine, Freshness::Fresh);
            let row = PositionRow { fix, quarantine, attributes: None, freshness };
            let packed = std::mem::take(&mut self.packed);
            let packed = to_extend(&PackedFix::pack(&row, 0), packed);
            self.packed = packed.map_err(|error| SqlError::Encode(error.into()))?;
            self.count += 1;
        }
        Ok(())
    }
}

impl Tails {
    fn read(&self) -> RwLockReadGuard<'_, HashMap<VehicleId, Tail>> {
        self.0.read()
    }

    fn write(&self) -> RwLockWriteGuard<'_, HashMap<VehicleId, Tail>> {
        self.0.write()
    }

    /// A vehicle's fixes that are in no chunk.
    pub(super) fn of(&self, vehicle: VehicleId) -> Result<Vec<ChunkFix>> {
        self.read().get(&vehicle).map_or_else(|| Ok(Vec::new()), Tail::fixes)
    }

    /// How many fixes of a vehicle are in no chunk.
    pub(super) fn len(&self, vehicle: VehicleId) -> usize {
        self.read().get(&vehicle).map_or(0, |tail| tail.count)
    }

    /// No fix of the vehicle is newer than this, as far as those stored in order are concerned.
    pub(super) fn reach(&self, vehicle: VehicleId, newest: Timestamp) {
        let mut tails = self.write();
        let tail = tails.entry(vehicle).or_default();
        tail.newest = tail.newest.max(newest);
    }

    /// Appends fixes that are stored, each vehicle's oldest first.
    pub(super) fn append<'f>(
        &self,
        stored: impl IntoIterator<Item = (VehicleId, &'f [ChunkFix])>,
    ) -> Result<()> {
        let mut tails = self.write();
        stored.into_iter().try_for_each(|(vehicle, fixes)| tails.entry(vehicle).or_default().append(fixes))
    }

    /// What a log tells of the vehicles that it names.
    pub(super) fn replace(&self, told: Self) {
        self.write().extend(told.0.into_inner());
    }

    /// All fixes of some vehicles are in chunks.
    pub(super) fn chunked(&self, vehicles: impl IntoIterator<Item = VehicleId>) {
        let mut tails = self.write();
        for vehicle in vehicles {
            if let Some(tail) = tails.get_mut(&vehicle) {
                (tail.packed, tail.count, tail.attributes) = (Vec::new(), 0, Vec::new());
            }
        }
    }

    /// The batch, with each fix that is said to be newer than all that is stored, and is not, as one that may be stored
    /// already.
    pub(super) fn checked<'a>(&self, writes: &'a [VehicleWrite]) -> Cow<'a, [VehicleWrite]> {
        let tails = self.read();
        let mut newest: HashMap<VehicleId, Timestamp> = HashMap::with_capacity(writes.len());
        let mut is_newer = |vehicle: VehicleId, row: &PositionRow| {
            let stored = || tails.get(&vehicle).map_or(Timestamp::MIN, |tail| tail.newest);
            let known = newest.entry(vehicle).or_insert_with(stored);
            let is_newer = row.fix.recorded_at > *known;
            *known = row.fix.recorded_at.max(*known);
            is_newer
        };
        let mut wrong = Vec::new();
        for (number, write) in writes.iter().enumerate() {
            for (index, row) in write.effects.rows.iter().enumerate() {
                if row.freshness == Freshness::Fresh && !is_newer(write.vehicle_id, row) {
                    wrong.push((number, index));
                }
            }
        }
        if wrong.is_empty() {
            return Cow::Borrowed(writes);
        }
        let mut writes = writes.to_vec();
        for (number, index) in wrong {
            writes[number].effects.rows[index].freshness = Freshness::Recheck { late: true };
        }
        Cow::Owned(writes)
    }
}
