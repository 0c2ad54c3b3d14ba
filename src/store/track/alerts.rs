//! Alerts that follow the server's clock: of vehicles that fell silent while they moved, written with the records of their
//! connections, and of licences that have expired. Done by the writer between two commits, so that they get numbers.

use std::collections::{HashMap, HashSet};

use sqlx::FromRow;
use sqlx::types::Json;
use uuid::Uuid;
use waypost_actors::model::{Connection, EventId, Timestamp, VehicleId};
use waypost_actors::tracking::{AlertRule, Record, TOGETHER_SECONDS, license_expired, silent_while_moving};

use super::numbering::take_numbers;
use crate::domain::day::Day;
use crate::domain::organization_settings::Settings;
use crate::store::record_row::{IN_ITS_PLACE, RecordRow, SELECT_RECORDS, insert_records};
use crate::store::sql::{Result, Tx};
use crate::store::time::Time;

/// Ids in one statement.
const TOGETHER: usize = 500;
/// The date is ahead of UTC by so much at most. Seconds.
const AHEAD_SECONDS: f64 = 14.0 * 3_600.0;

/// Writes the alerts that some records of connections, just stored, make or end, and answers them.
pub(super) async fn follow_connections(tx: &mut Tx, logged: &[Record]) -> Result<Vec<Record>> {
    let silences = logged.iter().any(|record| record.connection().is_some_and(|detail| detail.was_moving));
    let heard =
        |record: &&Record| record.connection().is_some_and(|detail| detail.state == Connection::Online);
    let back: Vec<&Record> = logged.iter().filter(heard).collect();
    if !silences && back.is_empty() {
        return Ok(Vec::new());
    }
    let open = open(tx, AlertRule::SilentWhileMoving).await?;
    let mut changed = silent_while_moving(logged, &open);
    // A user who saw the alert saw it without the vehicles that are new in it.
    let grown: Vec<EventId> =
        changed.iter().filter(|alert| alert.revision > 1).map(|alert| alert.id).collect();
    unsee(tx, &grown).await?;
    for alert in open.iter().filter(|alert| !grown.contains(&alert.id)) {
        let own = back.iter().filter(|record| alert.is_of(|vehicle| vehicle == record.vehicle_id));
        if let Some(ended_at) = own.map(|record| record.occurred_at).max()
            && !is_still_silent(tx, alert).await?
        {
            changed.push(ended(alert, ended_at, logged[0].detected_at));
        }
    }
    write(tx, changed).await
}

/// Writes the alerts of licences that have expired or are so no longer, ends those of silent vehicles that are gone, and
/// answers what changed.
pub(super) async fn follow_master_data(tx: &mut Tx, now: Timestamp) -> Result<Vec<Record>> {
    let mut changed = Vec::new();
    for alert in open(tx, AlertRule::SilentWhileMoving).await? {
        if !is_still_silent(tx, &alert).await? {
            changed.push(ended(&alert, now, now));
        }
    }
    let known: HashMap<EventId, Record> =
        open(tx, AlertRule::LicenseExpired).await?.into_iter().map(|alert| (alert.id, alert)).collect();
    let expired = expired(tx, now).await?;
    let found: HashSet<EventId> = expired.iter().map(|alert| alert.id).collect();
    changed.extend(
        known.values().filter(|alert| !found.contains(&alert.id)).map(|alert| ended(alert, now, now)),
    );
    for alert in expired.into_iter().filter(|alert| !known.contains_key(&alert.id)) {
        // One that had ended goes on: the licence was renewed, and has expired again.
        let revision = "select revision from records where id = $1";
        let before: Option<(i64,)> = tx.on().sql(revision).bind(alert.id.0).optional().await?;
        changed.push(Record { revision: before.map_or(1, |(before,)| before + 1), ..alert });
    }
    changed.sort_by_key(|alert| (alert.occurred_at, alert.id));
    write(tx, changed).await
}

/// An alert with its end.
fn ended(alert: &Record, ended_at: Timestamp, now: Timestamp) -> Record {
    let ended_at = Some(ended_at.max(alert.occurred_at));
    Record { revision: alert.revision + 1, ended_at, detected_at: now, ..alert.clone() }
}

async fn write(tx: &mut Tx, mut alerts: Vec<Record>) -> Result<Vec<Record>> {
    if alerts.is_empty() {
        return Ok(alerts);
    }
    let first = take_numbers(tx, alerts.len()).await?;
    for (alert, sequence) in alerts.iter_mut().zip(first..) {
        alert.sequence = sequence;
    }
    insert_records(&alerts.iter().collect::<Vec<_>>(), IN_ITS_PLACE).run(tx).await?;
    Ok(alerts)
}

