//! Trackers and their installations.

use uuid::Uuid;

use super::sql::{Db, Result};
use super::time::Time;
use crate::domain::tracker::TrackerStatus;

/// A tracker found by its token, once for each of its installations.
#[derive(sqlx::FromRow)]
pub struct CredentialRow {
    /// The tracker.
    pub id: Uuid,
    /// Its own id.
    pub unique_id: String,
    /// Whose.
    pub organization_id: Uuid,
    /// Whether it may send.
    #[sqlx(try_from = "String")]
    pub status: TrackerStatus,
    /// Its organization's status.
    pub organization_status: String,
    /// A vehicle it sat in.
    pub vehicle_id: Option<Uuid>,
    /// Since when; `None` = ever.
    pub installed_from: Option<Time>,
    /// Until when; `None` = still.
    pub installed_to: Option<Time>,
}

/// The tracker with a token, by the token's hash. Knows no scope: the token is the credential.
pub async fn find_credential(db: &Db, token_hash: &[u8]) -> Result<Vec<CredentialRow>> {
    db.read()
        .sql(
            "select t.id, t.unique_id, t.organization_id, t.status, o.status as organization_status, \
             i.vehicle_id, i.installed_from, i.installed_to \
             from tracker t join organization o on o.id = t.organization_id \
             left join (select i.tracker_id, i.vehicle_id, i.installed_from, i.installed_to \
             from installation i join vehicle v on v.id = i.vehicle_id where v.deleted_at is null) i \
             on i.tracker_id = t.id \
             where t.token_hash = $1 and t.deleted_at is null order by i.installed_from nulls first",
        )
        .bind(token_hash)
        .all()
        .await
}
