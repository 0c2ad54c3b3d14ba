//! Reads visits, which the track writer writes.

use std::collections::HashMap;

use sqlx::types::Json;
use uuid::Uuid;
use waypost_actors::model::{
    Analytics, Cause, DriverId, EventId, GeofenceId, Place, Timestamp, VehicleId, VisitId,
};
use waypost_actors::ports::StoredFix;
use waypost_actors::tracking::by_rank;

use super::filters::{lasted, one_of};
use super::fix_row::FixRow;
use super::fixes::read_fixes;
use super::packed_chunk::ChunkFix;
use super::position_chunk::Span;
use super::record_row::unknown;
use super::sql::{Db, Reader, Result, Stmt};
use super::time::Time;
use super::track::Track;
use crate::auth::scope::OrgScope;
use crate::domain::visit::{Visit, VisitEnd, VisitFilter, VisitOrder};

const DAY_SECONDS: f64 = 86_400.0;

/// Each visit with the records of its two ends.
const SELECT: &str = "select v.id, v.organization_id, v.vehicle_id, vehicle.name as vehicle_name, v.geofence_id, \
    g.name as geofence_name, e.driver_id, v.entered_at, v.exited_at, e.inferred, e.id as entry_id, \
    e.cause as entry_cause, e.geofence_version as entry_version, \
    e.time_uncertainty_seconds as entry_uncertainty, e.latitude as entry_latitude, \
    e.longitude as entry_longitude, x.id as exit_id, x.cause as exit_cause, \
    x.geofence_version as exit_version, x.time_uncertainty_seconds as exit_uncertainty, \
    x.latitude as exit_latitude, x.longitude as exit_longitude, x.detail as analytics \
    from visit v join records e on e.id = v.entry_event_id \
    left join records x on x.id = v.exit_event_id \
    join vehicle on vehicle.id = v.vehicle_id join geofence g on g.id = v.geofence_id \
    where v.organization_id = ";

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    organization_id: Uuid,
    vehicle_id: Uuid,
    vehicle_name: String,
    geofence_id: Uuid,
    geofence_name: String,
    driver_id: Option<Uuid>,
    entered_at: Time,
    exited_at: Option<Time>,
    inferred: bool,
    entry_id: Uuid,
    entry_cause: String,
    entry_version: i64,
    entry_uncertainty: f64,
    entry_latitude: f64,
    entry_longitude: f64,
    exit_id: Option<Uuid>,
    exit_cause: Option<String>,
    exit_version: Option<i64>,
    exit_uncertainty: Option<f64>,
    exit_latitude: Option<f64>,
    exit_longitude: Option<f64>,
    analytics: Option<Json<Analytics>>,
}

impl Row {
    fn entry(&self) -> Result<VisitEnd> {
        Ok(VisitEnd {
            event_id: EventId(self.entry_id),
            cause: cause("entry_cause", &self.entry_cause)?,
            geofence_version: self.entry_version,
            time_uncertainty_seconds: self.entry_uncertainty,
            location: Place::new(self.entry_latitude, self.entry_longitude),
        })
    }

    fn exit(&self) -> Result<Option<VisitEnd>> {
        let found = (|| {
            let location = Place::new(self.exit_latitude?, self.exit_longitude?);
            Some((
                self.exit_id?,
                self.exit_cause.as_ref()?,
                self.exit_version?,
                self.exit_uncertainty?,
                location,
            ))
        })();
        let end =
            |(id, word, geofence_version, time_uncertainty_seconds, location): (_, &String, _, _, _)| {
                let cause = cause("exit_cause", word)?;
                Ok(VisitEnd {
                    event_id: EventId(id),
                    cause,
                    geofence_version,
                    time_uncertainty_seconds,
                    location,
                })
            };
        found.map(end).transpose()
    }
}

fn cause(column: &str, word: &str) -> Result<Cause> {
    Cause::from_word(word).ok_or_else(|| unknown(column, word))
}

impl TryFrom<Row> for Visit {
    type Error = sqlx::Error;

    fn try_from(row: Row) -> Result<Self> {
        Ok(Self {
            entry: row.entry()?,
            exit: row.exit()?,
            id: VisitId(row.id),
            organization_id: row.organization_id.into(),
            vehicle_id: row.vehicle_id.into(),
            vehicle_name: row.vehicle_name,
            geofence_id: row.geofence_id.into(),
            geofence_name: row.geofence_name,
            driver_id: row.driver_id.map(DriverId),
            open: row.exited_at.is_none(),
            entered_at: row.entered_at.into(),
            exited_at: row.exited_at.map(Into::into),
            inferred: row.inferred,
            as_of: None,
            settled_through: None,
            analytics: row.analytics.map(|Json(analytics)| analytics),
        })
    }
}

