//! Drivers, as far as an organization may see them.
//!
//! A person belongs to no organization; what one has on record of a driver is its profile
//! ([`driver_profile`](super::driver_profile)). Its keeper is the organization that holds the lock or, while there is
//! no lock, the creator; both need a profile. Every read joins the asking organization's own profile: with one, it
//! sees the profile and the names; the keeper (`KEPT`) sees the whole person; what an organization without a profile
//! may find by the licence in hand leaves this file as a [`VisibleDriver::Masked`].

use sqlx::types::Json;
use uuid::Uuid;
use waypost_actors::model::{DriverId, OrganizationId, Timestamp};

use super::filters::{one_of_words, updated_after};
use super::page::{Columns, List};
use super::sql::{Db, On, Result, Stmt};
use super::time::Time;
use crate::auth::scope::OrgScope;
use crate::domain::day::Day;
use crate::domain::driver::{
    Driver, DriverIn, DriverStatus, DriverStub, Lock, Person, Profile, VisibleDriver,
};
use crate::domain::driver_document::Document;
use crate::domain::fold::{anywhere, compact};
use crate::domain::license::{EXPIRING_DAYS, License, LicenseStatus};
use crate::domain::paging::{Page, PageRequest, Sort};

/// Most licences with one number, of which each country may have one.
const MOST_FOUND: i64 = 200;

/// Filters a list of drivers.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Text to find in names, address, phone, code, or the licence number if the driver is kept.
    pub q: Option<String>,
    /// Of these states.
    pub statuses: Vec<DriverStatus>,
    /// Kept, and with licences of these statuses.
    pub license_statuses: Vec<LicenseStatus>,
    /// Kept by the organization or not.
    pub kept: Option<bool>,
    /// Locked or not.
    pub locked: Option<bool>,
    /// With a current assignment, or without.
    pub assigned: Option<bool>,
    /// Include profiles that the organization deleted.
    pub include_deleted: bool,
    /// Changed after this.
    pub updated_after: Option<Timestamp>,
}

/// The condition that the profile's organization keeps the driver.
macro_rules! kept {
    () => {
        "(p.deleted_at is null and coalesce(d.lock_organization_id, d.creator_organization_id) = p.organization_id)"
    };
}
const KEPT: &str = kept!();

/// The keys a list can be sorted by.
pub const SORT_KEYS: Columns = &[
    ("lastName", "last_name"),
    ("firstName", "first_name"),
    ("status", "status"),
    // A licence without an end sorts last; so does one that is not shown, because the order would reveal its date.
    (
        "licenseExpiresAt",
        concat!("case when ", kept!(), " then coalesce(license_expires_at, 'never') else 'never' end"),
    ),
    ("createdAt", "created_at"),
    ("updatedAt", "updated_at"),
];

/// A person, with the profile of the asking organization if it has one.
#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    creator_organization_id: Uuid,
    lock_organization_id: Option<Uuid>,
    locked_at: Option<Time>,
    lock_reason: Option<String>,
    first_name: String,
    last_name: String,
    date_of_birth: Option<String>,
    license: Option<Json<License>>,
    email: Option<String>,
    phone: Option<String>,
    employee_code: Option<String>,
    notes: Option<String>,
    documents: Option<Json<Vec<Document>>>,
    cards: Option<Json<Vec<String>>>,
    status: Option<String>,
    created_at: Option<Time>,
    updated_at: Time,
    deleted_at: Option<Time>,
}

