//! The fuel log of vehicles over a period, page by page: the source of raw data; and the period of charts and consumption.
//!
//! No connection and no transaction is held between two pages, however long the reader takes, because each page asks
//! for what follows the last entry. Late entries before that place are missed; the others come in order, each once.

use std::collections::VecDeque;

use waypost_actors::fuel::FuelEvent;
use waypost_actors::model::{Calibration, EventStatus, Timestamp, VehicleId};
use waypost_actors::tracking::{RecordKind, RecordView};

use super::error::OpError;
use super::scoped::Scoped;
use crate::auth::{Action, OrgScope};
use crate::context::Context;
use crate::domain::event::{EventFilter, EventOrder};
use crate::domain::field::FieldError;
use crate::domain::fuel::FuelEntry;
use crate::domain::paging::After;
use crate::store::fuel_levels::{Levels, Reader};
use crate::store::sql::Db;
use crate::store::time::just_before;
use crate::store::{calibration, fuel_history, record_history, vehicle};

/// Refuels and drains that are read at once.
const PAGE: i64 = 1_000;
const DAY_SECONDS: f64 = 86_400.0;

/// The vehicles and the period that a client named; both may be missing.
#[derive(Clone, Debug, Default)]
pub struct PeriodRequest {
    /// Of these vehicles.
    pub vehicle_ids: Vec<VehicleId>,
    /// `recordedAt` from here, inclusive.
    pub from: Option<Timestamp>,
    /// `recordedAt` up to here, exclusive.
    pub to: Option<Timestamp>,
}

/// A checked period of vehicles that exist and are the caller's.
#[derive(Clone, Debug)]
pub(super) struct Period {
    pub(super) scope: OrgScope,
    pub(super) vehicle_ids: Vec<VehicleId>,
    pub(super) from: Timestamp,
    pub(super) to: Timestamp,
}

impl PeriodRequest {
    /// Checks that the caller may read it, that it is complete and not too long, and that the vehicles exist. Deleted
    /// vehicles are accepted.
    pub(super) async fn check(
        self,
        context: &Context,
        by: &Scoped,
        max_days: usize,
    ) -> Result<Period, OpError> {
        let scope = by.scope(context, Action::ReadFuel).await?;
        let (from, to) = self.bounds(max_days)?;
        let mut vehicle_ids = self.vehicle_ids;
        vehicle_ids.sort_unstable();
        vehicle_ids.dedup();
        for id in &vehicle_ids {
            if !vehicle::existed(context.db.read(), &scope, *id).await? {
                return Err(OpError::NotFound);
            }
        }
        Ok(Period { scope, vehicle_ids, from, to })
    }

    fn bounds(&self, max_days: usize) -> Result<(Timestamp, Timestamp), Vec<FieldError>> {
        let required = |name: &str| FieldError::new(name, "required", "is required");
        let mut problems = Vec::new();
        if self.vehicle_ids.is_empty() {
            problems.push(required("?vehicleId"));
        }
        let (Some(from), Some(to)) = (self.from, self.to) else {
            problems.extend(self.from.is_none().then(|| required("?from")));
            problems.extend(self.to.is_none().then(|| required("?to")));
            return Err(problems);
        };
        let seconds = to.seconds_since(from);
        if seconds <= 0.0 {
            problems.push(FieldError::new("?to", "range", "must be after from"));
        } else if seconds > max_days as f64 * DAY_SECONDS {
            problems.push(FieldError::new(
                "?to",
                "range",
                format!("must be at most {max_days} days after from"),
            ));
        }
        if problems.is_empty() { Ok((from, to)) } else { Err(problems) }
    }
}

impl Period {
    /// What is known of a vehicle's tank and sensor at the period's end.
    pub(super) async fn calibration_of(
        &self,
        db: &Db,
        vehicle: VehicleId,
    ) -> Result<Option<Calibration>, OpError> {
        let versions = calibration::versions(db.read(), &self.scope, vehicle).await?;
        Ok(Calibration::in_force_at(&versions, self.to).cloned())
    }

    /// The levels of a vehicle in it, or after an instant before it.
    pub(super) fn levels(
        &self,
        db: &Db,
        reader: Reader,
        vehicle: VehicleId,
        after: Option<Timestamp>,
    ) -> Levels {
        let after = after.unwrap_or_else(|| just_before(self.from));
        Levels::new(db, self.scope, reader, vehicle, (after, self.to))
    }

    /// Refuels and drains that ended at `from` or later and began before the period's end, in the order of time.
    pub(super) async fn events(&self, db: &Db, from: Timestamp) -> Result<Vec<FuelEvent>, OpError> {
        let filter = EventFilter {
            vehicle_ids: self.vehicle_ids.iter().map(|id| id.0).collect(),
            kinds: RecordKind::FUEL.to_vec(),
            statuses: vec![EventStatus::Active],
            ended_from: Some(from),
            to: Some(self.to),
            ..EventFilter::default()
        };
        let (mut found, mut after, order) = (Vec::new(), None, EventOrder::OldestFirst);
        loop {
            let page = record_history::list(db, &self.scope, &filter, order, after, PAGE).await?;
            let is_last = (page.len() as i64) < PAGE;
            after = page.last().map(|last| After::Happened(last.occurred_at, last.id.into()));
            let events = page.iter().filter_map(|record| RecordView::from(record).fuel());
            found.extend(events.map(|record| record.event));
            if is_last {
                return Ok(found);
            }
        }
    }
}

/// Reads the log of a period: vehicle by vehicle, each in the order of time.
pub(super) struct Pages {
    db: Db,
    period: Period,
    /// Vehicles not read to their end.
    waiting: VecDeque<VehicleId>,
    /// The instant after which the first of them continues.
    after: Timestamp,
}

impl Pages {
    pub(super) fn new(db: &Db, period: Period) -> Self {
        let after = just_before(period.from);
        let waiting = period.vehicle_ids.iter().copied().collect();
        Self { db: db.clone(), period, waiting, after }
    }

    /// The next page, never an empty one; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<FuelEntry>>, OpError> {
        while let Some(vehicle) = self.waiting.front().copied() {
            let Period { scope, to, .. } = &self.period;
            let page = fuel_history::following(&self.db, scope, vehicle, self.after, *to).await?;
            if let Some(last) = page.last().filter(|_| page.len() as i64 == fuel_history::PAGE) {
                self.after = last.recorded_at;
            } else {
                self.waiting.pop_front();
                self.after = just_before(self.period.from);
            }
            if !page.is_empty() {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn what_is_missing_or_too_long_is_named() {
        let at = |seconds: f64| Some(Timestamp::from_micros(0).plus_seconds(seconds));
        let one = vec![VehicleId(Uuid::nil())];
        let pointers = |vehicle_ids: &[VehicleId], from, to| -> Vec<String> {
            let request = PeriodRequest { vehicle_ids: vehicle_ids.to_vec(), from, to };
            request.bounds(31).err().into_iter().flatten().map(|problem| problem.pointer).collect()
        };
        assert_eq!(pointers(&[], None, None), ["?vehicleId", "?from", "?to"]);
        assert_eq!(pointers(&one, at(0.0), at(31.0 * DAY_SECONDS)), Vec::<String>::new());
        assert_eq!(pointers(&one, at(0.0), at(31.0 * DAY_SECONDS + 1.0)), ["?to"]);
        assert_eq!(pointers(&one, at(1.0), at(1.0)), ["?to"]);
        assert_eq!(pointers(&[], at(0.0), at(1.0)), ["?vehicleId"]);
        assert_eq!(pointers(&one, None, at(1.0)), ["?from"]);
    }
}
