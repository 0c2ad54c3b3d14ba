//! Files of drivers' documents. A document is part of an organization's own profile of a driver, and so is its file: no other
//! organization ever reads it.

use uuid::Uuid;
use waypost_actors::model::DriverId;

use super::change::Change;
use super::drivers::{OwnDriver, hold_own, shown, today};
use super::error::OpError;
use super::etag::IfMatch;
use super::scoped::Scoped;
use crate::auth::{Action, OrgScope};
use crate::clock;
use crate::context::Context;
use crate::domain::driver::Driver;
use crate::domain::driver_file::{DocumentFile, FileType, MAX_TOGETHER_BYTES};
pub use crate::store::driver_file::StoredFile;
use crate::store::{driver, driver_file, driver_profile, organization};

/// Stores the file of a document, in place of one that there was.
pub async fn put_file(
    context: &Context,
    by: &Scoped,
    (driver, document): (DriverId, Uuid),
    if_match: &IfMatch,
    content: &[u8],
) -> Result<OwnDriver, OpError> {
    let scope = by.scope(context, Action::WriteDrivers).await?;
    let today = today(context, &scope).await?;
    let mut change = Change::within(context, Some(&by.caller), Some(scope)).await?;
    organization::hold(change.on(), &scope).await?; // so that two at once count each other
    let current = hold_own(change.tx(), &scope, driver).await?;
    let file =
        |media_type, uploaded_at| DocumentFile { media_type, bytes: content.len() as i64, uploaded_at };
    let now = change.now();
    let media_type = FileType::of(content);
    let after = with_file(&current, document, media_type.map(|is| file(is, now)));
    let after = Driver { updated_at: now, ..after.ok_or(OpError::NotFound)? };
    if_match.check(&current)?;
    let file = file(media_type.ok_or(OpError::FileType)?, now);
    if driver_file::together(change.on(), &scope, (driver, document)).await? + file.bytes > MAX_TOGETHER_BYTES
    {
        return Err(OpError::FileLimit);
    }
    driver_file::put(change.tx(), &scope, (driver, document), (clock::new_id(), &file), content).await?;
    driver_profile::update(change.on(), &scope, &after).await?;
    let recorded = change.updated(&current, &after).await?;
    let own = shown(change.on(), &scope, after, today).await?;
    change.commit(recorded, own).await
}

/// The file of a document, whose parts [`file_part`] reads.
pub async fn find_file(
    context: &Context,
    by: &Scoped,
    (driver, document): (DriverId, Uuid),
) -> Result<(OrgScope, StoredFile), OpError> {
    let scope = by.scope(context, Action::ReadDrivers).await?;
    driver::find(context.db.read(), &scope, driver, false).await?.ok_or(OpError::NotFound)?;
    let found = driver_file::find(context.db.read(), &scope, driver, document).await?;
    Ok((scope, found.ok_or(OpError::NotFound)?))
}

/// A part of a file, from 0 on; `None` behind the last one.
pub async fn file_part(
    context: &Context,
    scope: &OrgScope,
    file: Uuid,
    part: i64,
) -> Result<Option<Vec<u8>>, OpError> {
    Ok(driver_file::part(&context.db, scope, file, part).await?)
}

/// Takes the file from a document.
pub async fn delete_file(
    context: &Context,
    by: &Scoped,
    (driver, document): (DriverId, Uuid),
    if_match: &IfMatch,
) -> Result<(), OpError> {
    let (mut change, scope) = Change::begin(context, by, Action::WriteDrivers).await?;
    let current = hold_own(change.tx(), &scope, driver).await?;
    let after = with_file(&current, document, None).ok_or(OpError::NotFound)?;
    if after == current {
        return Err(OpError::NotFound);
    }
    if_match.check(&current)?;
    let after = Driver { updated_at: change.now(), ..after };
    driver_file::delete_one(change.on(), &scope, (driver, document)).await?;
    driver_profile::update(change.on(), &scope, &after).await?;
    let recorded = change.updated(&current, &after).await?;
    change.commit(recorded, ()).await
}

/// A driver whose document has this file, or none; `None` without such a document.
fn with_file(driver: &Driver, document: Uuid, file: Option<DocumentFile>) -> Option<Driver> {
    let mut after = driver.clone();
    let documents = &mut after.attributes.profile.documents;
    documents.iter_mut().find(|one| one.id == document)?.file = file;
    Some(after)
}
