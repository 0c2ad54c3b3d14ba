//! What the deliveries read and write: which webhooks there are to serve, and how far each got.

use sqlx::types::Json;
use uuid::Uuid;
use waypost_actors::model::{GeofenceId, OrganizationId, Timestamp, VehicleId};

use super::sql::{Db, Result};
use super::time::Time;
use super::webhook_attempt;
use crate::domain::system_user::Scopes;
use crate::domain::webhook::WebhookAttempt;
use crate::domain::webhook_event::EventTypes;

/// How far a webhook got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Everything before this number is done.
    pub next_sequence: i64,
    /// How often that was set by hand.
    pub moves: i64,
    /// Since when every attempt has failed.
    pub failing_since: Option<Timestamp>,
    /// The event that holds up the others until it succeeds or is given up.
    pub stopped: Option<Stopped>,
}

/// An event that failed and holds up the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// Its number.
    pub sequence: i64,
    /// Attempts so far.
    pub attempts: i64,
    /// When it is sent again.
    pub next_at: Timestamp,
}

/// A webhook to serve.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Which.
    pub id: Uuid,
    /// Whose.
    pub organization_id: OrganizationId,
    /// Where to.
    pub url: String,
    /// What it is sent.
    pub event_types: EventTypes,
    /// Only of these vehicles; empty: of all.
    pub vehicle_ids: Vec<VehicleId>,
    /// Only of these geofences; empty: of all.
    pub geofence_ids: Vec<GeofenceId>,
    /// By whose rights: `None` for an orgAdmin's, or a system user's scopes.
    pub scopes: Option<Scopes>,
    /// Signs, sealed.
    pub secret: Vec<u8>,
    /// Signs too until an instant, sealed.
    pub former_secret: Option<(Vec<u8>, Timestamp)>,
}

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    organization_id: Uuid,
    url: String,
    event_types: Json<EventTypes>,
    vehicle_ids: Json<Vec<VehicleId>>,
    geofence_ids: Json<Vec<GeofenceId>>,
    system_user_id: Option<Uuid>,
    scopes: Option<Json<Scopes>>,
    scopes_today: Option<Json<Scopes>>,
    secret: Vec<u8>,
    former_secret: Option<Vec<u8>>,
    former_secret_until: Option<Time>,
    next_sequence: i64,
    moves: i64,
    failing_since: Option<Time>,
    failing_sequence: Option<i64>,
    failed_attempts: i64,
    next_attempt_at: Option<Time>,
}

impl From<Row> for (Target, Progress) {
    fn from(row: Row) -> Self {
        // What its system user may read no longer, the webhook is not sent either.
        let today = row.scopes_today.map(|scopes| scopes.0).unwrap_or_default();
        let scopes = row.scopes.map(|scopes| scopes.0).unwrap_or_default().within(&today);
        let stopped = row.failing_sequence.zip(row.next_attempt_at).map(|(sequence, next_at)| Stopped {
            sequence,
            attempts: row.failed_attempts,
            next_at: next_at.into(),
        });
        let target = Target {
            id: row.id,
            organization_id: row.organization_id.into(),
            url: row.url,
            event_types: row.event_types.0,
            vehicle_ids: row.vehicle_ids.0,
            geofence_ids: row.geofence_ids.0,
            scopes: row.system_user_id.is_some().then_some(scopes),
            secret: row.secret,
            former_secret: row.former_secret.zip(row.former_secret_until.map(Timestamp::from)),
        };
        let failing_since = row.failing_since.map(Timestamp::from);
        (target, Progress { next_sequence: row.next_sequence, moves: row.moves, failing_since, stopped })
    }
}

const SELECT: &str = "select w.id, w.organization_id, w.url, w.event_types, w.vehicle_ids, w.geofence_ids, \
     w.system_user_id, w.scopes, s.scopes as scopes_today, w.secret, w.former_secret, w.former_secret_until, \
     w.next_sequence, w.moves, w.failing_since, w.failing_sequence, w.failed_attempts, w.next_attempt_at \
     from webhook w join organization o on o.id = w.organization_id \
     left join system_user s on s.id = w.system_user_id and s.deleted_at is null and s.status = 'active' ";

/// Every enabled webhook of an active organization of the shard.
pub async fn targets(db: &Db) -> Result<Vec<(Target, Progress)>> {
    let stmt = db.read().sql(SELECT).push("where w.enabled and o.status = 'active'");
    let stmt = stmt.and_of_shard(db.shard(), "w.organization_id");
    let rows: Vec<Row> = stmt.push(" order by w.id").all().await?;
    Ok(rows.into_iter().map(Into::into).collect())
}

/// A webhook, enabled or not.
pub async fn target(db: &Db, id: Uuid) -> Result<Option<Target>> {
    let row: Option<Row> = db.read().sql(SELECT).push("where w.id = ").push_bind(id).optional().await?;
    Ok(row.map(|row| <(Target, Progress)>::from(row).0))
}

/// Saves attempts, and how far webhooks got; not of those that were moved by hand meanwhile.
pub async fn save(db: &Db, attempts: &[(Uuid, WebhookAttempt)], progress: &[(Uuid, Progress)]) -> Result<()> {
    let mut tx = db.begin().await?;
    webhook_attempt::insert(&mut tx, attempts).await?;
    for (id, progress) in progress {
        let stopped = progress.stopped;
        let update = "update webhook set next_sequence = $3, failing_since = $4, failing_sequence = $5, \
            failed_attempts = $6, next_attempt_at = $7 where id = $1 and moves = $2";
        tx.on()
            .sql(update)
            .bind(*id)
            .bind(progress.moves)
            .bind(progress.next_sequence)
            .bind(progress.failing_since.map(Time))
            .bind(stopped.map(|stopped| stopped.sequence))
            .bind(stopped.map_or(0, |stopped| stopped.attempts))
            .bind(stopped.map(|stopped| Time(stopped.next_at)))
            .run()
            .await?;
    }
    tx.commit().await
}
