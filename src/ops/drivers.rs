//! Drivers. What somebody may see of one is `store::driver`'s to say, by scope.

use std::collections::HashMap;

use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use uuid::Uuid;
use waypost_actors::model::{DriverId, OrganizationId};

use super::error::{Blocked, OpError, Taken};
use super::etag::IfMatch;
use super::{organizations, take_organization};
use crate::auth::{Action, Caller, OrgScope};
use crate::clock;
use crate::context::Context;
use crate::domain::assignment::{CurrentVehicle, EndReason};
use crate::domain::day::Day;
use crate::domain::driver::{Document, Driver, DriverIn, DriverStatus, DriverStub, Lock, Seen};
use crate::domain::field::FieldError;
use crate::domain::fold::compact;
use crate::domain::license::LicenseStatus;
use crate::domain::merge::{all_problems, merged, writable};
use crate::domain::paging::{Page, PageRequest, Sort};
use crate::store::assignment::{self, Ending, Open};
use crate::store::driver;
pub use crate::store::driver::SORT_KEYS;
use crate::store::sql::{On, SqlError, Tx, is_conflict};

/// Members of a driver that a client may send back but not change.
const READ_ONLY: &[&str] = &["id", "lock", "createdAt", "updatedAt"];
/// Members that the server finds out.
const DERIVED: &[&str] = &["masked", "licenseStatus", "currentVehicles"];

/// A driver with what the server finds out, for its keeper.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeptDriver {
    /// The driver.
    #[serde(flatten)]
    pub driver: Driver,
    /// Always false: all of it is shown.
    pub masked: bool,
    /// How the licence stands today, by the organization's date.
    pub license_status: LicenseStatus,
    /// What they drive now, by start.
    pub current_vehicles: Vec<CurrentVehicle>,
}

/// A driver as the caller may see it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum DriverView {
    /// Whole.
    Kept(Box<KeptDriver>),
    /// Masked.
    Stub(DriverStub),
}

/// Which drivers.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Text to find in names, address, phone, code or licence number.
    pub q: Option<String>,
    /// Of these states.
    pub statuses: Vec<DriverStatus>,
    /// With licences that stand so.
    pub license_statuses: Vec<LicenseStatus>,
    /// Locked or not.
    pub locked: Option<bool>,
    /// Driving something now, or nothing.
    pub assigned: Option<bool>,
}

/// Makes a driver, whom the organization keeps until another locks them.
pub async fn create_driver(
    context: &Context,
    caller: &Caller,
    mut body: Value,
) -> Result<KeptDriver, OpError> {
    let named = take_organization(&mut body)?;
    let scope = caller.scope(&context.db, Action::WriteDrivers, named).await?;
    let (now, today) = (context.clock.now(), today(context, &scope).await?);
    let mut starting = json!(DriverIn::default());
    starting["firstName"] = Value::Null;
    starting["lastName"] = Value::Null;
    let problems = name_documents(&mut body, &[]);
    let said = all_problems(problems, DriverIn::read(&merged(starting, &body, &[]), today))?;
    let id = DriverId(clock::new_id());
    let driver = Driver { id, said, lock: Lock::NONE, created_at: now, updated_at: now };
    let mut tx = context.db.begin().await?;
    organizations::require_room(&mut tx, &scope, organizations::Counted::Drivers).await?;
    conflict(driver::insert(tx.on(), &scope, &driver).await)?;
    tx.commit().await?;
    shown(context, &scope, driver, today).await
}

/// A page of the drivers whom the organization keeps.
pub async fn list_drivers(
    context: &Context,
    caller: &Caller,
    named: Option<OrganizationId>,
    filter: Filter,
    sort: &Sort,
    page: PageRequest,
) -> Result<Page<KeptDriver>, OpError> {
    let scope = caller.scope(&context.db, Action::ReadDrivers, named).await?;
    let today = today(context, &scope).await?;
    let Filter { q, statuses, license_statuses, locked, assigned } = filter;
    let filter = driver::Filter { q, statuses, license_statuses, today, locked, assigned };
    let found = driver::list(&context.db, &scope, &filter, sort, page).await?;
    Ok(Page { items: with_derived(context.db.read(), &scope, found.items, today).await?, total: found.total })
}

/// The drivers with a licence number: whole to their keeper, masked to their creator, and to everybody while
/// nobody holds them. Others are not there.
pub async fn search_drivers(
    context: &Context,
    caller: &Caller,
    named: Option<OrganizationId>,
    license_number: &str,
    country: Option<&str>,
    page: PageRequest,
) -> Result<Page<DriverView>, OpError> {
    let scope = caller.scope(&context.db, Action::ReadDrivers, named).await?;
    let found = driver::search(context.db.read(), &scope, &compact(license_number), country).await?;
    let (total, mut items) = (found.len() as i64, Vec::new());
    // One per country at most: so few that they are cut into pages here.
    let (before, limit) = (usize::try_from(page.offset()), usize::try_from(page.limit));
    for seen in found.into_iter().skip(before.unwrap_or(usize::MAX)).take(limit.unwrap_or(usize::MAX)) {
        items.push(view(context, &scope, seen).await?);
    }
    Ok(Page { items, total })
}

