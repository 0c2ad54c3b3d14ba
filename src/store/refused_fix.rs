//! Fixes that are set aside because the database refuses their row or the engine fails on them.

use sqlx::types::Json;
use waypost_actors::ports::{RefusedFix, StoreError};

use super::sql::{Db, On, Result, SqlError, is_never_taken};
use super::time::Time;

/// Refused fixes of a vehicle that are kept at most: what one of them tells, a thousand do.
const MOST_KEPT: i64 = 1_000;

/// Keeps a refused fix, unless there are many of its vehicle; one that is kept already is not changed.
pub(super) async fn insert(db: &Db, refused: &RefusedFix) -> Result<()> {
    let fix = &refused.fix;
    let count = db.read().sql("select count(*) from refused_fix where vehicle_id = $1");
    if count.bind(refused.vehicle_id.0).scalar::<i64>().await? >= MOST_KEPT {
        tracing::error!(vehicle.id = %refused.vehicle_id, recorded_at = %fix.recorded_at, reason = refused.reason,
            "a refused fix is not kept: of its vehicle {MOST_KEPT} are");
        return Ok(());
    }
    db.write()
        .sql(
            "insert into refused_fix (vehicle_id, recorded_at, latitude, longitude, received_at, reason, fix) \
             values ($1, $2, $3, $4, $5, $6, $7) \
             on conflict (vehicle_id, recorded_at, latitude, longitude) do nothing",
        )
        .bind(refused.vehicle_id.0)
        .bind(Time(fix.recorded_at))
        .bind(fix.place.latitude)
        .bind(fix.place.longitude)
        .bind(Time(fix.received_at))
        .bind(&refused.reason)
        .bind(Json(fix))
        .run()
        .await?;
    Ok(())
}

/// How many are kept.
pub async fn count(on: On<'_>) -> Result<i64> {
    on.sql("select count(*) from refused_fix").scalar().await
}

/// Translates an error of the store for the live core.
pub(super) fn told(error: SqlError) -> StoreError {
    if is_never_taken(&error) { StoreError::refused(error) } else { StoreError::away(error) }
}
