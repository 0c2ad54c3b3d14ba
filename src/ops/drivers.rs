//! Drivers: persons of the platform, each with a profile per organization. What an organization sees of a driver is
//! decided by `store::driver`, by scope.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use uuid::Uuid;
use waypost_actors::model::DriverId;

use super::change::Change;
use super::error::{Blocked, OpError, Taken, conflict};
use super::etag::IfMatch;
use super::own_organization::{Counted, require_room, settings_of};
use super::scoped::Scoped;
use crate::auth::{Action, OrgScope};
use crate::clock;
use crate::context::Context;
use crate::domain::assignment::{CurrentVehicle, EndReason};
use crate::domain::audit::AuditAction;
use crate::domain::body::{Body, Params};
use crate::domain::day::Day;
use crate::domain::driver::{CreateDriver, Driver, DriverIn, DriverStub, Lock, VisibleDriver, born_by};
use crate::domain::driver_document::Document;
use crate::domain::field::FieldError;
use crate::domain::fold::compact;
use crate::domain::license::LicenseStatus;
use crate::domain::merge::all_problems;
use crate::domain::paging::{Page, PageRequest, Sort};
use crate::store::assignment::{self, Ending, Open};
pub use crate::store::driver::{Filter, SORT_KEYS};
use crate::store::driver_card::Of;
use crate::store::sql::{On, Tx};
use crate::store::{driver, driver_card, driver_file, driver_lock, driver_profile, driver_purge};

/// How a document gets a file.
const FILES_ELSEWHERE: &str =
    "cannot be changed here; PUT /v1/drivers/{id}/documents/{documentId}/file uploads one";

/// A driver with what the server finds out, for an organization with a profile.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OwnDriver {
    /// The driver.
    #[serde(flatten)]
    pub driver: Driver,
    /// Always false: the organization has a profile of the driver.
    pub masked: bool,
    /// How the licence stands today, by the organization's date; for the keeper only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub license_status: Option<LicenseStatus>,
    /// What they drive for the organization now, by start.
    pub current_vehicles: Vec<CurrentVehicle>,
}

/// A driver as the caller may see it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum DriverView {
    /// With the caller's own profile.
    Own(Box<OwnDriver>),
    /// Masked.
    Stub(DriverStub),
}

/// Creates a driver, locked to the organization or offered to all.
pub async fn create_driver(
    context: &Context,
    by: &Scoped,
    body: Params<CreateDriver>,
) -> Result<OwnDriver, OpError> {
    let scope = by.scope(context, Action::WriteDrivers).await?;
    let (now, today) = (context.clock.now(), today(context, &scope).await?);
    let (body, problems) = name_documents(body, &[]);
    let CreateDriver { driver: attributes, lock, .. } = all_problems(problems, body.made_if(born_by(today)))?;
    let holder = Some(scope.organization_id()).filter(|_| lock.unwrap_or(true));
    let lock = Lock {
        locked: holder.is_some(),
        organization_id: holder,
        locked_at: holder.map(|_| now),
        reason: None,
    };
    let id = DriverId(clock::new_id());
    let driver =
        Driver { id, attributes, kept: true, lock, created_at: now, updated_at: now, deleted_at: None };
    let mut change = Change::within(context, Some(&by.caller), Some(scope)).await?.at(now);
    require_room(change.tx(), &scope, Counted::Drivers).await?;
    // The refusal is the same whichever organization's driver has the licence.
    conflict(driver::insert(change.on(), &scope, &driver).await, Taken::License)?;
    driver_profile::insert(change.on(), &scope, id, &driver.attributes.profile, now.into()).await?;
    put_cards(&mut change, &scope, &driver).await?;
    let recorded = change.created(&driver).await?;
    let own = shown(change.on(), &scope, driver, today).await?;
    change.commit_created(recorded, own).await
}

