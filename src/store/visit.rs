//! Reads visits, which the track writer writes.

use uuid::Uuid;
use waypost_actors::model::{Analytics, Cause, DriverId, EventId, Place, Timestamp, VisitId};

use super::filters::{TimeRange, lasted, one_of};
use super::record_row::{unknown, wrong};
use super::sql::{Db, Engine, Result, Stmt};
use super::stay;
use super::time::{Time, just_before};
use crate::auth::scope::OrgScope;
use crate::domain::visit::{Visit, VisitEnd, VisitFilter, VisitOrder};

/// Each visit with the records of its two ends.
const COLUMNS: &str = "select v.id, v.organization_id, v.vehicle_id, vehicle.name as vehicle_name, v.geofence_id, \
    g.name as geofence_name, e.driver_id, v.entered_at, v.exited_at, e.inferred, e.id as entry_id, \
    e.cause as entry_cause, e.geofence_version as entry_version, \
    e.time_uncertainty_seconds as entry_uncertainty, e.latitude as entry_latitude, \
    e.longitude as entry_longitude, x.id as exit_id, x.cause as exit_cause, \
    x.geofence_version as exit_version, x.time_uncertainty_seconds as exit_uncertainty, \
    x.latitude as exit_latitude, x.longitude as exit_longitude, x.detail as analytics";
/// What is joined to a visit and its entry.
const JOINED: &str = " left join records x on x.id = v.exit_event_id cross join vehicle \
    cross join geofence g where vehicle.id = v.vehicle_id and g.id = v.geofence_id and ";

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
    analytics: Option<String>,
}

impl Row {
    fn analytics(&self) -> Result<Option<Analytics>> {
        let read = |text: &str| serde_json::from_str(text).map_err(|error| wrong("analytics", error));
        self.analytics.as_deref().map(read).transpose()
    }

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
            analytics: row.analytics()?,
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
        })
    }
}

/// A visit.
pub async fn find(db: &Db, scope: &OrgScope, id: VisitId) -> Result<Option<Visit>> {
    let stmt = begun(db.read().sql(""), scope, AccessPath::Time);
    let row: Option<Row> = stmt.push(" and v.id = ").push_bind(id.0).optional().await?;
    row.map(Visit::try_from).transpose()
}

/// How the visits of a list are found. Each needs but the rows of its page, or few more.
#[derive(Clone, Copy, PartialEq)]
enum AccessPath {
    /// In the order of time.
    Time,
    /// In the order of time, those that began at an instant or later.
    Since(Timestamp),
    /// All that began before an instant and went on then.
    Through(Timestamp),
    /// All that go on.
    Open,
    /// All that lasted so many seconds or more, at most so many of them, and those that go on.
    Long(f64, i64),
    /// By the entries with some drivers.
    Driven,
}

impl AccessPath {
    /// Whether it finds all stays first, and then their order.
    const fn finds_all(self) -> bool {
        matches!(self, Self::Through(_) | Self::Open | Self::Long(..))
    }

    /// Since when the stays that it finds began, if it is not said in what it finds.
    const fn since(self) -> Option<Timestamp> {
        if let Self::Since(from) = self { Some(from) } else { None }
    }

    /// The columns of the order, none of which another index gives.
    const fn order(self) -> (&'static str, &'static str) {
        match self {
            Self::Time | Self::Since(_) => ("v.entered_at", "v.id"),
            Self::Through(_) | Self::Open | Self::Long(..) => ("f.entered_at", "f.id"),
            Self::Driven => ("e.occurred_at", "v.id"),
        }
    }
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
    let mut visits = Vec::new();
    for path in access_paths(db, scope, filter, order).await? {
        let rest = limit - visits.len() as i64;
        let is_newest_first = order == VisitOrder::NewestFirst;
        let range = TimeRange { from: path.since(), to: filter.to, after, is_newest_first };
        let mut stmt = found(db.lists().sql(""), scope, filter, path, db.engine());
        // What goes on may be thousands: only those of the page are joined with their records.
        if path.finds_all() && filter.driver_ids.is_empty() {
            stmt = narrowed(stmt.push(" where true"), filter, now, db);
            stmt = ordered(stmt, ("v.entered_at", "v.id"), range).push_bind(rest);
        }
        let stmt = narrowed(begun(stmt, scope, path), filter, now, db);
        let stmt = ordered(stmt, path.order(), range).push_bind(rest);
        let rows: Vec<Row> = stmt.all().await?;
        visits.extend(rows.into_iter().map(Visit::try_from).collect::<Result<Vec<_>>>()?);
        if visits.len() as i64 == limit {
            break;
        }
    }
    Ok(visits)
}

