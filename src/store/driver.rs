//! Drivers, as far as an organization may see them.
//!
//! A driver belongs to no organization. Its keeper is who holds its lock, or its creator while nobody does.
//! Every read says in its condition whom it is for: the keeper (`KEPT`), those who may know that the
//! driver is there (`KNOWN`), or whoever holds the licence in hand (`FINDABLE`). What is not the keeper's
//! leaves this file as a [`Seen::Masked`].

use sqlx::types::Json;
use uuid::Uuid;
use waypost_actors::model::{DriverId, OrganizationId, Timestamp};

use super::page::{Columns, List};
use super::sql::{Db, On, Result, Stmt};
use super::time::Time;
use crate::auth::scope::OrgScope;
use crate::domain::day::Day;
use crate::domain::driver::{Document, Driver, DriverIn, DriverStatus, Lock, Seen};
use crate::domain::fold::anywhere;
use crate::domain::license::{EXPIRING_DAYS, License, LicenseStatus};
use crate::domain::paging::{Page, PageRequest, Sort};

/// Licences of one number, one for each country that has it, at most.
const MOST_FOUND: i64 = 200;

/// Which drivers.
#[derive(Clone, Debug)]
pub struct Filter {
    /// Text to find in names, address, phone, code or licence number.
    pub q: Option<String>,
    /// Of these states.
    pub statuses: Vec<DriverStatus>,
    /// With licences that stand so.
    pub license_statuses: Vec<LicenseStatus>,
    /// The organization's date, for `license_statuses`.
    pub today: Day,
    /// Locked or not.
    pub locked: Option<bool>,
    /// Driving something now, or nothing.
    pub assigned: Option<bool>,
}

/// What a list can be sorted by.
pub const SORT_KEYS: Columns = &[
    ("lastName", "last_name"),
    ("firstName", "first_name"),
    ("status", "status"),
    // Without an end is later than any.
    ("licenseExpiresAt", "coalesce(license_expires_at, 'never')"),
    ("createdAt", "created_at"),
    ("updatedAt", "updated_at"),
];

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    creator_organization_id: Uuid,
    lock_organization_id: Option<Uuid>,
    locked_at: Option<Time>,
    lock_reason: Option<String>,
    first_name: String,
    last_name: String,
    email: Option<String>,
    phone: Option<String>,
    employee_code: Option<String>,
    date_of_birth: Option<String>,
    license: Option<Json<License>>,
    documents: Json<Vec<Document>>,
    #[sqlx(try_from = "String")]
    status: DriverStatus,
    created_at: Time,
    updated_at: Time,
}

impl From<Row> for Driver {
    fn from(row: Row) -> Self {
        Self {
            id: row.id.into(),
            said: DriverIn {
                first_name: row.first_name,
                last_name: row.last_name,
                email: row.email,
                phone: row.phone,
                employee_code: row.employee_code,
                date_of_birth: row.date_of_birth.as_deref().and_then(Day::parse),
                license: row.license.map(|license| license.0),
                documents: row.documents.0,
                status: row.status,
            },
            lock: Lock {
                locked: row.lock_organization_id.is_some(),
                organization_id: row.lock_organization_id.map(OrganizationId),
                locked_at: row.locked_at.map(Timestamp::from),
                reason: row.lock_reason,
            },
            created_at: row.created_at.into(),
            updated_at: row.updated_at.into(),
        }
    }
}

/// The only way from a row to somebody.
fn seen(row: Row, scope: &OrgScope) -> Seen {
    let keeper = row.lock_organization_id.unwrap_or(row.creator_organization_id);
    let driver = Driver::from(row);
    if keeper == Uuid::from(scope.organization_id()) {
        Seen::Whole(Box::new(driver))
    } else {
        Seen::Masked(driver.stub())
    }
}

const SELECT: &str = "select id, creator_organization_id, lock_organization_id, locked_at, lock_reason, first_name, \
     last_name, email, phone, employee_code, date_of_birth, license, documents, status, created_at, updated_at \
     from driver ";

/// `KEPT` and the scope: who reads, edits, lists and deletes.
const KEPT: &str = "where deleted_at is null and coalesce(lock_organization_id, creator_organization_id) = ";

/// Adds those whom the organization keeps, and those it made whom another holds: `KNOWN`.
fn known<'c>(stmt: Stmt<'c>, scope: &OrgScope) -> Stmt<'c> {
    let organization = Uuid::from(scope.organization_id());
    stmt.push("where deleted_at is null and (lock_organization_id = ")
        .push_bind(organization)
        .push(" or creator_organization_id = ")
        .push_bind(organization)
        .push(")")
}