/// A driver, as the caller may see it.
pub async fn find_driver(
    context: &Context,
    caller: &Caller,
    named: Option<OrganizationId>,
    id: DriverId,
) -> Result<DriverView, OpError> {
    let scope = caller.scope(&context.db, Action::ReadDrivers, named).await?;
    let seen = driver::find(context.db.read(), &scope, id).await?.ok_or(OpError::NotFound)?;
    view(context, &scope, seen).await
}

/// Changes a driver whom the organization keeps.
pub async fn update_driver(
    context: &Context,
    caller: &Caller,
    named: Option<OrganizationId>,
    id: DriverId,
    if_match: &IfMatch,
    mut body: Value,
) -> Result<KeptDriver, OpError> {
    let scope = caller.scope(&context.db, Action::WriteDrivers, named).await?;
    let today = today(context, &scope).await?;
    let mut tx = context.db.begin().await?;
    let current = hold_kept(&mut tx, &scope, id).await?;
    let mut problems = name_documents(&mut body, &current.said.documents);
    let (body, read_only) = writable(body, &json!(current), READ_ONLY, DERIVED);
    problems.extend(read_only);
    let read = DriverIn::read(&merged(json!(current.said), &body, &[]), today);
    let said = all_problems(problems, read)?;
    if said == current.said {
        drop(tx);
        return shown(context, &scope, current, today).await; // it is as asked already
    }
    if_match.check(&current)?;
    let driver = Driver { said, updated_at: context.clock.now(), ..current };
    conflict(driver::update(tx.on(), &scope, &driver).await)?;
    tx.commit().await?;
    shown(context, &scope, driver, today).await
}

/// Deletes a driver whom the organization keeps: what they drive ends now, their history stays.
pub async fn delete_driver(
    context: &Context,
    caller: &Caller,
    named: Option<OrganizationId>,
    id: DriverId,
    if_match: &IfMatch,
) -> Result<(), OpError> {
    let scope = caller.scope(&context.db, Action::WriteDrivers, named).await?;
    let mut tx = context.db.begin().await?;
    let current = hold_kept(&mut tx, &scope, id).await?;
    if_match.check(&current)?;
    let now = context.clock.now();
    let ending = Ending { at: now, by: Some(caller.id), reason: EndReason::DriverDeleted };
    assignment::end(tx.on(), &scope, Open::OfDriver(id), ending, now).await?;
    driver::delete(tx.on(), &scope, id, now.into()).await?;
    tx.commit().await?;
    Ok(())
}

/// Holds the row of a driver whom the organization keeps. One whom another holds is refused to its creator
/// and not there for everybody else.
pub(super) async fn hold_kept(tx: &mut Tx, scope: &OrgScope, id: DriverId) -> Result<Driver, OpError> {
    driver::hold(tx.on(), scope, id).await?;
    match driver::find(tx.on(), scope, id).await? {
        Some(Seen::Whole(driver)) => Ok(*driver),
        Some(Seen::Masked(_)) => Err(OpError::Blocked(Blocked::DriverLocked)),
        None => Err(OpError::NotFound),
    }
}

/// The date where the organization is.
async fn today(context: &Context, scope: &OrgScope) -> Result<Day, OpError> {
    let settings = organizations::settings_of(context, scope).await?;
    Ok(Day::of(context.clock.now(), &settings.timezone))
}

/// A driver as an organization may see it, with what the server finds out.
pub(super) async fn view(context: &Context, scope: &OrgScope, seen: Seen) -> Result<DriverView, OpError> {
    Ok(match seen {
        Seen::Whole(driver) => {
            let today = today(context, scope).await?;
            DriverView::Kept(Box::new(shown(context, scope, *driver, today).await?))
        }
        Seen::Masked(stub) => DriverView::Stub(stub),
    })
}

async fn shown(
    context: &Context,
    scope: &OrgScope,
    driver: Driver,
    today: Day,
) -> Result<KeptDriver, OpError> {
    let mut shown = with_derived(context.db.read(), scope, vec![driver], today).await?;
    shown.pop().ok_or(OpError::NotFound)
}

async fn with_derived(
    on: On<'_>,
    scope: &OrgScope,
    drivers: Vec<Driver>,
    today: Day,
) -> Result<Vec<KeptDriver>, OpError> {
    let ids: Vec<DriverId> = drivers.iter().map(|driver| driver.id).collect();
    let mut driven: HashMap<DriverId, Vec<CurrentVehicle>> = HashMap::new();
    for (driver, vehicle) in assignment::vehicles_of(on, scope, &ids).await? {
        driven.entry(driver).or_default().push(vehicle);
    }
    let kept = |driver: Driver| KeptDriver {
        masked: false,
        license_status: driver.said.license_status(today),
        current_vehicles: driven.remove(&driver.id).unwrap_or_default(),
        driver,
    };
    Ok(drivers.into_iter().map(kept).collect())
}

/// Gives ids to the documents of a body that have none; refuses ids that are not the driver's.
fn name_documents(body: &mut Value, current: &[Document]) -> Vec<FieldError> {
    let mut problems = Vec::new();
    let mut named: Vec<Uuid> = Vec::new();
    let items = body.get_mut("documents").and_then(Value::as_array_mut).into_iter().flatten();
    for (i, document) in items.enumerate() {
        let Some(members) = document.as_object_mut() else { continue };
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

/// Whoever's driver has the licence, the refusal is the same.
fn conflict<T>(written: Result<T, SqlError>) -> Result<T, OpError> {
    written.map_err(|error| if is_conflict(&error) { OpError::Taken(Taken::License) } else { error.into() })
}
