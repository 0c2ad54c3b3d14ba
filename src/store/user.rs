//! Users, as they are listed and changed. Signing in reads them through `account`.

use uuid::Uuid;
use waypost_actors::model::Timestamp;

use super::account::{self, NewAccount};
use super::filters::{one_of_words, searched, updated_after};
use super::page::{Columns, paged};
use super::sign_in_attempt::{ALL_FAILURES, FAILURES};
use super::sql::{Db, On, Result, Stmt, Tx};
use super::time::Time;
use crate::auth::scope::{AccountScope, Operator, OrgScope};
use crate::domain::account::{AccountStatus, Role, email_key};
use crate::domain::paging::{Page, PageRequest, Sort};
use crate::domain::user::{User, UserIn};

/// Filters a list of users.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Text to find in names or address.
    pub q: Option<String>,
    /// With these roles.
    pub roles: Vec<Role>,
    /// Of these states.
    pub statuses: Vec<AccountStatus>,
    /// Changed after this.
    pub updated_after: Option<Timestamp>,
}

/// The keys a list can be sorted by.
pub const SORT_KEYS: Columns = &[
    ("lastName", "last_name"),
    ("firstName", "first_name"),
    ("email", "email"),
    ("createdAt", "created_at"),
    ("updatedAt", "updated_at"),
];

#[derive(sqlx::FromRow)]
struct Row {
    id: Uuid,
    organization_id: Option<Uuid>,
    email: String,
    first_name: String,
    last_name: String,
    phone: Option<String>,
    #[sqlx(try_from = "String")]
    role: Role,
    #[sqlx(try_from = "String")]
    status: AccountStatus,
    locale: Option<String>,
    timezone: Option<String>,
    pending_email: Option<String>,
    last_login_at: Option<Time>,
    created_at: Time,
    updated_at: Time,
}

impl From<Row> for User {
    fn from(row: Row) -> Self {
        Self {
            id: row.id,
            organization_id: row.organization_id.map(Into::into),
            attributes: UserIn {
                email: row.email,
                first_name: row.first_name,
                last_name: row.last_name,
                phone: row.phone,
                role: row.role,
                locale: row.locale,
                timezone: row.timezone,
            },
            status: row.status,
            pending_email: row.pending_email,
            last_login_at: row.last_login_at.map(Timestamp::from),
            created_at: row.created_at.into(),
            updated_at: row.updated_at.into(),
        }
    }
}

const COLUMNS: &str = "id, organization_id, email, first_name, last_name, phone, role, status, locale, \
     timezone, pending_email, last_login_at, created_at, updated_at";

/// The users of a scope with their status at an instant; whether one is locked follows from failed sign-ins.
fn select_with_status<'c>(on: On<'c>, select: &'static str, scope: &AccountScope, now: Time) -> Stmt<'c> {
    let stmt = on
        .sql("select ")
        .push(select)
        .push(
            " from (select a.id, a.organization_id, a.email, a.first_name, a.last_name, a.phone, a.role, \
             a.locale, a.timezone, a.pending_email, a.last_login_at, a.created_at, a.updated_at, a.search_key, \
             case when a.status = 'active' and exists (select 1 from login_attempt l \
             where l.email_key = a.email_key and l.failures >= case when l.address = '' then ",
        )
        .push_bind(ALL_FAILURES)
        .push(" else ")
        .push_bind(FAILURES)
        .push(" end and l.window_ends_at > ")
        .push_bind(now)
        .push(") then 'locked' else a.status end as status from account a) person where ");
    within(stmt, scope)
}

fn within<'c>(stmt: Stmt<'c>, scope: &AccountScope) -> Stmt<'c> {
    match scope {
        AccountScope::Organization(scope) => {
            stmt.push("organization_id = ").push_bind(Uuid::from(scope.organization_id()))
        }
        AccountScope::Operators(_) => stmt.push("organization_id is null"),
        AccountScope::Oneself(id) => stmt.push("id = ").push_bind(*id),
    }
}

/// A user.
pub async fn find(on: On<'_>, scope: &AccountScope, id: Uuid, now: Time) -> Result<Option<User>> {
    let row: Option<Row> =
        select_with_status(on, COLUMNS, scope, now).push(" and id = ").push_bind(id).optional().await?;
    Ok(row.map(User::from))
}

/// Locks a user's row for this transaction.
pub async fn hold(on: On<'_>, scope: &AccountScope, id: Uuid) -> Result<()> {
    super::hold::hold(on, "account", id, |stmt| within(stmt.push(" and "), scope)).await
}