/// A page of the drivers with a profile in the organization.
pub async fn list_drivers(
    context: &Context,
    by: &Scoped,
    filter: &Filter,
    sort: &Sort,
    page: PageRequest,
) -> Result<Page<OwnDriver>, OpError> {
    let scope = by.scope(context, Action::ReadDrivers).await?;
    let today = today(context, &scope).await?;
    let found = driver::list(&context.db, &scope, (filter, today), sort, page).await?;
    Ok(Page { items: with_derived(context.db.read(), &scope, found.items, today).await?, total: found.total })
}

/// The drivers with a licence number: those with a profile in the organization and, masked, those without a lock.
/// Other organizations' drivers are left out.
pub async fn search_drivers(
    context: &Context,
    by: &Scoped,
    license_number: &str,
    country: Option<&str>,
    page: PageRequest,
) -> Result<Page<DriverView>, OpError> {
    let scope = by.scope(context, Action::ReadDrivers).await?;
    let today = today(context, &scope).await?;
    let found = driver::search(context.db.read(), &scope, &compact(license_number), country).await?;
    let (total, mut items) = (found.len() as i64, Vec::new());
    // There is at most one per country, so few that pages are cut here.
    let (before, limit) = (usize::try_from(page.offset()), usize::try_from(page.limit));
    for seen in found.into_iter().skip(before.unwrap_or(usize::MAX)).take(limit.unwrap_or(usize::MAX)) {
        items.push(match seen {
            VisibleDriver::Own(driver) => {
                DriverView::Own(Box::new(shown(context.db.read(), &scope, *driver, today).await?))
            }
            VisibleDriver::Masked(stub) => DriverView::Stub(stub),
        });
    }
    Ok(Page { items, total })
}

/// A driver with a profile in the organization; a deleted profile counts only on request.
pub async fn find_driver(
    context: &Context,
    by: &Scoped,
    id: DriverId,
    include_deleted: bool,
) -> Result<OwnDriver, OpError> {
    let scope = by.scope(context, Action::ReadDrivers).await?;
    let found = driver::find(context.db.read(), &scope, id, include_deleted).await?;
    let today = today(context, &scope).await?;
    shown(context.db.read(), &scope, found.ok_or(OpError::NotFound)?, today).await
}

/// Changes the organization's profile of a driver and, if it keeps the driver, the person.
pub async fn update_driver(
    context: &Context,
    by: &Scoped,
    id: DriverId,
    if_match: &IfMatch,
    body: Params<DriverIn>,
) -> Result<OwnDriver, OpError> {
    let scope = by.scope(context, Action::WriteDrivers).await?;
    let today = today(context, &scope).await?;
    let mut change = Change::within(context, Some(&by.caller), Some(scope)).await?;
    let current = hold_own(change.tx(), &scope, id).await?;
    let (body, problems) = name_documents(body, &current.attributes.profile.documents);
    let attributes = all_problems(problems, body.changed_if(&current, &current.attributes, born_by(today)))?;
    if attributes == current.attributes {
        return shown(change.on(), &scope, current, today).await; // it is as asked already
    }
    let is_another = attributes.person != current.attributes.person;
    if is_another {
        require_kept(&current)?;
    }
    if_match.check(&current)?;
    let driver = Driver { attributes, updated_at: change.now(), ..current.clone() };
    if is_another {
        conflict(driver::update(change.on(), &scope, &driver).await, Taken::License)?;
        let named = |driver: &Driver| json!(driver.attributes.person.clone().named());
        tell_others(&mut change, &scope, id, AuditAction::Update, (named(&current), named(&driver))).await?;
    }
    if driver.attributes.profile != current.attributes.profile {
        driver_profile::update(change.on(), &scope, &driver).await?;
        keep_files(&mut change, &scope, &driver).await?;
        put_cards(&mut change, &scope, &driver).await?;
    }
    let recorded = change.updated(&current, &driver).await?;
    let own = shown(change.on(), &scope, driver, today).await?;
    change.commit(recorded, own).await
}

