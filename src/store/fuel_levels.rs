//! What charts and consumption read of a vehicle's fuel log: packed days where there are any, and the log itself.

use std::collections::VecDeque;

use uuid::Uuid;
use waypost_actors::fuel::Measured;
use waypost_actors::model::{Timestamp, VehicleId};

use super::fuel_day::{day_after, day_of};
use super::packed_levels::unpack_levels;
pub use super::packed_levels::{Level, Reader};
use super::sql::{Db, On, Result, Stmt};
use super::time::{Time, just_after, just_before};
use crate::auth::scope::OrgScope;

/// Entries of the log that are read at once.
pub(super) const PAGE: usize = 10_000;
/// Packed days that are read at once: some 15 kB each with a reading every ten seconds for eight hours.
const DAYS: i64 = 32;

const SELECT: &str = "select recorded_at, level_raw_liters, level_liters, counter_liters, distance_meters, \
    calibration_version from fuel_log where vehicle_id = ";

type LevelRow = (Time, Option<f64>, Option<f64>, Option<f64>, Option<f64>, Option<i64>);

/// Reads a vehicle's levels in the order of time, a day or a page of the log at a time: memory is bounded, and no connection is held
/// between two pages. What is changed meanwhile is read as it was or as it is, and each entry that stays is read once.
pub struct Levels {
    db: Db,
    scope: OrgScope,
    reader: Reader,
    vehicle: VehicleId,
    /// What follows is read next.
    after: Timestamp,
    to: Timestamp,
    /// Packed days that were read and are not passed yet, oldest first.
    days: VecDeque<(Time, Vec<u8>)>,
    /// Whether the newest packed day of the period is among them, or behind.
    has_all_days: bool,
}

impl Levels {
    /// Those after an instant and before another.
    #[must_use]
    pub fn new(
        db: &Db,
        scope: OrgScope,
        reader: Reader,
        vehicle: VehicleId,
        (after, to): (Timestamp, Timestamp),
    ) -> Self {
        let (db, days) = (db.clone(), VecDeque::new());
        Self { db, scope, reader, vehicle, after, to, days, has_all_days: false }
    }

    /// The next ones, never none; `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Vec<Level>>> {
        loop {
            let from = just_after(self.after);
            if from >= self.to {
                return Ok(None);
            }
            if self.days.is_empty() && !self.has_all_days {
                self.read_days(day_of(from)).await?;
            }
            let levels = match self.days.pop_front() {
                Some((Time(day), bytes)) if day <= from => self.of_day(day, &bytes)?,
                Some(later) => {
                    let until = later.0.0;
                    self.days.push_front(later);
                    self.of_log(until).await?
                }
                None => self.of_log(self.to).await?,
            };
            if !levels.is_empty() {
                return Ok(Some(levels));
            }
        }
    }

    async fn read_days(&mut self, from: Timestamp) -> Result<()> {
        let select = "select day, levels from fuel_day where organization_id = $1 and vehicle_id = $2 \
            and day >= $3 and day < $4 and levels is not null order by day limit $5";
        let stmt = self.db.lists().sql(select).bind(Uuid::from(self.scope.organization_id()));
        let stmt = stmt.bind(self.vehicle.0).bind(Time(from)).bind(Time(self.to)).bind(DAYS);
        self.days = stmt.all::<(Time, Vec<u8>)>().await?.into();
        self.has_all_days = (self.days.len() as i64) < DAYS;
        Ok(())
    }

    fn of_day(&mut self, day: Timestamp, bytes: &[u8]) -> Result<Vec<Level>> {
        let mut levels = unpack_levels(bytes, self.reader)?;
        let end = day_after(day);
        if self.after >= day || self.to < end {
            levels.retain(|level| level.measured.at > self.after && level.measured.at < self.to);
        }
        self.after = just_before(end);
        Ok(levels)
    }

    async fn of_log(&mut self, until: Timestamp) -> Result<Vec<Level>> {
        let stmt = logged(self.db.lists(), self.vehicle, self.after, until);
        let stmt = stmt.push(" and organization_id = ").push_bind(Uuid::from(self.scope.organization_id()));
        let levels = page(stmt).await?;
        let last = levels.last().filter(|_| levels.len() == PAGE);
        self.after = last.map_or(just_before(until), |level| level.measured.at);
        Ok(levels)
    }
}

/// Selects a vehicle's entries of the log after an instant and before another.
pub(super) fn logged(on: On<'_>, vehicle: VehicleId, after: Timestamp, to: Timestamp) -> Stmt<'_> {
    let stmt = on.sql(SELECT).push_bind(vehicle.0).push(" and recorded_at > ").push_bind(Time(after));
    stmt.push(" and recorded_at < ").push_bind(Time(to))
}

/// The first [`PAGE`] of what is selected.
pub(super) async fn page(stmt: Stmt<'_>) -> Result<Vec<Level>> {
    let stmt = stmt.push(" order by recorded_at limit ").push_bind(PAGE as i64);
    let level = |(at, raw_liters, level_liters, counter_liters, distance_meters, version): LevelRow| {
        let at = at.into();
        let measured = Measured { at, level_liters, counter_liters, distance_meters, version };
        Level { measured, raw_liters }
    };
    Ok(stmt.all().await?.into_iter().map(level).collect())
}