/// The only way a row becomes visible, so that every query masks alike.
fn seen(row: Row, scope: &OrgScope) -> VisibleDriver {
    let person = Person {
        first_name: row.first_name,
        last_name: row.last_name,
        date_of_birth: row.date_of_birth.as_deref().and_then(Day::parse),
        license: row.license.map(|license| license.0),
    };
    let (id, is_locked) = (row.id.into(), row.lock_organization_id.is_some());
    let status = row.status.and_then(|word| DriverStatus::try_from(word).ok());
    let (Some(status), Some(created_at)) = (status, row.created_at) else {
        return VisibleDriver::Masked(DriverStub::of(id, &person, is_locked));
    };
    let own = Uuid::from(scope.organization_id());
    let is_deleted = row.deleted_at.is_some();
    let kept = !is_deleted && row.lock_organization_id.unwrap_or(row.creator_organization_id) == own;
    let lock = match row.lock_organization_id {
        Some(holder) if holder == own => Lock {
            locked: true,
            organization_id: Some(OrganizationId(holder)),
            locked_at: row.locked_at.map(Timestamp::from),
            reason: row.lock_reason,
        },
        _ => Lock { locked: is_locked && !is_deleted, ..Lock::NONE },
    };
    let profile = Profile {
        email: row.email,
        phone: row.phone,
        employee_code: row.employee_code,
        notes: row.notes,
        documents: row.documents.map(|documents| documents.0).unwrap_or_default(),
        cards: row.cards.map(|cards| cards.0).unwrap_or_default(),
        status,
    };
    VisibleDriver::Own(Box::new(Driver {
        id,
        attributes: DriverIn { person: if kept { person } else { person.named() }, profile },
        kept,
        lock,
        created_at: created_at.into(),
        updated_at: row.updated_at.into(),
        deleted_at: row.deleted_at.map(Timestamp::from),
    }))
}

fn own(row: Row, scope: &OrgScope) -> Option<Driver> {
    match seen(row, scope) {
        VisibleDriver::Own(driver) => Some(*driver),
        VisibleDriver::Masked(_) => None,
    }
}

/// When the person or the profile was changed.
macro_rules! updated {
    () => {
        "case when p.updated_at > d.updated_at then p.updated_at else d.updated_at end"
    };
}
const UPDATED: &str = concat!(" and ", updated!());
macro_rules! columns {
    () => {
        concat!(
            "select d.id as id, d.creator_organization_id, d.lock_organization_id, d.locked_at, d.lock_reason, \
             d.first_name, d.last_name, d.date_of_birth, d.license, p.email, p.phone, p.employee_code, p.notes, \
             p.documents, p.cards, p.status, p.created_at as created_at, ",
            updated!(),
            " as updated_at, p.deleted_at as deleted_at from driver d "
        )
    };
}
macro_rules! own_profile {
    () => {
        "join driver_profile p on p.driver_id = d.id "
    };
}

const LIST: List = List {
    select: concat!(columns!(), own_profile!()),
    count: concat!("select count(*) from driver d ", own_profile!()),
    columns: SORT_KEYS,
};

/// Restricts to profiles of the organization.
fn owned<'c>(stmt: Stmt<'c>, scope: &OrgScope, include_deleted: bool) -> Stmt<'c> {
    let stmt = stmt.push("where p.organization_id = ").push_bind(Uuid::from(scope.organization_id()));
    if include_deleted { stmt } else { stmt.push(" and p.deleted_at is null") }
}

/// A driver with a profile in the organization, or one who had one.
pub async fn find(
    on: On<'_>,
    scope: &OrgScope,
    id: DriverId,
    include_deleted: bool,
) -> Result<Option<Driver>> {
    let stmt = owned(on.sql(LIST.select), scope, include_deleted);
    let row: Option<Row> = stmt.push(" and d.id = ").push_bind(Uuid::from(id)).optional().await?;
    Ok(row.and_then(|row| own(row, scope)))
}