/// Deletes the organization's profile of a driver and releases its lock: the driver's assignments in it end now,
/// their history stays. The person is deleted with the last profile. `purges`: what the profile says goes, and what is known of
/// the person once nobody has a profile, also if the profile was deleted before.
pub async fn delete_driver(
    context: &Context,
    by: &Scoped,
    id: DriverId,
    if_match: &IfMatch,
    purges: bool,
) -> Result<(), OpError> {
    let (mut change, scope) = Change::begin(context, by, Action::WriteDrivers).await?;
    driver::hold(change.on(), &scope, id).await?;
    let current = driver::find(change.on(), &scope, id, purges).await?.ok_or(OpError::NotFound)?;
    let before = if current.deleted_at.is_none() {
        if_match.check(&current)?;
        end_profile(&mut change, &scope, &current, by.caller.id).await?;
        Some(json!(current))
    } else {
        if_match.check_gone()?;
        None
    };
    if !purges {
        let recorded = change.deleted(&current).await?;
        return change.commit(recorded, ()).await;
    }
    let now = change.now();
    driver_purge::purge(change.tx(), &scope, Some(id), now.into()).await?;
    let recorded = change.purged(&id, before).await?;
    change.commit(recorded, ()).await
}

/// Deletes the organization's profile of a driver, with its assignments, lock, files and cards.
async fn end_profile(
    change: &mut Change<'_>,
    scope: &OrgScope,
    current: &Driver,
    by: Uuid,
) -> Result<(), OpError> {
    let (now, id) = (change.now(), current.id);
    let ending = Ending { at: now, by: Some(by), reason: EndReason::DriverDeleted };
    change.end_assignments(scope, Open::OfDriver(id), ending).await?;
    driver_lock::unlock(change.on(), scope, Some(id), now.into()).await?;
    let mut bare = current.clone();
    bare.attributes.profile.documents.iter_mut().for_each(|document| document.file = None);
    driver_profile::update(change.on(), scope, &bare).await?;
    driver_file::keep(change.on(), scope, id, &[]).await?;
    driver_profile::delete(change.on(), scope, Some(id), now.into()).await?;
    driver_card::delete(change.tx(), scope, Of::Driver(id)).await?;
    driver_card::settle(change.tx(), scope, Of::Driver(id), now.into()).await?;
    driver::delete_unknown(change.on(), scope, Some(id), now.into()).await?;
    tell_others(change, scope, id, AuditAction::Delete, (json!({}), json!({}))).await
}

/// Takes the files away of documents that are gone.
async fn keep_files(change: &mut Change<'_>, scope: &OrgScope, driver: &Driver) -> Result<(), OpError> {
    let documents = driver.attributes.profile.documents.iter();
    let kept: Vec<Uuid> = documents.map(|document| document.id).collect();
    Ok(driver_file::keep(change.on(), scope, driver.id, &kept).await?)
}

/// Writes the cards of a driver's profile, and for whom they assign from now on.
async fn put_cards(change: &mut Change<'_>, scope: &OrgScope, driver: &Driver) -> Result<(), OpError> {
    let now = change.now();
    conflict(
        driver_card::put(change.tx(), scope, driver.id, &driver.attributes.profile.cards).await,
        Taken::Card,
    )?;
    Ok(driver_card::settle(change.tx(), scope, Of::Driver(driver.id), now.into()).await?)
}

/// Finds a driver with a profile in the organization and locks their row.
pub(super) async fn hold_own(tx: &mut Tx, scope: &OrgScope, id: DriverId) -> Result<Driver, OpError> {
    driver::hold(tx.on(), scope, id).await?;
    driver::find(tx.on(), scope, id, false).await?.ok_or(OpError::NotFound)
}

/// Refuses a driver that the organization does not keep.
pub(super) fn require_kept(driver: &Driver) -> Result<(), OpError> {
    match (driver.kept, driver.lock.locked) {
        (true, _) => Ok(()),
        (false, true) => Err(OpError::Blocked(Blocked::DriverLocked)),
        (false, false) => Err(OpError::Blocked(Blocked::DriverNotHeld)),
    }
}

