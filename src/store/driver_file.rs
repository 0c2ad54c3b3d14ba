//! Files of drivers' documents, whose bytes lie in parts of their own.

use sqlx::FromRow;
use uuid::Uuid;
use waypost_actors::model::DriverId;

use super::sql::{Db, On, Result, Tx};
use super::time::Time;
use crate::auth::scope::OrgScope;
use crate::domain::driver_file::{DocumentFile, FileType};

/// Bytes of a part, but for the last one of a file.
const PART_BYTES: usize = 256 * 1024;

/// A file that is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// Which.
    pub id: Uuid,
    /// What it is.
    pub media_type: FileType,
    /// Its size.
    pub bytes: i64,
}

#[derive(FromRow)]
struct Row {
    id: Uuid,
    media_type: String,
    bytes: i64,
}

/// Stores the file of a document, in place of one that there was.
pub async fn put(
    tx: &mut Tx,
    scope: &OrgScope,
    (driver, document): (DriverId, Uuid),
    (id, file): (Uuid, &DocumentFile),
    content: &[u8],
) -> Result<()> {
    delete_one(tx.on(), scope, (driver, document)).await?;
    let insert = "insert into driver_file (id, organization_id, driver_id, document_id, media_type, bytes, created_at) \
        values ($1, $2, $3, $4, $5, $6, $7)";
    let stmt = tx.on().sql(insert).bind(id).bind(Uuid::from(scope.organization_id())).bind(driver.0);
    let stmt = stmt.bind(document).bind(file.media_type.as_str()).bind(file.bytes);
    stmt.bind(Time(file.uploaded_at)).run().await?;
    for (part, content) in content.chunks(PART_BYTES).enumerate() {
        let insert = "insert into driver_file_part (file_id, part, content) values ($1, $2, $3)";
        tx.on().sql(insert).bind(id).bind(part as i64).bind(content).run().await?;
    }
    Ok(())
}

/// Bytes of all files of an organization, but for that of one document.
pub async fn together(on: On<'_>, scope: &OrgScope, but: (DriverId, Uuid)) -> Result<i64> {
    let select = "select coalesce(cast(sum(bytes) as bigint), 0) from driver_file where organization_id = $1 \
        and not (driver_id = $2 and document_id = $3)";
    on.sql(select).bind(Uuid::from(scope.organization_id())).bind(but.0.0).bind(but.1).scalar().await
}

/// The file of a document.
pub async fn find(
    on: On<'_>,
    scope: &OrgScope,
    driver: DriverId,
    document: Uuid,
) -> Result<Option<StoredFile>> {
    let select = "select id, media_type, bytes from driver_file where organization_id = $1 and driver_id = $2 \
        and document_id = $3";
    let stmt = on.sql(select).bind(Uuid::from(scope.organization_id())).bind(driver.0).bind(document);
    let row: Option<Row> = stmt.optional().await?;
    Ok(row.and_then(|Row { id, media_type, bytes }| {
        Some(StoredFile { id, media_type: FileType::from_word(&media_type)?, bytes })
    }))
}

/// A part of a file, from 0 on; `None` behind the last one, and once the file is gone.
pub async fn part(db: &Db, scope: &OrgScope, file: Uuid, part: i64) -> Result<Option<Vec<u8>>> {
    let select = "select p.content from driver_file f join driver_file_part p on p.file_id = f.id \
        where f.id = $1 and f.organization_id = $2 and p.part = $3";
    let stmt = db.read().sql(select).bind(file).bind(Uuid::from(scope.organization_id())).bind(part);
    let row: Option<(Vec<u8>,)> = stmt.optional().await?;
    Ok(row.map(|(content,)| content))
}

/// Takes the file from a document, if it has one.
pub async fn delete_one(on: On<'_>, scope: &OrgScope, (driver, document): (DriverId, Uuid)) -> Result<()> {
    let delete = "delete from driver_file where organization_id = $1 and driver_id = $2 and document_id = $3";
    let stmt = on.sql(delete).bind(Uuid::from(scope.organization_id())).bind(driver.0).bind(document);
    stmt.run().await?;
    Ok(())
}

/// Takes the files from a driver's documents that are none any more: all but those of `kept`.
pub async fn keep(on: On<'_>, scope: &OrgScope, driver: DriverId, kept: &[Uuid]) -> Result<()> {
    let delete = "delete from driver_file where organization_id = ";
    let stmt = on.sql(delete).push_bind(Uuid::from(scope.organization_id()));
    let mut stmt = stmt.push(" and driver_id = ").push_bind(driver.0);
    if !kept.is_empty() {
        let stay = stmt.push(" and document_id not in (");
        stmt = stay.push_each(kept, |stmt, id| stmt.push_bind(*id)).push(")");
    }
    stmt.run().await?;
    Ok(())
}

/// Deletes the files of an organization.
pub async fn delete_of_organization(on: On<'_>, scope: &OrgScope) -> Result<()> {
    let delete = "delete from driver_file where organization_id = $1";
    on.sql(delete).bind(Uuid::from(scope.organization_id())).run().await?;
    Ok(())
}

/// Deletes parts whose file is gone, at most `parts`; returns how many.
pub async fn forget_parts(db: &Db, parts: i64) -> Result<u64> {
    let select = "select p.file_id from driver_file_part p \
        where not exists (select 1 from driver_file f where f.id = p.file_id) limit 1";
    let found: Option<(Uuid,)> = db.read().sql(select).optional().await?;
    let Some((file,)) = found else { return Ok(0) };
    let delete = "delete from driver_file_part where file_id = $1 and part in (select p.part from driver_file_part p \
        where p.file_id = $1 order by p.part limit $2)";
    db.write().sql(delete).bind(file).bind(parts).run().await
}