/// Drivers by licence number, as [`License::key`] writes it: those with a profile in the organization, and those
/// without a lock. Always a single index lookup, so that its duration reveals nothing.
pub async fn search(
    on: On<'_>,
    scope: &OrgScope,
    key: &str,
    country: Option<&str>,
) -> Result<Vec<VisibleDriver>> {
    let stmt = on.sql(columns!()).push(
        "left join driver_profile p on p.driver_id = d.id and p.deleted_at is null and p.organization_id = ",
    );
    let stmt = stmt.push_bind(Uuid::from(scope.organization_id()));
    let stmt = stmt.push(" where d.deleted_at is null and license_key = ").push_bind(key);
    let stmt = match country {
        Some(country) => stmt.push(" and license_country = ").push_bind(country),
        None => stmt,
    };
    let stmt = stmt.push(" and (d.lock_organization_id is null or p.organization_id is not null)");
    let rows: Vec<Row> = stmt.push(" order by license_country limit ").push_bind(MOST_FOUND).all().await?;
    Ok(rows.into_iter().map(|row| seen(row, scope)).collect())
}

/// A page of the drivers with a profile in the organization; `today` is its date.
pub async fn list(
    db: &Db,
    scope: &OrgScope,
    (filter, today): (&Filter, Day),
    sort: &Sort,
    page: PageRequest,
) -> Result<Page<Driver>> {
    let found: Page<Row> = LIST.page(db, |stmt| narrowed(stmt, scope, filter, today), sort, page).await?;
    let items = found.items.into_iter().filter_map(|row| own(row, scope)).collect();
    Ok(Page { items, total: found.total })
}

fn narrowed<'c>(stmt: Stmt<'c>, scope: &OrgScope, filter: &Filter, today: Day) -> Stmt<'c> {
    let mut stmt = owned(stmt, scope, filter.include_deleted);
    stmt = updated_after(stmt, UPDATED, filter.updated_after);
    stmt = one_of_words(stmt, " and status in (", &filter.statuses, DriverStatus::as_str);
    if !filter.license_statuses.is_empty() {
        stmt = stmt.push(" and ").push(KEPT).push(" and (1 = 0");
        stmt = filter
            .license_statuses
            .iter()
            .fold(stmt, |stmt, status| with_license_status(stmt, *status, today));
        stmt = stmt.push(")");
    }
    stmt = match filter.kept {
        Some(true) => stmt.push(" and ").push(KEPT),
        Some(false) => stmt.push(" and not ").push(KEPT),
        None => stmt,
    };
    stmt = match filter.locked {
        // Of a driver whose profile it deleted an organization is not told the lock.
        Some(true) => stmt.push(" and lock_organization_id is not null and p.deleted_at is null"),
        Some(false) => stmt.push(" and (lock_organization_id is null or p.deleted_at is not null)"),
        None => stmt,
    };
    if let Some(assigned) = filter.assigned {
        stmt = stmt.push(if assigned { " and d.id in (" } else { " and d.id not in (" });
        stmt = stmt.push("select driver_id from assignment where ended_at is null and organization_id = ");
        stmt = stmt.push_bind(Uuid::from(scope.organization_id())).push(")");
    }
    match &filter.q {
        Some(q) => found(stmt, q),
        None => stmt,
    }
}

/// Adds the text filter. A licence number is searched only where the organization may see it: otherwise it could be
/// guessed part by part.
fn found<'c>(stmt: Stmt<'c>, q: &str) -> Stmt<'c> {
    let stmt = stmt.push(" and (d.search_key like ").push_bind(anywhere(q));
    let stmt = stmt.push(" escape '\\' or p.search_key like ").push_bind(anywhere(q)).push(" escape '\\'");
    let number = compact(q);
    match number.is_empty() {
        true => stmt.push(")"),
        false => stmt
            .push(" or ")
            .push(KEPT)
            .push(" and license_key like ")
            .push_bind(format!("%{number}%"))
            .push(")"),
    }
}