/// A driver whom the organization keeps, or made.
pub async fn find(on: On<'_>, scope: &OrgScope, id: DriverId) -> Result<Option<Seen>> {
    let row: Option<Row> =
        known(on.sql(SELECT), scope).push(" and id = ").push_bind(Uuid::from(id)).optional().await?;
    Ok(row.map(|row| seen(row, scope)))
}

/// Drivers by licence number, as [`License::key`] writes it: those known, and those whom nobody
/// holds. One look at an index, whatever there is: its time tells nothing.
pub async fn search(on: On<'_>, scope: &OrgScope, key: &str, country: Option<&str>) -> Result<Vec<Seen>> {
    let organization = Uuid::from(scope.organization_id());
    let stmt = on.sql(SELECT).push("where deleted_at is null and license_key = ").push_bind(key);
    let stmt = match country {
        Some(country) => stmt.push(" and license_country = ").push_bind(country),
        None => stmt,
    };
    let stmt =
        stmt.push(" and (lock_organization_id is null or lock_organization_id = ").push_bind(organization);
    let stmt = stmt.push(" or creator_organization_id = ").push_bind(organization);
    let rows: Vec<Row> = stmt.push(") order by license_country limit ").push_bind(MOST_FOUND).all().await?;
    Ok(rows.into_iter().map(|row| seen(row, scope)).collect())
}

const LIST: List = List { select: SELECT, count: "select count(*) from driver ", columns: SORT_KEYS };

/// A page of the drivers whom the organization keeps.
pub async fn list(
    db: &Db,
    scope: &OrgScope,
    filter: &Filter,
    sort: &Sort,
    page: PageRequest,
) -> Result<Page<Driver>> {
    let found: Page<Row> = LIST.page(db, |stmt| narrowed(stmt, scope, filter), sort, page).await?;
    Ok(found.map(Driver::from))
}

fn narrowed<'c>(stmt: Stmt<'c>, scope: &OrgScope, filter: &Filter) -> Stmt<'c> {
    let mut stmt = stmt.push(KEPT).push_bind(Uuid::from(scope.organization_id()));
    if !filter.statuses.is_empty() {
        stmt = stmt.push(" and status in (");
        stmt = stmt.push_each(&filter.statuses, |stmt, status| stmt.push_bind(status.as_str())).push(")");
    }
    if !filter.license_statuses.is_empty() {
        stmt = stmt.push(" and (1 = 0");
        stmt =
            filter.license_statuses.iter().fold(stmt, |stmt, status| standing(stmt, *status, filter.today));
        stmt = stmt.push(")");
    }
    stmt = match filter.locked {
        Some(true) => stmt.push(" and lock_organization_id is not null"),
        Some(false) => stmt.push(" and lock_organization_id is null"),
        None => stmt,
    };
    stmt = match filter.assigned {
        Some(true) => stmt.push(" and id in (select driver_id from assignment where ended_at is null)"),
        Some(false) => stmt.push(" and id not in (select driver_id from assignment where ended_at is null)"),
        None => stmt,
    };
    match &filter.q {
        Some(q) => stmt.push(" and search_key like ").push_bind(anywhere(q)).push(" escape '\\'"),
        None => stmt,
    }
}

