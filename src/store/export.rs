//! Every stored fix, for a copy elsewhere. Reads only, also beside a working server.

use std::collections::HashMap;

use uuid::Uuid;
use waypost_actors::model::{OrganizationId, VehicleId};

use super::filters::one_of;
use super::packed_chunk::ChunkFix;
use super::position_history::read_history;
use super::sql::{Db, Result};
use super::track::logged_fixes;
use crate::domain::position::{AfterFix, HistoryRequest, StoredPosition};

/// A store's fixes. What is stored before it is opened is found by it.
pub struct Export {
    db: Db,
    logged: HashMap<VehicleId, Vec<ChunkFix>>,
}

impl Export {
    /// Reads what only the fix log has.
    pub async fn open(db: &Db) -> Result<Self> {
        Ok(Self { db: db.clone(), logged: logged_fixes(db).await? })
    }

    /// The first of these organizations and vehicles that is not there, as `vehicle 0190…`.
    pub async fn unknown(&self, organizations: &[Uuid], vehicles: &[Uuid]) -> Result<Option<String>> {
        for (kind, all, ids) in [
            ("organization", "select id from organization where true", organizations),
            ("vehicle", "select id from vehicle where true", vehicles),
        ] {
            if ids.is_empty() {
                continue;
            }
            let found: Vec<(Uuid,)> = one_of(self.db.lists().sql(all), " and id in (", ids).all().await?;
            if let Some(id) = ids.iter().find(|id| !found.contains(&(**id,))) {
                return Ok(Some(format!("{kind} {id}")));
            }
        }
        Ok(None)
    }

    /// Every vehicle, in use or not, of some organizations, or of all if none is named.
    pub async fn vehicles(&self, organizations: &[OrganizationId]) -> Result<Vec<VehicleId>> {
        let ids: Vec<Uuid> = organizations.iter().map(|id| id.0).collect();
        let stmt = self.db.lists().sql("select id from vehicle where true");
        let stmt = one_of(stmt, " and organization_id in (", &ids).push(" order by id");
        let rows: Vec<(Uuid,)> = stmt.all().await?;
        Ok(rows.into_iter().map(|(id,)| id.into()).collect())
    }

    /// At most `limit` fixes of a vehicle after a place in its history.
    pub async fn positions(
        &self,
        vehicle: VehicleId,
        request: &HistoryRequest,
        after: Option<AfterFix>,
        limit: usize,
    ) -> Result<Vec<StoredPosition>> {
        let tail = self.logged.get(&vehicle).map_or(&[] as &[_], Vec::as_slice);
        Ok(read_history(&self.db, vehicle, tail, request, after, (limit, usize::MAX)).await?.0)
    }
}
