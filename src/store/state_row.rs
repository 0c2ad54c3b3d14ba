//! Each vehicle's newest state, and whether its events await a correction (the dirty mark).

use std::collections::HashMap;

use sqlx::types::Json;
use waypost_actors::model::VehicleId;
use waypost_actors::ports::VehicleWrite;
use waypost_actors::tracking::{Dirty, VehicleState};

use super::rows::{Column, Insert};
use super::sql::{Result, Tx};
use super::time::Time;

/// What a batch makes of one vehicle's mark.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Mark {
    /// A correction says what is left to do, whatever was marked before it.
    is_whole: bool,
    /// Marked since, or left to do.
    dirty: Option<Dirty>,
}

impl Mark {
    /// More awaits a correction.
    pub(super) fn add(&mut self, more: Dirty) {
        self.dirty = Some(self.dirty.map_or(more, |known| known.merged(more)));
    }

    /// A correction was made, and leaves this.
    pub(super) fn replace(&mut self, left: Option<Dirty>) {
        *self = Self { is_whole: true, dirty: left };
    }

    /// Whether the batch leaves something to correct.
    pub(super) const fn is_dirty(&self) -> bool {
        self.dirty.is_some()
    }
}

const MERGED: &str = "on conflict (vehicle_id) do update set recorded_at = excluded.recorded_at, \
    latitude = excluded.latitude, longitude = excluded.longitude, state = excluded.state, \
    dirty_origin = case when excluded.dirty_from is null or vehicle_state.dirty_from <= excluded.dirty_from \
        then vehicle_state.dirty_origin else excluded.dirty_origin end, \
    dirty_from = case when excluded.dirty_from is null or vehicle_state.dirty_from <= excluded.dirty_from \
        then vehicle_state.dirty_from else excluded.dirty_from end, \
    dirty_until = case when excluded.dirty_until is null or vehicle_state.dirty_until >= excluded.dirty_until \
        then vehicle_state.dirty_until else excluded.dirty_until end";

const REPLACED: &str = "on conflict (vehicle_id) do update set recorded_at = excluded.recorded_at, \
    latitude = excluded.latitude, longitude = excluded.longitude, state = excluded.state, \
    dirty_from = excluded.dirty_from, dirty_until = excluded.dirty_until, dirty_origin = excluded.dirty_origin";
