//! Holds everything that signing in needs; its operations are in the files beside this one.

use std::sync::Arc;

use parking_lot::RwLock;
use uuid::Uuid;
use waypost_actors::model::{OrganizationId, Timestamp};

use super::access_token::AccessTokens;
use super::api_keys::{ApiKeys, is_key};
use super::cache::Cache;
use super::caller::Caller;
use super::error::AuthError;
use super::keys::{self, MasterKey};
use super::password::Hasher;
use super::permission::Action;
use super::scope::OrgScope;
use super::secret;
use super::signed_cursor::CursorSigner;
use super::ticket::Tickets;
use super::tracker::{TrackerCredential, TrackerRefused, find_hashed, find_in};
use crate::clock::Clock;
use crate::config::Settings;
use crate::domain::organization::OrganizationStatus;
use crate::locks::KeyedLock;
use crate::sessions::Sessions;
use crate::store::sql::{Db, SqlError, Tx};
use crate::store::{api_key, organization};

/// Keys whose last use is stored by one statement.
const USES_TOGETHER: usize = 500;

/// Most trackers kept by token, and most by name, at some 500 bytes each.
const MOST_TRACKERS: usize = 100_000;
/// Most names of trackers kept of all fleets, including names of none, at some 500 bytes each.
const MOST_NAMES: usize = 200_000;

/// What organizations' names stand for: a tracker or none.
pub(super) type TrackerNames = Cache<(OrganizationId, String), Option<Arc<TrackerCredential>>>;

/// The key that failures of an account are counted under, and a client's address.
pub(super) type Attempt = (String, String);

/// Everything that signing in needs.
pub struct Auth {
    pub(super) db: Db,
    pub(super) clock: Clock,
    pub(super) sessions: Sessions,
    pub(super) hasher: Arc<Hasher>,
    /// The accounts, each with a client's address, whose passwords are being checked.
    pub(super) attempts: KeyedLock<Attempt>,
    master: MasterKey,
    /// Replaced as a whole when keys are rotated.
    access_tokens: RwLock<Arc<AccessTokens>>,
    /// Signs the cursors of lists and of the feed.
    pub cursor_signer: CursorSigner,
    /// One-time tickets of the live feed.
    pub tickets: Tickets,
    /// Trackers by the hash of their token.
    by_token: Cache<secret::Hash, Arc<TrackerCredential>>,
    /// Hardware by its organization and its own id.
    by_name: Cache<(OrganizationId, String), Arc<TrackerCredential>>,
    pub(super) api_keys: ApiKeys,
    /// What fleets call their trackers, names of none included.
    pub(super) tracker_names: Arc<TrackerNames>,
}

impl Auth {
    /// The hash of a new password, made on the bounded pool for a client at an address.
    pub async fn hash_password(&self, address: &str, password: String) -> Result<String, AuthError> {
        self.hasher.hash(address, password).await
    }

    /// Loads the signing keys, making the first one at the first start.
    pub async fn start(
        db: Db,
        clock: Clock,
        sessions: Sessions,
        hasher: Arc<Hasher>,
        settings: &Settings,
    ) -> Result<Self, AuthError> {
        let master = MasterKey::of(settings)?;
        let keys = keys::start(&db, &master, clock.now()).await?;
        let access_tokens = AccessTokens::new(&keys).ok_or(SqlError::RowNotFound)?;
        Ok(Self {
            db,
            clock,
            sessions,
            hasher,
            attempts: KeyedLock::default(),
            master,
            access_tokens: RwLock::new(Arc::new(access_tokens)),
            cursor_signer: CursorSigner::new(&keys),
            tickets: Tickets::default(),
            by_token: Cache::of(MOST_TRACKERS),
            by_name: Cache::of(MOST_TRACKERS),
            api_keys: ApiKeys::default(),
            tracker_names: Arc::new(Cache::of(MOST_NAMES)),
        })
    }

    /// The tracker a token belongs to, from memory if it was looked up before; `None` for an unknown or revoked
    /// token.
    pub async fn tracker(&self, token: &str) -> Result<Option<Arc<TrackerCredential>>, TrackerRefused> {
        let hash = secret::hash(token);
        let look_up = async { Ok(find_hashed(&self.db, &hash).await?.map(Arc::new)) };
        self.by_token.look_up(&self.sessions, hash.clone(), whose, look_up).await
    }