/// [`License::status`] in SQL.
fn with_license_status(stmt: Stmt<'_>, status: LicenseStatus, today: Day) -> Stmt<'_> {
    let expiring = today.plus_days(EXPIRING_DAYS).to_string();
    let today = today.to_string();
    match status {
        LicenseStatus::Missing => stmt.push(" or license_key is null"),
        LicenseStatus::Expired => stmt.push(" or license_expires_at < ").push_bind(today),
        LicenseStatus::Expiring => {
            let stmt = stmt.push(" or (license_expires_at >= ").push_bind(today);
            stmt.push(" and license_expires_at <= ").push_bind(expiring).push(")")
        }
        LicenseStatus::Valid => stmt
            .push(" or (license_key is not null and (license_expires_at is null or license_expires_at > ")
            .push_bind(expiring)
            .push("))"),
    }
}

/// Locks a driver's row for this transaction, against changes by any organization.
pub async fn hold(on: On<'_>, _: &OrgScope, id: DriverId) -> Result<()> {
    super::hold::hold(on, "driver", id, |stmt| stmt).await
}

/// Locks the rows of all drivers of whom the organization has a profile, like [`hold`].
pub async fn hold_all(on: On<'_>, scope: &OrgScope) -> Result<()> {
    let hold = "update driver set updated_at = updated_at where id in (select driver_id from driver_profile \
        where deleted_at is null and organization_id = $1)";
    on.sql(hold).bind(Uuid::from(scope.organization_id())).run().await?;
    Ok(())
}

/// Writes a new person created by the organization; a taken licence is a conflict.
pub async fn insert(on: On<'_>, scope: &OrgScope, driver: &Driver) -> Result<()> {
    let stmt = on.sql(
        "insert into driver (id, updated_at, first_name, last_name, search_key, date_of_birth, license, \
         license_country, license_key, license_expires_at, created_at, creator_organization_id, \
         lock_organization_id, locked_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $2, $11, $12, $13)",
    );
    with_person(stmt, driver)
        .bind(Uuid::from(scope.organization_id()))
        .bind(driver.lock.organization_id.map(Uuid::from))
        .bind(driver.lock.locked_at.map(Time))
        .run()
        .await?;
    Ok(())
}

/// Writes a person that the organization keeps, except for the lock; a taken licence is a conflict.
pub async fn update(on: On<'_>, scope: &OrgScope, driver: &Driver) -> Result<()> {
    let stmt = on.sql(
        "update driver set updated_at = $2, first_name = $3, last_name = $4, search_key = $5, date_of_birth = $6, \
         license = $7, license_country = $8, license_key = $9, license_expires_at = $10 \
         where id = $1 and coalesce(lock_organization_id, creator_organization_id) = $11",
    );
    with_person(stmt, driver).bind(Uuid::from(scope.organization_id())).run().await?;
    Ok(())
}

fn with_person<'c>(stmt: Stmt<'c>, driver: &Driver) -> Stmt<'c> {
    let person = &driver.attributes.person;
    let license = person.license.as_ref();
    stmt.bind(Uuid::from(driver.id))
        .bind(Time(driver.updated_at))
        .bind(&person.first_name)
        .bind(&person.last_name)
        .bind(person.search_key())
        .bind(person.date_of_birth.map(|day| day.to_string()))
        .bind(license.map(Json))
        .bind(license.map(|license| license.country.clone()))
        .bind(license.map(License::key))
        .bind(license.and_then(|license| license.expires_at).map(|day| day.to_string()))
}

/// Deletes, softly, a person without a profile in any organization, or all such persons who had one in this
/// organization. Their licences may then be entered again.
pub async fn delete_unknown(on: On<'_>, scope: &OrgScope, id: Option<DriverId>, now: Time) -> Result<()> {
    let stmt =
        on.sql("update driver set deleted_at = ").push_bind(now).push(", updated_at = ").push_bind(now);
    let stmt = stmt.push(" where deleted_at is null and not exists (select 1 from driver_profile p ");
    let stmt = stmt.push("where p.driver_id = driver.id and p.deleted_at is null) and id ");
    let stmt = match id {
        Some(id) => stmt.push("= ").push_bind(Uuid::from(id)),
        None => stmt
            .push("in (select driver_id from driver_profile where organization_id = ")
            .push_bind(Uuid::from(scope.organization_id()))
            .push(")"),
    };
    stmt.run().await?;
    Ok(())
}
