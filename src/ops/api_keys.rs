//! Long-lived keys of system users.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::change::Change;
use super::error::OpError;
use super::etag::IfMatch;
use super::scoped::Scoped;
use crate::auth::{API_KEY_PREFIX, Action, SystemUserScope, secret};
use crate::clock;
use crate::context::Context;
use crate::domain::api_key::{ApiKey, CreateApiKey, MAX_KEYS};
use crate::domain::body::Params;
use crate::domain::paging::{Page, PageRequest, Sort};
use crate::domain::system_user::SystemUser;
use crate::sessions::End;
pub use crate::store::api_key::SORT_KEYS;
use crate::store::{api_key, system_user};

/// A new key with its token.
#[derive(Debug, Serialize, ToSchema)]
pub struct ApiKeyWithToken {
    /// The key.
    #[serde(flatten)]
    pub key: ApiKey,
    /// The credential, shown this once: goes into `Authorization: Bearer …`.
    pub token: String,
}

/// Creates a key of a system user.
pub async fn create_api_key(
    context: &Context,
    by: &Scoped,
    user: Uuid,
    body: Params<CreateApiKey>,
) -> Result<ApiKeyWithToken, OpError> {
    let scope = by.caller.system_users(&context.db, Action::WriteApiKeys, by.organization).await?;
    let (mut change, user) = begin(context, by, &scope, user).await?;
    let new = body.made_if(|members| CreateApiKey::check(members, context.clock.now()))?;
    new.within(&user.attributes.scopes)?;
    let now = change.now();
    if api_key::all(change.on(), &scope, user.id).await?.len() >= MAX_KEYS {
        return Err(OpError::KeyLimit);
    }
    let token = secret::new(API_KEY_PREFIX);
    let key = ApiKey {
        id: clock::new_id(),
        system_user_id: user.id,
        organization_id: user.organization_id,
        name: new.name,
        scopes: new.scopes,
        expires_at: new.expires_at,
        last_used_at: None,
        created_at: now,
        updated_at: now,
    };
    api_key::insert(change.on(), &key, &secret::hash(&token)).await?;
    let recorded = change.created(&key).await?;
    change.commit_created(recorded, ApiKeyWithToken { key, token }).await
}

/// A page of a system user's keys, without their tokens.
pub async fn list_api_keys(
    context: &Context,
    by: &Scoped,
    user: Uuid,
    sort: &Sort,
    page: PageRequest,
) -> Result<Page<ApiKey>, OpError> {
    let scope = by.caller.system_users(&context.db, Action::ReadApiKeys, by.organization).await?;
    let now = context.clock.now().into();
    system_user::find(context.db.read(), &scope, user, now).await?.ok_or(OpError::NotFound)?;
    let Page { items, total } = api_key::list(&context.db, &scope, user, sort, page).await?;
    Ok(Page { items: items.into_iter().map(|key| with_last_use(context, key)).collect(), total })
}

/// Finds a key by its id alone, without its token, as the list of its system user's keys shows it.
pub async fn find_api_key(context: &Context, by: &Scoped, id: Uuid) -> Result<ApiKey, OpError> {
    let scope = by.caller.system_users(&context.db, Action::ReadApiKeys, by.organization).await?;
    let found = api_key::find(context.db.read(), &scope, id).await?.ok_or(OpError::NotFound)?;
    Ok(with_last_use(context, found))
}

/// A key with its last use, which is written only now and then.
fn with_last_use(context: &Context, key: ApiKey) -> ApiKey {
    let last_used_at = context.auth.key_last_used(key.id).or(key.last_used_at);
    ApiKey { last_used_at, ..key }
}

/// Revokes a key, which ends its sockets.
pub async fn delete_api_key(
    context: &Context,
    by: &Scoped,
    (user, id): (Uuid, Uuid),
    if_match: &IfMatch,
) -> Result<(), OpError> {
    let scope = by.caller.system_users(&context.db, Action::RevokeApiKeys, by.organization).await?;
    let (mut change, user) = begin(context, by, &scope, user).await?;
    let keys = api_key::all(change.on(), &scope, user.id).await?;
    let key = keys.into_iter().find(|key| key.id == id).ok_or(OpError::NotFound)?;
    if_match.check(&key.tagged())?;
    api_key::delete(change.on(), &scope, &key).await?;
    let recorded = change.deleted(&key).await?;
    change.tell_sessions(move |sessions| {
        sessions.end_session(id, End::Credential);
        sessions.keys_changed(user.organization_id);
    });
    change.commit(recorded, ()).await
}

/// Begins a change of a system user's keys, with the system user locked.
async fn begin<'a>(
    context: &'a Context,
    by: &'a Scoped,
    scope: &SystemUserScope,
    user: Uuid,
) -> Result<(Change<'a>, SystemUser), OpError> {
    let mut change = Change::within(context, Some(&by.caller), None).await?;
    system_user::hold(change.on(), user).await?;
    let now = change.now();
    let found = system_user::find(change.on(), scope, user, now.into()).await?.ok_or(OpError::NotFound)?;
    Ok((change, found))
}

/// Takes the scopes from a system user's keys that it no longer has.
pub(super) async fn shrink(
    change: &mut Change<'_>,
    scope: &SystemUserScope,
    user: &SystemUser,
) -> Result<(), OpError> {
    let now = change.now();
    for key in api_key::all(change.on(), scope, user.id).await? {
        let scopes = key.scopes.within(&user.attributes.scopes);
        if scopes != key.scopes {
            let smaller = ApiKey { scopes, updated_at: now, ..key.clone() };
            api_key::set_scopes(change.on(), scope, &smaller).await?;
            change.updated(&key, &smaller).await?;
        }
    }
    Ok(())
}

/// Deletes every key of a system user.
pub(super) async fn revoke_all(
    change: &mut Change<'_>,
    scope: &SystemUserScope,
    user: &SystemUser,
) -> Result<(), OpError> {
    for key in api_key::all(change.on(), scope, user.id).await? {
        change.deleted(&key).await?;
    }
    Ok(api_key::delete_all(change.on(), scope, user.id).await?)
}