    /// The tracker of an organization that a device names by its own id, at that organization's listener, if it may
    /// report; from memory if it was looked up before. One that is disabled, one of another organization and none at
    /// all cannot be told from each other.
    pub async fn device(
        &self,
        organization: OrganizationId,
        unique_id: &str,
    ) -> Result<Option<Arc<TrackerCredential>>, AuthError> {
        let key = (organization, unique_id.to_owned());
        let scope = OrgScope::new(organization);
        let look_up = async { Ok(find_in(&self.db, scope, unique_id).await?.map(Arc::new)) };
        self.by_name.look_up(&self.sessions, key, whose, look_up).await
    }

    /// As [`Auth::device`], but only from memory.
    #[must_use]
    pub fn known_device(
        &self,
        organization: OrganizationId,
        unique_id: &str,
    ) -> Option<Arc<TrackerCredential>> {
        self.by_name.known(&(organization, unique_id.to_owned()))
    }

    /// Whether a device was a tracker of an organization when it was last looked up.
    #[must_use]
    pub fn recalls_device(&self, organization: OrganizationId, unique_id: &str) -> bool {
        self.by_name.recalls(&(organization, unique_id.to_owned()))
    }

    /// Whether a token is good, or was, as far as can be told without the store: an access token that we signed, or the token of
    /// a tracker or a key that was found before. Nobody can make one up.
    #[must_use]
    pub fn recalls(&self, token: &str) -> bool {
        if is_key(token) {
            return self.api_keys.recalls(token);
        }
        self.access_tokens().check(token, self.clock.now()).is_some()
            || self.by_token.recalls(&secret::hash(token))
    }

    /// The caller of a request that reports positions, by an access token or a key; a key is found in memory if it
    /// reported before.
    pub async fn reporter(&self, token: &str) -> Result<Caller, AuthError> {
        if !is_key(token) {
            return self.caller(token).await;
        }
        let now = self.clock.now();
        let caller = self.api_keys.find(&self.db, &self.sessions, token, now).await?;
        self.api_keys.note_use(&caller, now);
        Ok(caller)
    }

    /// The organization that a key reports for which is sent where others may see it: in a path, a query or a
    /// password. So it must be a key that can do nothing but report; every other token is refused.
    pub async fn device_key(&self, token: &str) -> Result<(Caller, OrgScope), AuthError> {
        let caller =
            if is_key(token) { self.reporter(token).await? } else { return Err(AuthError::NotInPublic) };
        if !caller.only_reports() {
            return Err(AuthError::NotInPublic);
        }
        let scope = caller.scope(&self.db, Action::IngestPositions, None).await?;
        Ok((caller, scope))
    }

    /// The state of an organization that a listener or a broker's connection is set for; `None` if there is none.
    pub async fn organization_status(
        &self,
        id: OrganizationId,
    ) -> Result<Option<OrganizationStatus>, SqlError> {
        let found = organization::find(self.db.read(), &OrgScope::new(id)).await?;
        Ok(found.map(|organization| organization.status))
    }

    /// When a key was last accepted, if that is not stored yet.
    #[must_use]
    pub fn key_last_used(&self, id: Uuid) -> Option<Timestamp> {
        self.api_keys.last_used(id)
    }

    /// Stores when keys were last accepted. After an error that is lost.
    pub async fn store_key_uses(&self) -> Result<(), SqlError> {
        for uses in self.api_keys.take_uses().chunks(USES_TOGETHER) {
            api_key::note_uses(self.db.write(), uses).await?;
        }
        Ok(())
    }

    /// Reloads the keys from the store. After an error the current ones stay in use.
    pub async fn renew_keys(&self) -> Result<(), AuthError> {
        let keys = keys::load(&self.db, &self.master).await?;
        let access_tokens = AccessTokens::new(&keys).ok_or(SqlError::RowNotFound)?;
        *self.access_tokens.write() = Arc::new(access_tokens);
        self.cursor_signer.renew(&keys);
        Ok(())
    }

    /// Commits, then ends open sockets, even if the caller is gone by then.
    pub(super) async fn commit_and_end(
        &self,
        tx: Tx,
        end: impl FnOnce(&Sessions) + Send + 'static,
    ) -> Result<(), SqlError> {
        let sessions = self.sessions.clone();
        let committed = tokio::spawn(async move { tx.commit().await.map(|()| end(&sessions)) });
        committed.await.unwrap_or(Err(SqlError::WorkerCrashed))
    }

    pub(super) fn access_tokens(&self) -> Arc<AccessTokens> {
        Arc::clone(&self.access_tokens.read())
    }
}

/// The organization whose changes a tracker is subject to.
fn whose(tracker: &Arc<TrackerCredential>) -> Option<OrganizationId> {
    Some(tracker.organization_id)
}
