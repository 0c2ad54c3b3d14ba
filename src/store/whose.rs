//! Which organization a credential or a link is of.
//!
//! Takes no scope: it tells nothing else, not even whether a credential is still good, and only nodes ask it.

use uuid::Uuid;
use waypost_actors::model::OrganizationId;

use super::session::HolderId;
use super::sql::{Db, Result};

/// Where something's organization stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A tracker, by its token's hash.
    Tracker,
    /// A system user, by the hash of one of its keys.
    Key,
    /// A link to vehicles, by its token's hash.
    Share,
    /// A letter's link, by its token's hash.
    Link,
    /// A session, by the hash of a refresh token.
    Session,
}

const TRACKER: &str = "select organization_id from tracker where token_hash = $1";
const KEY: &str = "select s.organization_id from api_key k join system_user s on s.id = k.system_user_id \
    where k.token_hash = $1";
const SHARE: &str = "select organization_id from share where token_hash = $1";
/// What a link is about is a person, a system user or an organization.
const LINK: &str = "select coalesce(a.organization_id, s.organization_id, o.id) \
    as organization_id from one_time_token t left join account a on a.id = t.subject_id \
    left join system_user s on s.id = t.subject_id left join organization o on o.id = t.subject_id \
    where t.token_hash = $1";
const SESSION: &str = "select coalesce(a.organization_id, s.organization_id) as organization_id from refresh_token r \
    left join account a on a.id = r.account_id left join system_user s on s.id = r.system_user_id \
    where r.token_hash = $1";
const ACCOUNT: &str = "select organization_id from account where id = $1";
const SYSTEM_USER: &str = "select organization_id from system_user where id = $1";

/// What was found: `None` if there is no such thing, `Some(None)` if it is of no organization.
pub type Found = Option<Option<OrganizationId>>;

/// The organization of what a secret with this hash is for.
pub async fn of_secret(db: &Db, kind: Kind, hash: &[u8]) -> Result<Found> {
    let on = db.read();
    let stmt = match kind {
        Kind::Tracker => on.sql(TRACKER),
        Kind::Key => on.sql(KEY),
        Kind::Share => on.sql(SHARE),
        Kind::Link => on.sql(LINK),
        Kind::Session => on.sql(SESSION),
    };
    Ok(found(stmt.bind(hash).optional().await?))
}

/// The organization of a person or a system user.
pub async fn of_holder(db: &Db, holder: HolderId) -> Result<Found> {
    let stmt = match holder {
        HolderId::Account(id) => db.read().sql(ACCOUNT).bind(id),
        HolderId::System(id) => db.read().sql(SYSTEM_USER).bind(id),
    };
    Ok(found(stmt.optional().await?))
}

fn found(row: Option<(Option<Uuid>,)>) -> Found {
    row.map(|(id,)| id.map(OrganizationId))
}
