//! Organizations.

use sqlx::types::Json;
use uuid::Uuid;
use waypost_actors::model::{OrganizationId, Silence, Timestamp};

use super::filters::{one_of_words, searched, updated_after};
use super::page::{Columns, List};
use super::sql::{Db, On, Result, Stmt};
use super::time::Time;
use crate::auth::scope::{Operator, OrgScope};
use crate::domain::account::email_key;
use crate::domain::organization::{ActivationMethod, Organization, OrganizationIn, OrganizationStatus};
use crate::domain::organization_settings::{Settings, Subscription, Usage};
use crate::domain::paging::{Page, PageRequest, Sort};

/// Filters a list of organizations.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Text to find in name, slug or address.
    pub q: Option<String>,
    /// Of these states; empty = all but deleted.
    pub statuses: Vec<OrganizationStatus>,
    /// Just this one.
    pub only: Option<OrganizationId>,
    /// Changed after this.
    pub updated_after: Option<Timestamp>,
}

/// The keys a list can be sorted by.
pub const SORT_KEYS: Columns =
    &[("name", "name"), ("slug", "slug"), ("createdAt", "created_at"), ("updatedAt", "updated_at")];

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    name: String,
    slug: String,
    contact_email: String,
    contact_phone: Option<String>,
    address: Option<String>,
    #[sqlx(try_from = "String")]
    status: OrganizationStatus,
    founder_email: Option<String>,
    email_verified_at: Option<Time>,
    activated_at: Option<Time>,
    activation_method: Option<String>,
    settings: Json<Settings>,
    subscription: Json<Subscription>,
    created_at: Time,
    updated_at: Time,
}

impl From<Row> for Organization {
    fn from(row: Row) -> Self {
        Self {
            id: row.id.into(),
            status: row.status,
            founder_email: row.founder_email,
            email_verified_at: row.email_verified_at.map(Timestamp::from),
            activated_at: row.activated_at.map(Timestamp::from),
            activation_method: row.activation_method.and_then(|word| ActivationMethod::try_from(word).ok()),
            attributes: OrganizationIn {
                name: row.name,
                slug: row.slug,
                contact_email: row.contact_email,
                contact_phone: row.contact_phone,
                address: row.address,
                settings: row.settings.0,
                subscription: row.subscription.0,
            },
            created_at: row.created_at.into(),
            updated_at: row.updated_at.into(),
        }
    }
}

/// An organization of a list.
#[derive(sqlx::FromRow)]
struct ListedRow {
    #[sqlx(flatten)]
    organization: Row,
    #[sqlx(flatten)]
    usage: UsageRow,
}

#[derive(sqlx::FromRow)]
struct UsageRow {
    vehicles: i64,
    drivers: i64,
    users: i64,
    geofences: i64,
}

impl From<UsageRow> for Usage {
    fn from(UsageRow { vehicles, drivers, users, geofences }: UsageRow) -> Self {
        Self { vehicles, drivers, users, geofences }
    }
}

/// What settings say of silence; nothing, where they are not whole.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredSilence {
    stale_after_seconds: Option<i64>,
    offline_after_seconds: Option<i64>,
}

impl StoredSilence {
    const fn silence(&self) -> Option<Silence> {
        let (Some(stale_after_seconds), Some(offline_after_seconds)) =
            (self.stale_after_seconds, self.offline_after_seconds)
        else {
            return None;
        };
        Some(Silence { stale_after_seconds, offline_after_seconds })
    }
}

/// How much silence counts in each organization of the shard; in this one, if one is named.
pub async fn silences(db: &Db, only: Option<OrganizationId>) -> Result<Vec<(OrganizationId, Silence)>> {
    let stmt = db.read().sql("select id, settings from organization ");
    let stmt = match only {
        Some(id) => stmt.push("where id = ").push_bind(id.0),
        None => stmt.push("where true").and_of_shard(db.shard(), "id"),
    };
    let rows: Vec<(Uuid, Json<StoredSilence>)> = stmt.all().await?;
    let silence = |(id, Json(stored)): (Uuid, Json<StoredSilence>)| Some((id.into(), stored.silence()?));
    Ok(rows.into_iter().filter_map(silence).collect())
}