/// Records what was done to a driver in the audit of each other organization with a profile.
pub(super) async fn tell_others(
    change: &mut Change<'_>,
    scope: &OrgScope,
    id: DriverId,
    action: AuditAction,
    (before, after): (Value, Value),
) -> Result<(), OpError> {
    for (_, other) in driver_profile::others(change.on(), scope, Some(id)).await? {
        change.done_elsewhere(&id, other, action, (&before, &after)).await?;
    }
    Ok(())
}

/// Today's date in the organization's time zone.
pub(super) async fn today(context: &Context, scope: &OrgScope) -> Result<Day, OpError> {
    let settings = settings_of(context, scope).await?;
    Ok(Day::of(context.clock.now(), &settings.timezone))
}

/// A driver with the members that the server derives.
pub(super) async fn shown(
    on: On<'_>,
    scope: &OrgScope,
    driver: Driver,
    today: Day,
) -> Result<OwnDriver, OpError> {
    let mut shown = with_derived(on, scope, vec![driver], today).await?;
    shown.pop().ok_or(OpError::NotFound)
}

async fn with_derived(
    on: On<'_>,
    scope: &OrgScope,
    drivers: Vec<Driver>,
    today: Day,
) -> Result<Vec<OwnDriver>, OpError> {
    let ids: Vec<DriverId> = drivers.iter().map(|driver| driver.id).collect();
    let mut driven: HashMap<DriverId, Vec<CurrentVehicle>> = HashMap::new();
    for (driver, vehicle) in assignment::vehicles_of(on, scope, &ids).await? {
        driven.entry(driver).or_default().push(vehicle);
    }
    let own = |driver: Driver| OwnDriver {
        masked: false,
        license_status: driver.kept.then(|| driver.attributes.person.license_status(today)),
        current_vehicles: driven.remove(&driver.id).unwrap_or_default(),
        driver,
    };
    Ok(drivers.into_iter().map(own).collect())
}

/// Assigns ids to documents of a body that have none; refuses ids that are not the driver's.
fn name_documents<B: Body>(body: Params<B>, current: &[Document]) -> (Params<B>, Vec<FieldError>) {
    let mut problems = Vec::new();
    let body = body.reworded(|body| problems = named_documents(body, current));
    (body, problems)
}

/// The file of a document that a body names, as it is told.
fn known_file(document: &Map<String, Value>, current: &[Document]) -> Option<Value> {
    let id = Uuid::try_parse(document.get("id")?.as_str()?).ok()?;
    current.iter().find(|known| known.id == id)?.file.map(|file| json!(file))
}

fn named_documents(body: &mut Value, current: &[Document]) -> Vec<FieldError> {
    let mut problems = Vec::new();
    let mut named: Vec<Uuid> = Vec::new();
    let items = body.get_mut("documents").and_then(Value::as_array_mut).into_iter().flatten();
    for (i, document) in items.enumerate() {
        let Some(members) = document.as_object_mut() else { continue };
        let file = members.remove("file").filter(|file| !file.is_null());
        let known = known_file(members, current);
        if file.is_some() && file != known {
            problems.push(FieldError::new(format!("/documents/{i}/file"), "readOnly", FILES_ELSEWHERE));
        }
        members.extend(known.map(|file| ("file".to_owned(), file)));
        match members.get("id").filter(|id| !id.is_null()) {
            None => drop(members.insert("id".to_owned(), json!(clock::new_id()))),
            Some(id) => {
                let id = id.as_str().and_then(|text| Uuid::try_parse(text).ok());
                let own = id.filter(|id| !named.contains(id) && current.iter().any(|known| known.id == *id));
                match own {
                    Some(id) => named.push(id),
                    None => problems.push(FieldError::new(
                        format!("/documents/{i}/id"),
                        "notFound",
                        "must be that of a document the driver has, once; leave it out for a new one",
                    )),
                }
            }
        }
    }
    problems
}