/// The ways whose visits, one after the other, are the list.
async fn access_paths(
    db: &Db,
    scope: &OrgScope,
    filter: &VisitFilter,
    order: VisitOrder,
) -> Result<Vec<AccessPath>> {
    if filter.open == Some(true) {
        return Ok(vec![AccessPath::Open]);
    }
    if !filter.driver_ids.is_empty() {
        return Ok(vec![AccessPath::Driven]);
    }
    if let Some(seconds) = filter.min_duration_seconds
        && let Some(most) = stay::few(db, scope, seconds, |stmt| of_which(stmt, filter)).await?
    {
        return Ok(vec![AccessPath::Long(seconds, most)]);
    }
    Ok(match (filter.from, order) {
        (None, _) => vec![AccessPath::Time],
        (Some(from), VisitOrder::NewestFirst) => vec![AccessPath::Since(from), AccessPath::Through(from)],
        (Some(from), VisitOrder::OldestFirst) => vec![AccessPath::Through(from), AccessPath::Since(from)],
    })
}

/// The first words of the statement: where the stays come from, for a path that finds all of them.
fn found<'c>(
    stmt: Stmt<'c>,
    scope: &OrgScope,
    filter: &VisitFilter,
    path: AccessPath,
    engine: Engine,
) -> Stmt<'c> {
    let of = |stmt| of_which(stmt, filter);
    let all = |stmt: Stmt<'c>| stmt.push("with found as materialized (");
    let stmt = match path {
        AccessPath::Through(at) => stay::going_on_at(all(stmt), scope, just_before(at), engine, of),
        AccessPath::Open => stay::open(all(stmt), scope, engine, of),
        AccessPath::Long(seconds, most) => {
            let long = stay::long(all(stmt), scope, (seconds, most), engine, of);
            stay::open(long.push(" union all "), scope, engine, of)
        }
        AccessPath::Time | AccessPath::Since(_) | AccessPath::Driven => return stmt,
    };
    stmt.push("), page as materialized (select v.id, v.entered_at from found v")
}

/// The statement up to conditions on `v` and `e`, behind what [`found`] says.
fn begun<'c>(stmt: Stmt<'c>, scope: &OrgScope, path: AccessPath) -> Stmt<'c> {
    let stmt = match path {
        AccessPath::Time | AccessPath::Since(_) => {
            stmt.push(COLUMNS).push(" from visit v join records e on e.id = v.entry_event_id").push(JOINED)
        }
        AccessPath::Through(_) | AccessPath::Open | AccessPath::Long(..) => {
            let from = " from page f cross join visit v cross join records e";
            let of = "v.id = f.id and e.id = v.entry_event_id and ";
            stmt.push(") ").push(COLUMNS).push(from).push(JOINED).push(of)
        }
        AccessPath::Driven => {
            let from = " from records e cross join visit v";
            let of = "v.id = e.visit_id and v.entry_event_id = e.id and e.kind = 'entry' and ";
            stmt.push(COLUMNS).push(from).push(JOINED).push(of)
        }
    };
    let whose = if path == AccessPath::Driven { "e.organization_id = " } else { "v.organization_id = " };
    stmt.push(whose).push_bind(Uuid::from(scope.organization_id()))
}

fn ordered<'c>(stmt: Stmt<'c>, (at, id): (&'static str, &'static str), range: TimeRange) -> Stmt<'c> {
    let descending = if range.is_newest_first { " desc" } else { "" };
    let stmt = range.conditions(stmt, (at, id));
    let stmt = stmt.push(" order by ").push(at).push(descending).push(", ");
    stmt.push(id).push(descending).push(" limit ")
}

/// Conditions on a visit's vehicle and fence.
fn of_which<'c>(stmt: Stmt<'c>, filter: &VisitFilter) -> Stmt<'c> {
    let stmt = one_of(stmt, " and v.vehicle_id in (", &filter.vehicle_ids);
    one_of(stmt, " and v.geofence_id in (", &filter.geofence_ids)
}

fn narrowed<'c>(stmt: Stmt<'c>, filter: &VisitFilter, now: Timestamp, db: &Db) -> Stmt<'c> {
    let mut stmt = one_of(of_which(stmt, filter), " and e.driver_id in (", &filter.driver_ids);
    if let Some(from) = filter.from {
        stmt = stmt.push(" and (v.exited_at is null or v.exited_at >= ").push_bind(Time(from)).push(")");
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
