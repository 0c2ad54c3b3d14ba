//! The credential of a tracker: a token of 256 random bits, found by its hash in one query.

use uuid::Uuid;
use waypost_actors::model::{OrganizationId, Timestamp, TrackerId, VehicleId};

use super::scope::OrgScope;
use super::secret;
use crate::domain::tracker::{SpeedUnit, TrackerConfig, TrackerStatus};
use crate::store::sql::{Db, SqlError};
use crate::store::tracker::{self, CredentialRow};

/// Why a known tracker is refused. An unknown or revoked token is not an error but `None`.
#[derive(Debug, thiserror::Error)]
pub enum TrackerRefused {
    /// The tracker is disabled.
    #[error("the tracker is disabled")]
    Disabled,
    /// Its organization is not active.
    #[error("the tracker's organization is not active")]
    OrganizationInactive,
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] SqlError),
}

/// A tracker that may send fixes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackerCredential {
    /// The tracker.
    pub tracker_id: TrackerId,
    /// The device's own id.
    pub unique_id: String,
    /// The tracker's organization.
    pub organization_id: OrganizationId,
    /// Whether it may send.
    pub status: TrackerStatus,
    /// The unit of its speeds, where its app leaves that open.
    pub speed_unit: Option<SpeedUnit>,
    /// Days for which its organization keeps positions; older fixes are refused. `None` = for ever.
    pub keep_days: Option<i64>,
    /// The vehicles it was installed in, by start.
    pub installations: Vec<Installation>,
}

/// A tracker's installation in a vehicle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Installation {
    /// The vehicle.
    pub vehicle_id: VehicleId,
    /// Inclusive start; `None` = since ever.
    pub from: Option<Timestamp>,
    /// Exclusive end; `None` = still installed.
    pub to: Option<Timestamp>,
    /// The config for the vehicle's trackers.
    pub config: TrackerConfig,
}

impl TrackerCredential {
    /// Whether a name refers to this tracker: by its id or the device's own.
    #[must_use]
    pub fn is_called(&self, name: &str) -> bool {
        name == self.unique_id || Uuid::try_parse(name).is_ok_and(|id| id == self.tracker_id.0)
    }

    /// The vehicle in which the tracker was installed at an instant.
    #[must_use]
    pub fn vehicle_at(&self, recorded_at: Timestamp) -> Option<VehicleId> {
        self.installation_at(recorded_at).map(|i| i.vehicle_id)
    }

    /// The tracker's config at an instant: that of its vehicle, or the default if it is in none.
    #[must_use]
    pub fn config_at(&self, now: Timestamp) -> TrackerConfig {
        self.installation_at(now).map(|i| i.config).unwrap_or_default()
    }

    fn installation_at(&self, at: Timestamp) -> Option<&Installation> {
        let covers =
            |i: &&Installation| i.from.is_none_or(|from| from <= at) && i.to.is_none_or(|to| at < to);
        self.installations.iter().rev().find(covers)
    }
}

/// The tracker a token belongs to, as currently stored; `None` for an unknown or revoked token.
pub async fn find_tracker(db: &Db, token: &str) -> Result<Option<TrackerCredential>, TrackerRefused> {
    find_hashed(db, &secret::hash(token)).await
}

/// The tracker whose token has this hash, if there is one.
pub(super) async fn find_hashed(
    db: &Db,
    token_hash: &[u8],
) -> Result<Option<TrackerCredential>, TrackerRefused> {
    let rows = tracker::find_credential(db, token_hash).await?;
    let Some(first) = rows.first() else { return Ok(None) };
    if first.status != TrackerStatus::Active {
        return Err(TrackerRefused::Disabled);
    }
    if first.organization_status != "active" {
        return Err(TrackerRefused::OrganizationInactive);
    }
    Ok(assembled(&rows).pop())
}

/// The tracker of an organization with this id of its own, if it may report.
pub(super) async fn find_in(
    db: &Db,
    scope: OrgScope,
    unique_id: &str,
) -> Result<Option<TrackerCredential>, SqlError> {
    let mut rows = tracker::find_named(db, &scope, &[unique_id]).await?;
    rows.retain(|row| row.status == TrackerStatus::Active && row.organization_status == "active");
    Ok(assembled(&rows).into_iter().find(|tracker| tracker.unique_id == unique_id))
}

/// Assembles trackers from rows, which must be grouped by tracker.
pub(super) fn assembled(rows: &[CredentialRow]) -> Vec<TrackerCredential> {
    let by_tracker = rows.chunk_by(|one, next| one.id == next.id);
    let tracker = |rows: &[CredentialRow]| {
        let first = rows.first()?;
        Some(TrackerCredential {
            tracker_id: TrackerId(first.id),
            unique_id: first.unique_id.clone(),
            organization_id: OrganizationId(first.organization_id),
            status: first.status,
            speed_unit: tracker::speed_unit(first.speed_unit.clone()),
            keep_days: first.organization_settings.retention.positions_days,
            installations: rows.iter().filter_map(installation).collect(),
        })
    };
    by_tracker.filter_map(tracker).collect()
}

fn installation(row: &CredentialRow) -> Option<Installation> {
    Some(Installation {
        vehicle_id: VehicleId(row.vehicle_id?),
        from: row.installed_from.map(Timestamp::from),
        to: row.installed_to.map(Timestamp::from),
        config: row.tracking.as_ref().map(|tracking| tracking.config()).unwrap_or_default(),
    })
}