/// What [`License::status`] says, in SQL.
fn standing(stmt: Stmt<'_>, status: LicenseStatus, today: Day) -> Stmt<'_> {
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

/// Makes others that want to change the driver, whichever organization's, wait for this transaction.
pub async fn hold(on: On<'_>, _: &OrgScope, id: DriverId) -> Result<()> {
    super::hold::hold(on, "driver", id, |stmt| stmt).await
}

/// Who holds a driver, and whether another organization than the scope's has given it a vehicle.
/// For locking, which is the one thing strangers may do.
pub async fn hold_state(
    on: On<'_>,
    scope: &OrgScope,
    id: DriverId,
) -> Result<Option<(Option<OrganizationId>, bool)>> {
    let row: Option<(Option<Uuid>, bool)> = on
        .sql(
            "select lock_organization_id, exists (select 1 from assignment where driver_id = $1 \
             and ended_at is null and organization_id <> $2) as elsewhere \
             from driver where id = $1 and deleted_at is null",
        )
        .bind(Uuid::from(id))
        .bind(Uuid::from(scope.organization_id()))
        .optional()
        .await?;
    Ok(row.map(|(holder, elsewhere)| (holder.map(OrganizationId), elsewhere)))
}

/// Gives a driver whom nobody holds to the organization; `false` when somebody does.
pub async fn lock(
    on: On<'_>,
    scope: &OrgScope,
    id: DriverId,
    reason: Option<&str>,
    now: Time,
) -> Result<bool> {
    let locked = on
        .sql(
            "update driver set lock_organization_id = $1, locked_at = $3, lock_reason = $4, updated_at = $3 \
             where id = $2 and lock_organization_id is null and deleted_at is null",
        )
        .bind(Uuid::from(scope.organization_id()))
        .bind(Uuid::from(id))
        .bind(now)
        .bind(reason.map(str::to_owned))
        .run()
        .await?;
    Ok(locked > 0)
}

/// Gives a driver whom the organization holds free.
pub async fn unlock(on: On<'_>, scope: &OrgScope, id: DriverId, now: Time) -> Result<()> {
    on.sql(
        "update driver set lock_organization_id = null, locked_at = null, lock_reason = null, updated_at = $3 \
         where id = $2 and lock_organization_id = $1",
    )
    .bind(Uuid::from(scope.organization_id()))
    .bind(Uuid::from(id))
    .bind(now)
    .run()
    .await?;
    Ok(())
}

/// Gives every driver whom the organization holds free.
pub async fn unlock_all(on: On<'_>, scope: &OrgScope, now: Time) -> Result<()> {
    on.sql(
        "update driver set lock_organization_id = null, locked_at = null, lock_reason = null, updated_at = $2 \
         where lock_organization_id = $1",
    )
    .bind(Uuid::from(scope.organization_id()))
    .bind(now)
    .run()
    .await?;
    Ok(())
}

/// Makes a driver whom the organization keeps; a taken licence is a conflict.
pub async fn insert(on: On<'_>, scope: &OrgScope, driver: &Driver) -> Result<()> {
    let stmt = on.sql(
        "insert into driver (creator_organization_id, id, first_name, last_name, search_key, email, phone, \
         employee_code, date_of_birth, license, license_country, license_key, license_expires_at, documents, \
         status, updated_at, created_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $16)",
    );
    with_members(stmt, scope, driver).run().await?;
    Ok(())
}

/// Writes a driver whom the organization keeps as it is now, but for its lock; a taken licence is
/// a conflict.
pub async fn update(on: On<'_>, scope: &OrgScope, driver: &Driver) -> Result<()> {
    let stmt = on.sql(
        "update driver set first_name = $3, last_name = $4, search_key = $5, email = $6, phone = $7, \
         employee_code = $8, date_of_birth = $9, license = $10, license_country = $11, license_key = $12, \
         license_expires_at = $13, documents = $14, status = $15, updated_at = $16 \
         where coalesce(lock_organization_id, creator_organization_id) = $1 and id = $2",
    );
    with_members(stmt, scope, driver).run().await?;
    Ok(())
}

fn with_members<'c>(stmt: Stmt<'c>, scope: &OrgScope, driver: &Driver) -> Stmt<'c> {
    let said = &driver.said;
    let license = said.license.as_ref();
    stmt.bind(Uuid::from(scope.organization_id()))
        .bind(Uuid::from(driver.id))
        .bind(&said.first_name)
        .bind(&said.last_name)
        .bind(said.search_key())
        .bind(said.email.clone())
        .bind(said.phone.clone())
        .bind(said.employee_code.clone())
        .bind(said.date_of_birth.map(|day| day.to_string()))
        .bind(license.map(Json))
        .bind(license.map(|license| license.country.clone()))
        .bind(license.map(License::key))
        .bind(license.and_then(|license| license.expires_at).map(|day| day.to_string()))
        .bind(Json(&said.documents))
        .bind(said.status.as_str())
        .bind(Time(driver.updated_at))
}

/// Deletes a driver whom the organization keeps, softly; nobody holds it any more.
pub async fn delete(on: On<'_>, scope: &OrgScope, id: DriverId, now: Time) -> Result<()> {
    on.sql(
        "update driver set deleted_at = $3, updated_at = $3, lock_organization_id = null, locked_at = null, \
         lock_reason = null where coalesce(lock_organization_id, creator_organization_id) = $1 and id = $2",
    )
    .bind(Uuid::from(scope.organization_id()))
    .bind(Uuid::from(id))
    .bind(now)
    .run()
    .await?;
    Ok(())
}