/// The alerts by one of the two rules of the clock that have not ended. An index has these alone, in the same words.
async fn open(tx: &mut Tx, rule: AlertRule) -> Result<Vec<Record>> {
    let shard = tx.shard();
    let stmt = tx
        .on()
        .sql(SELECT_RECORDS)
        .push(" where e.kind = 'alert' and e.status = 'active' and e.ended_at is null")
        .push(" and e.cause in ('silentWhileMoving', 'licenseExpired')")
        .and_of_shard(shard, "e.organization_id");
    let rows: Vec<RecordRow> = stmt.push(" and e.cause = ").push_bind(rule.as_str()).all().await?;
    rows.into_iter().map(Record::try_from).collect()
}

/// Whether one of an alert's vehicles is in use and was not heard again: it may have fallen silent once more since, which is
/// none of this alert.
async fn is_still_silent(tx: &mut Tx, alert: &Record) -> Result<bool> {
    let vehicles = alert.as_alert().map_or(&[][..], |detail| &detail.vehicle_ids);
    let [from, to] = [-TOGETHER_SECONDS, TOGETHER_SECONDS].map(|apart| alert.occurred_at.plus_seconds(apart));
    for some in vehicles.chunks(TOGETHER) {
        let silent = "select exists (select 1 from vehicle v join records o on o.vehicle_id = v.id \
            and o.kind = 'offline' and o.occurred_at >= $1 and o.occurred_at <= $2 where v.deleted_at is null \
            and not exists (select 1 from records r where r.vehicle_id = v.id and r.sequence > o.sequence \
            and r.kind in ('online', 'stale', 'offline') and r.kind = 'online') and v.id in (";
        let stmt = tx.on().sql(silent).bind(Time(from)).bind(Time(to));
        let stmt = stmt.push_each(some, |stmt, VehicleId(id)| stmt.push_bind(*id));
        if stmt.push("))").scalar().await? {
            return Ok(true);
        }
    }
    Ok(false)
}

async fn unsee(tx: &mut Tx, alerts: &[EventId]) -> Result<()> {
    if alerts.is_empty() {
        return Ok(());
    }
    let update = "update alert_state set acknowledged_at = null, acknowledged_by = null where alert_id in (";
    let stmt = tx.on().sql(update).push_each(alerts, |stmt, id| stmt.push_bind(id.0));
    stmt.push(")").run().await?;
    Ok(())
}

#[derive(FromRow)]
struct Expired {
    assignment_id: Uuid,
    organization_id: Uuid,
    vehicle_id: Uuid,
    vehicle_name: String,
    driver_id: Uuid,
    started_at: Time,
    license_expires_at: String,
    settings: Json<Settings>,
}

/// The alerts of the assignments that go on though the driver's licence has expired, by the organization's date.
async fn expired(tx: &mut Tx, now: Timestamp) -> Result<Vec<Record>> {
    let select = "select a.id as assignment_id, a.organization_id, a.vehicle_id, v.name as vehicle_name, a.driver_id, \
        a.started_at, d.license_expires_at, o.settings \
        from driver d join assignment a on a.driver_id = d.id and a.ended_at is null \
        join vehicle v on v.id = a.vehicle_id and v.deleted_at is null \
        join organization o on o.id = a.organization_id and o.status <> 'deleted' \
        where d.deleted_at is null and d.license_expires_at < $1 and a.started_at <= $2 \
        and coalesce(d.lock_organization_id, d.creator_organization_id) = a.organization_id";
    let latest = Day::of(now.plus_seconds(AHEAD_SECONDS), "UTC").to_string();
    let shard = tx.shard();
    let stmt = tx.on().sql(select).bind(latest).bind(Time(now));
    let rows: Vec<Expired> = stmt.and_of_shard(shard, "a.organization_id").all().await?;
    Ok(rows.into_iter().filter_map(|row| row.alert(now)).collect())
}

impl Expired {
    /// Its alert; `None` while the licence is valid by the organization's date.
    fn alert(self, now: Timestamp) -> Option<Record> {
        let timezone = &self.settings.timezone;
        let invalid = Day::parse(&self.license_expires_at)?.plus_days(1);
        let is_expired = Day::of(now, timezone) >= invalid;
        let since = invalid.begins(timezone).max(self.started_at.into());
        is_expired.then(|| {
            let vehicle = (self.vehicle_id.into(), self.vehicle_name);
            let (driver, organization) = (self.driver_id.into(), self.organization_id.into());
            license_expired((self.assignment_id, since), vehicle, driver, organization, now)
        })
    }
}