/// A visit.
pub async fn find(db: &Db, scope: &OrgScope, id: VisitId) -> Result<Option<Visit>> {
    let organization = Uuid::from(scope.organization_id());
    let stmt = db.read().sql(SELECT).push_bind(organization).push(" and v.id = ").push_bind(id.0);
    let row: Option<Row> = stmt.optional().await?;
    row.map(Visit::try_from).transpose()
}

/// At most `limit` visits after a place in the list. `now` gives the duration of open ones.
pub async fn list(
    db: &Db,
    scope: &OrgScope,
    filter: &VisitFilter,
    order: VisitOrder,
    after: Option<(Timestamp, Uuid)>,
    limit: i64,
    now: Timestamp,
) -> Result<Vec<Visit>> {
    let stmt = db.lists().sql(SELECT).push_bind(Uuid::from(scope.organization_id()));
    let mut stmt = narrowed(stmt, filter, now, db);
    if let Some((at, id)) = after {
        let beyond = match order {
            VisitOrder::NewestFirst => " and (v.entered_at, v.id) < (",
            VisitOrder::OldestFirst => " and (v.entered_at, v.id) > (",
        };
        stmt = stmt.push(beyond).push_bind(Time(at)).push(", ").push_bind(id).push(")");
    }
    let stmt = match order {
        VisitOrder::NewestFirst => stmt.push(" order by v.entered_at desc, v.id desc limit "),
        VisitOrder::OldestFirst => stmt.push(" order by v.entered_at, v.id limit "),
    };
    let rows: Vec<Row> = stmt.push_bind(limit).all().await?;
    rows.into_iter().map(Visit::try_from).collect()
}

fn narrowed<'c>(stmt: Stmt<'c>, filter: &VisitFilter, now: Timestamp, db: &Db) -> Stmt<'c> {
    let stmt = one_of(stmt, " and v.vehicle_id in (", &filter.vehicle_ids);
    let stmt = one_of(stmt, " and e.driver_id in (", &filter.driver_ids);
    let mut stmt = one_of(stmt, " and v.geofence_id in (", &filter.geofence_ids);
    if let Some(from) = filter.from {
        stmt = stmt.push(" and (v.exited_at is null or v.exited_at >= ").push_bind(Time(from)).push(")");
    }
    if let Some(to) = filter.to {
        stmt = stmt.push(" and v.entered_at < ").push_bind(Time(to));
    }
    stmt = match filter.open {
        Some(true) => stmt.push(" and v.exited_at is null"),
        Some(false) => stmt.push(" and v.exited_at is not null"),
        None => stmt,
    };
    match filter.min_duration_seconds {
        Some(seconds) => {
            lasted(stmt.push(" and "), "v.entered_at", ("v.exited_at", now), seconds, db.engine())
        }
        None => stmt,
    }
}

/// A vehicle that was inside a geofence at an instant.
#[derive(Clone, Debug, PartialEq)]
pub struct WasInside {
    /// The vehicle.
    pub vehicle_id: VehicleId,
    /// Since when.
    pub entered_at: Timestamp,
    /// Why its stay began.
    pub cause: Cause,
    /// Where its stay began.
    pub entry: Place,
}

/// At most `limit` of the vehicles that were inside a geofence at an instant, by entry, then id.
pub async fn inside_at(
    db: &Db,
    scope: &OrgScope,
    geofence: GeofenceId,
    at: Timestamp,
    after: Option<(Timestamp, VehicleId)>,
    limit: i64,
) -> Result<Vec<WasInside>> {
    let mut stmt = db
        .lists()
        .sql(
            "select v.vehicle_id, v.entered_at, e.cause, e.latitude, e.longitude from visit v \
             join records e on e.id = v.entry_event_id where v.geofence_id = ",
        )
        .push_bind(geofence.0)
        .push(" and v.organization_id = ")
        .push_bind(Uuid::from(scope.organization_id()))
        .push(" and v.entered_at <= ")
        .push_bind(Time(at))
        .push(" and (v.exited_at is null or v.exited_at > ")
        .push_bind(Time(at))
        .push(")");
    if let Some((entered_at, vehicle)) = after {
        stmt = stmt.push(" and (v.entered_at, v.vehicle_id) > (").push_bind(Time(entered_at));
        stmt = stmt.push(", ").push_bind(vehicle.0).push(")");
    }
    let stmt = stmt.push(" order by v.entered_at, v.vehicle_id limit ").push_bind(limit);
    let rows: Vec<(Uuid, Time, String, f64, f64)> = stmt.all().await?;
    let inside = |(vehicle, entered_at, word, latitude, longitude): (Uuid, Time, String, f64, f64)| {
        Ok(WasInside {
            vehicle_id: VehicleId(vehicle),
            entered_at: entered_at.into(),
            cause: cause("cause", &word)?,
            entry: Place::new(latitude, longitude),
        })
    };
    rows.into_iter().map(inside).collect()
}