macro_rules! columns {
    () => {
        "id, name, slug, contact_email, contact_phone, address, status, email_verified_at, activated_at, \
         activation_method, settings, subscription, created_at, updated_at, \
         (select s.email from system_user s where s.founded_organization_id = organization.id \
         and s.organization_id is null and s.deleted_at is null) as founder_email"
    };
}

/// Subselects for the usage of an organization's plan.
macro_rules! usage {
    () => {
        "(select count(*) from vehicle v where v.organization_id = organization.id and v.deleted_at is null) as vehicles, \
         (select count(*) from driver d join driver_profile p on p.driver_id = d.id \
         where p.organization_id = organization.id and p.deleted_at is null \
         and coalesce(d.lock_organization_id, d.creator_organization_id) = organization.id) as drivers, \
         (select count(*) from account a where a.organization_id = organization.id and a.status <> 'disabled') as users, \
         (select count(*) from geofence g where g.organization_id = organization.id and g.deleted_at is null) as geofences"
    };
}

const SELECT: &str = concat!("select ", columns!(), " from organization ");

/// Whether an organization exists, active or not.
pub async fn exists(on: On<'_>, _: Operator, id: OrganizationId) -> Result<bool> {
    on.sql("select exists (select 1 from organization where id = $1 and status <> 'deleted')")
        .bind(Uuid::from(id))
        .scalar()
        .await
}

/// Whether an organization exists or existed.
pub async fn existed(on: On<'_>, _: Operator, id: OrganizationId) -> Result<bool> {
    on.sql("select exists (select 1 from organization where id = $1)").bind(Uuid::from(id)).scalar().await
}

/// The organization of a scope.
pub async fn find(on: On<'_>, scope: &OrgScope) -> Result<Option<Organization>> {
    let row: Option<Row> = on
        .sql(SELECT)
        .push("where status <> 'deleted' and id = ")
        .push_bind(Uuid::from(scope.organization_id()))
        .optional()
        .await?;
    Ok(row.map(Organization::from))
}

/// Locks an organization's row for this transaction.
pub async fn hold(on: On<'_>, scope: &OrgScope) -> Result<()> {
    super::hold::hold(on, "organization", scope.organization_id(), |stmt| stmt).await
}

/// The newest organization with a contact address that awaits its activation: id, name, address.
pub async fn find_pending_by_contact(
    on: On<'_>,
    contact_email: &str,
) -> Result<Option<(Uuid, String, String)>> {
    on.sql(
        "select id, name, contact_email from organization \
         where lower(contact_email) = $1 and status = 'pendingActivation' order by created_at desc limit 1",
    )
    .bind(email_key(contact_email))
    .optional()
    .await
}

const LIST: List = List {
    select: concat!("select ", columns!(), ", ", usage!(), " from organization "),
    count: "select count(*) from organization ",
    columns: SORT_KEYS,
};

/// A page of organizations, each with its usage of the plan: all of them for operators, the caller's own through
/// `filter.only`.
pub async fn list(
    db: &Db,
    filter: &Filter,
    sort: &Sort,
    page: PageRequest,
) -> Result<Page<(Organization, Usage)>> {
    let found: Page<ListedRow> = LIST.page(db, |stmt| narrowed(stmt, filter), sort, page).await?;
    Ok(found.map(|row| (row.organization.into(), row.usage.into())))
}

fn narrowed<'c>(stmt: Stmt<'c>, filter: &Filter) -> Stmt<'c> {
    let stmt = stmt.push("where status <> 'deleted'");
    let mut stmt = updated_after(stmt, " and updated_at", filter.updated_after);
    if let Some(only) = filter.only {
        stmt = stmt.push(" and id = ").push_bind(Uuid::from(only));
    }
    stmt = one_of_words(stmt, " and status in (", &filter.statuses, OrganizationStatus::as_str);
    searched(stmt, filter.q.as_deref())
}