/// A page of users.
pub async fn list(
    db: &Db,
    scope: &AccountScope,
    filter: &Filter,
    sort: &Sort,
    page: PageRequest,
    now: Time,
) -> Result<Page<User>> {
    let rows = narrowed(select_with_status(db.read(), COLUMNS, scope, now), filter);
    let rows: Vec<Row> = paged(rows, SORT_KEYS, sort, page).all().await?;
    let total = narrowed(select_with_status(db.read(), "count(*)", scope, now), filter).scalar().await?;
    Ok(Page { items: rows.into_iter().map(User::from).collect(), total })
}

fn narrowed<'c>(stmt: Stmt<'c>, filter: &Filter) -> Stmt<'c> {
    let mut stmt = updated_after(stmt, " and updated_at", filter.updated_after);
    stmt = one_of_words(stmt, " and role in (", &filter.roles, Role::as_str);
    stmt = one_of_words(stmt, " and status in (", &filter.statuses, AccountStatus::as_str);
    searched(stmt, filter.q.as_deref())
}

/// The organization of a user, for an operator, who may look up any: `Some(None)` is a platform operator.
pub async fn organization_of(on: On<'_>, _: Operator, id: Uuid) -> Result<Option<Option<Uuid>>> {
    let row: Option<(Option<Uuid>,)> =
        on.sql("select organization_id from account where id = $1").bind(id).optional().await?;
    Ok(row.map(|(organization,)| organization))
}

/// Whether an account has a password.
pub async fn has_password(on: On<'_>, _: &AccountScope, id: Uuid) -> Result<bool> {
    on.sql("select exists (select 1 from account where id = $1 and password_hash is not null)")
        .bind(id)
        .scalar()
        .await
}

/// How many users of a role there are besides one: active ones, and with `or_invited` also invited ones.
pub async fn count_others(
    on: On<'_>,
    scope: &AccountScope,
    role: Role,
    besides: Uuid,
    or_invited: bool,
) -> Result<i64> {
    let stmt = on.sql("select count(*) from account where ");
    within(stmt, scope)
        .push(" and id <> ")
        .push_bind(besides)
        .push(" and role = ")
        .push_bind(role.as_str())
        .push(" and (status = 'active' or status = 'invited' and ")
        .push_bind(or_invited)
        .push(")")
        .scalar()
        .await
}

/// The users of an organization who await their invitation.
pub async fn invited(on: On<'_>, scope: &OrgScope, now: Time) -> Result<Vec<User>> {
    let scope = AccountScope::Organization(*scope);
    let rows: Vec<Row> = select_with_status(on, COLUMNS, &scope, now)
        .push(" and status = 'invited' order by created_at, id")
        .all()
        .await?;
    Ok(rows.into_iter().map(User::from).collect())
}

/// Inserts a user, without a password; a taken address is a conflict.
pub async fn insert(tx: &mut Tx, scope: &AccountScope, user: &User) -> Result<()> {
    let account = NewAccount {
        id: user.id,
        organization_id: user.organization_id,
        email: user.attributes.email.clone(),
        first_name: user.attributes.first_name.clone(),
        last_name: user.attributes.last_name.clone(),
        role: user.attributes.role,
        status: user.status,
        password_hash: None,
        created_at: user.created_at.into(),
    };
    account::insert(tx.on(), &account).await?;
    update(tx.on(), scope, user).await
}

/// Writes a user; a taken address is a conflict.
pub async fn update(on: On<'_>, scope: &AccountScope, user: &User) -> Result<()> {
    let attributes = &user.attributes;
    // Being locked is not a status of the account itself.
    let status = if user.status == AccountStatus::Locked { AccountStatus::Active } else { user.status };
    let stmt = on
        .sql(
            "update account set email = $2, email_key = $3, first_name = $4, last_name = $5, phone = $6, \
             role = $7, status = $8, locale = $9, timezone = $10, search_key = $11, updated_at = $12, pending_email = $13 \
             where id = $1 and ",
        )
        .bind(user.id)
        .bind(&attributes.email)
        .bind(email_key(&attributes.email))
        .bind(&attributes.first_name)
        .bind(&attributes.last_name)
        .bind(attributes.phone.clone())
        .bind(attributes.role.as_str())
        .bind(status.as_str())
        .bind(attributes.locale.clone())
        .bind(attributes.timezone.clone())
        .bind(attributes.search_key())
        .bind(Time(user.updated_at))
        .bind(user.pending_email.clone());
    within(stmt, scope).run().await?;
    Ok(())
}

/// Removes the addresses of a deleted organization's users, so that people may use them again. The users remain for
/// the record, and cannot sign in.
pub async fn retire_all(on: On<'_>, scope: &OrgScope, now: Time) -> Result<()> {
    on.sql(
        "update account set status = 'disabled', password_hash = null, updated_at = $2, \
         email_key = 'retired ' || $3 || ' ' || email_key where organization_id = $1",
    )
    .bind(Uuid::from(scope.organization_id()))
    .bind(now)
    .bind(scope.organization_id().to_string())
    .run()
    .await?;
    Ok(())
}