/// A stay of a vehicle that went on at an instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Held {
    /// The vehicle.
    pub vehicle_id: VehicleId,
    /// Where it was.
    pub geofence_id: GeofenceId,
    /// The stay.
    pub visit_id: VisitId,
    /// Since when.
    pub entered_at: Timestamp,
}

/// The stays of some vehicles that went on at an instant, by entry.
pub async fn held_at(db: &Db, scope: &OrgScope, vehicles: &[VehicleId], at: Timestamp) -> Result<Vec<Held>> {
    if vehicles.is_empty() {
        return Ok(Vec::new());
    }
    let stmt = db
        .lists()
        .sql("select v.vehicle_id, v.geofence_id, v.id, v.entered_at from visit v where v.organization_id = ")
        .push_bind(Uuid::from(scope.organization_id()))
        .push(" and v.entered_at <= ")
        .push_bind(Time(at))
        .push(" and (v.exited_at is null or v.exited_at > ")
        .push_bind(Time(at))
        .push(") and v.vehicle_id in (")
        .push_each(vehicles, |stmt, id| stmt.push_bind(id.0))
        .push(") order by v.entered_at, v.geofence_id");
    let rows: Vec<(Uuid, Uuid, Uuid, Time)> = stmt.all().await?;
    let held = |(vehicle, geofence, visit, entered_at): (Uuid, Uuid, Uuid, Time)| Held {
        vehicle_id: VehicleId(vehicle),
        geofence_id: GeofenceId(geofence),
        visit_id: VisitId(visit),
        entered_at: entered_at.into(),
    };
    Ok(rows.into_iter().map(held).collect())
}

/// The newest evaluated fix of each vehicle at an instant. Vehicles without one are left out.
pub async fn fixes_at(
    db: &Db,
    track: &Track,
    vehicles: &[VehicleId],
    at: Timestamp,
) -> Result<HashMap<VehicleId, StoredFix>> {
    let mut fixes = HashMap::new();
    for vehicle in vehicles {
        if let Some(fix) = newest_at(db, track, *vehicle, at).await? {
            fixes.insert(*vehicle, fix);
        }
    }
    Ok(fixes)
}

async fn newest_at(db: &Db, track: &Track, vehicle: VehicleId, at: Timestamp) -> Result<Option<StoredFix>> {
    let tail = track.tail(vehicle)?;
    let mut newest: Option<StoredFix> = None;
    // Most were heard of within a day: that looks at one or two partitions.
    for from in [Some(at.plus_seconds(-DAY_SECONDS)), None] {
        let span = Span { vehicle, from, to: Some(at), is_newest_first: true };
        newest = newest_of(db, &tail, span).await?;
        if newest.is_some() {
            break;
        }
    }
    Ok(newest)
}

/// The newest evaluated fix of a span; of two places at one instant the first by rank, as the engine takes it.
async fn newest_of(db: &Db, tail: &[ChunkFix], span: Span) -> Result<Option<StoredFix>> {
    let (mut span, mut newest) = (span, None);
    for limit in [2, usize::MAX] {
        let rows = read_fixes(Reader::Lists(db), tail, span.into(), limit, FixRow::is_evaluated).await?;
        let fixes: Vec<StoredFix> = rows.into_iter().map(StoredFix::try_from).collect::<Result<_>>()?;
        let first = fixes.first().map(|stored| stored.fix.recorded_at);
        let of_instant = |stored: &StoredFix| Some(stored.fix.recorded_at) == first;
        let many = fixes.iter().filter(|stored| of_instant(stored)).count();
        newest = fixes.into_iter().filter(of_instant).min_by(|a, b| by_rank(&a.fix, &b.fix));
        match &newest {
            Some(stored) if many > 1 => span = Span::at(span.vehicle, stored.fix.recorded_at),
            _ => break,
        }
    }
    Ok(newest)
}