/// Inserts the organization of a scope; a taken slug is a conflict.
pub async fn insert(on: On<'_>, scope: &OrgScope, organization: &Organization) -> Result<()> {
    let attributes = &organization.attributes;
    on.sql(
        "insert into organization (id, name, slug, search_key, contact_email, contact_phone, address, status, \
         settings, subscription, created_at, updated_at) \
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)",
    )
    .bind(Uuid::from(scope.organization_id()))
    .bind(&attributes.name)
    .bind(&attributes.slug)
    .bind(attributes.search_key())
    .bind(&attributes.contact_email)
    .bind(attributes.contact_phone.clone())
    .bind(attributes.address.clone())
    .bind(organization.status.as_str())
    .bind(Json(&attributes.settings))
    .bind(Json(&attributes.subscription))
    .bind(Time(organization.created_at))
    .run()
    .await?;
    Ok(())
}

/// Writes an organization; a taken slug is a conflict.
pub async fn update(on: On<'_>, scope: &OrgScope, organization: &Organization) -> Result<()> {
    let attributes = &organization.attributes;
    on.sql(
        "update organization set name = $2, slug = $3, search_key = $4, contact_email = $5, contact_phone = $6, \
         address = $7, status = $8, settings = $9, subscription = $10, updated_at = $11, activated_at = $12, \
         activation_method = $13, email_verified_at = $14 where id = $1",
    )
    .bind(Uuid::from(scope.organization_id()))
    .bind(&attributes.name)
    .bind(&attributes.slug)
    .bind(attributes.search_key())
    .bind(&attributes.contact_email)
    .bind(attributes.contact_phone.clone())
    .bind(attributes.address.clone())
    .bind(organization.status.as_str())
    .bind(Json(&attributes.settings))
    .bind(Json(&attributes.subscription))
    .bind(Time(organization.updated_at))
    .bind(organization.activated_at.map(Time))
    .bind(organization.activation_method.map(|method| method.as_str()))
    .bind(organization.email_verified_at.map(Time))
    .run()
    .await?;
    Ok(())
}

/// Ends the sessions of an organization's users and system users, for ever.
pub async fn end_sessions(on: On<'_>, scope: &OrgScope, now: Time) -> Result<()> {
    on.sql(
        "update refresh_token set revoked_at = $2 where revoked_at is null \
         and (account_id in (select id from account where organization_id = $1) \
         or system_user_id in (select id from system_user where organization_id = $1))",
    )
    .bind(Uuid::from(scope.organization_id()))
    .bind(now)
    .run()
    .await?;
    Ok(())
}

/// Replaces the slug of a deleted organization, so that another may use it.
pub async fn free_slug(on: On<'_>, scope: &OrgScope) -> Result<()> {
    on.sql("update organization set slug = $2 where id = $1")
        .bind(Uuid::from(scope.organization_id()))
        .bind(format!("deleted-{}", scope.organization_id()))
        .run()
        .await?;
    Ok(())
}

/// Deletes an organization's system users, which frees their addresses.
pub async fn delete_system_users(on: On<'_>, scope: &OrgScope, now: Time) -> Result<()> {
    on.sql(
        "update system_user set status = 'disabled', deleted_at = $2, updated_at = $2 \
         where organization_id = $1 and deleted_at is null",
    )
    .bind(Uuid::from(scope.organization_id()))
    .bind(now)
    .run()
    .await?;
    Ok(())
}

/// An organization's usage of its plan.
pub async fn usage(on: On<'_>, scope: &OrgScope) -> Result<Usage> {
    let row: UsageRow = on
        .sql(concat!("select ", usage!(), " from organization where id = $1"))
        .bind(Uuid::from(scope.organization_id()))
        .one()
        .await?;
    Ok(row.into())
}
