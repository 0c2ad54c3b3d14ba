//! Redeems the links of our letters: verifies an address, accepts an invitation, sets a new password.

use super::entry::{Peer, entry};
use super::error::AuthError;
use super::holder::Holder;
use super::link::{self, LinkStatus, Purpose, Redeemed};
use super::service::Auth;
use super::session::{SignInKind, SignedIn};
use crate::domain::account::AccountStatus;
use crate::domain::audit::{AuditAction, AuditEntry};
use crate::domain::system_user::SystemUserStatus;
use crate::sessions::End;
use crate::store::session::{self, HolderId};
use crate::store::sql::{Tx, is_conflict};
use crate::store::{account, audit, change_log, sign_in_attempt, stale_sign_up, system_user};
use serde_json::json;
use uuid::Uuid;
use waypost_actors::model::Timestamp;

/// The links that set a new password.
const RESETS: [Purpose; 2] = [Purpose::ResetPassword, Purpose::ResetSystemPassword];

impl Auth {
    /// The status of a letter's link, without using it. A link that sets a new password may be asked for as
    /// [`Purpose::ResetPassword`], whether it is a person's or a system user's.
    pub async fn link_status(&self, token: &str, purpose: Purpose) -> Result<LinkStatus, AuthError> {
        let purpose = reset_kind(token, purpose);
        Ok(link::look(&self.db, token, purpose, self.clock.now()).await?)
    }

    /// Verifies the address of a system user. A link that did so before gets the same answer again. Of several sign-ups with one
    /// address, the one whose link is opened first has it.
    pub async fn verify_system_user(
        &self,
        token: &str,
        request_id: Option<String>,
    ) -> Result<Redeemed, AuthError> {
        let now = self.clock.now();
        let (mut tx, redeemed) = self.redeem(token, Purpose::VerifySystemUser, now).await?;
        if let Redeemed::Now(id) = redeemed {
            let holder = match Holder::find(tx.on(), HolderId::System(id)).await? {
                Some(holder) => holder,
                None => restore(&mut tx, id, request_id.clone(), now).await?,
            };
            system_user::verify(tx.on(), id, now.into()).await?;
            let (before, after) = (SystemUserStatus::PendingVerification, SystemUserStatus::Active);
            // One that was disabled meanwhile stays disabled.
            let (before, after) = match holder.is_unverified() {
                true => (json!({ "status": before }), json!({ "status": after, "emailVerifiedAt": now })),
                false => (json!({}), json!({ "emailVerifiedAt": now })),
            };
            let entry = AuditEntry {
                before: Some(before),
                after: Some(after),
                ..entry(AuditAction::VerifyEmail, &holder, request_id, now)
            };
            keep(&mut tx, &entry).await?;
        }
        tx.commit().await?;
        Ok(redeemed)
    }

    /// Accepts an invitation with the password its reader chose, and signs them in.
    pub async fn accept_invite(
        &self,
        token: &str,
        password: String,
        peer: &Peer,
    ) -> Result<SignedIn, AuthError> {
        let (mut tx, holder, _) = self.accept(token, password, peer).await?;
        let signed_in = self.open_session(&mut tx, holder, self.clock.now()).await?;
        let signed_in = signed_in.ok_or(AuthError::LinkExpired)?;
        tx.commit().await?;
        Ok(signed_in)
    }

    /// As [`accept_invite`](Self::accept_invite), but gives a token that signs them in once, for the page to go on with.
    pub async fn accept_invite_by_link(
        &self,
        token: &str,
        password: String,
        peer: &Peer,
    ) -> Result<String, AuthError> {
        let (mut tx, _, account) = self.accept(token, password, peer).await?;
        let link = link::issue(&mut tx, Purpose::SignIn, account, self.clock.now()).await?;
        tx.commit().await?;
        Ok(link)
    }

    /// What accepting writes, in a transaction to be committed; and who accepted.
    async fn accept(
        &self,
        token: &str,
        password: String,
        peer: &Peer,
    ) -> Result<(Tx, Holder, Uuid), AuthError> {
        self.require_good(token, Purpose::Invite).await?;
        let hash = self.hasher.hash(&peer.address, password).await?;
        let now = self.clock.now();
        let (mut tx, redeemed) = self.redeem(token, Purpose::Invite, now).await?;
        let Redeemed::Now(id) = redeemed else { return Err(AuthError::LinkUsed) };
        let invited = account::find(tx.on(), id).await?;
        let invited = invited.filter(|account| account.status == AccountStatus::Invited);
        Holder::Account(invited.ok_or(AuthError::LinkExpired)?).require_active_organization()?;
        account::set_password(tx.on(), id, &hash, now.into()).await?;
        let holder = Holder::find(tx.on(), HolderId::Account(id)).await?.ok_or(AuthError::NotFound)?;
        let entry = AuditEntry {
            before: Some(json!({ "status": AccountStatus::Invited })),
            after: Some(json!({ "status": AccountStatus::Active })),
            ..entry(AuditAction::AcceptInvite, &holder, peer.request_id.clone(), now)
        };
        keep(&mut tx, &entry).await?;
        let key = SignInKind::Account.attempts_key(holder.email());
        sign_in_attempt::succeeded(&mut tx, &key, &peer.address, now.into()).await?;
        Ok((tx, holder, id))
    }

    /// Sets a new password for a person or a system user and ends all their sessions and sockets, their other links, and a change
    /// of address that is not confirmed. Gives a person's account.
    pub async fn reset_password(
        &self,
        token: &str,
        password: String,
        peer: &Peer,
    ) -> Result<Option<Uuid>, AuthError> {
        let purpose = reset_kind(token, Purpose::ResetPassword);
        self.require_good(token, purpose).await?;
        let hash = self.hasher.hash(&peer.address, password).await?;
        let now = self.clock.now();
        let (mut tx, redeemed) = self.redeem(token, purpose, now).await?;
        let Redeemed::Now(id) = redeemed else { return Err(AuthError::LinkUsed) };
        let holder = holder_of(purpose, id);
        let door = match holder {
            HolderId::System(_) => SignInKind::SystemUser,
            HolderId::Account(_) => SignInKind::Account,
        };
        let found = Holder::find(tx.on(), holder).await?.filter(Holder::is_active);
        let found = found.ok_or(AuthError::LinkExpired)?;
        match holder {
            HolderId::Account(id) => {
                // Who had the old password may have asked for them.
                link::withdraw(&mut tx, &[Purpose::SignIn, Purpose::ConfirmAddress], id, now).await?;
                account::set_password(tx.on(), id, &hash, now.into()).await?;
            }
            HolderId::System(id) => system_user::set_password(tx.on(), id, &hash, now.into()).await?,
        }
        session::revoke_all(&mut tx, holder, now.into()).await?;
        sign_in_attempt::forget(tx.on(), &door.attempts_key(found.email())).await?;
        let entry = entry(AuditAction::ResetPassword, &found, peer.request_id.clone(), now);
        audit::insert(tx.on(), &entry).await?;
        self.commit_and_end(tx, move |sessions| sessions.end_of(id, End::Credential)).await?;
        Ok(Some(id).filter(|_| matches!(holder, HolderId::Account(_))))
    }

    /// Makes a new address a person's own, by the link sent there, and ends all their sessions and sockets.
    pub async fn confirm_address(
        &self,
        token: &str,
        request_id: Option<String>,
    ) -> Result<Redeemed, AuthError> {
        let now = self.clock.now();
        let (mut tx, redeemed) = self.redeem(token, Purpose::ConfirmAddress, now).await?;
        let Redeemed::Now(id) = redeemed else { return Ok(redeemed) };
        let account = account::find(tx.on(), id).await?;
        let account = account.filter(|account| account.status == AccountStatus::Active);
        let account = account.ok_or(AuthError::LinkExpired)?;
        let address = account::pending_address(tx.on(), id).await?.ok_or(AuthError::LinkExpired)?;
        account::set_address(tx.on(), &account, &address, now.into())
            .await
            .map_err(|error| if is_conflict(&error) { AuthError::EmailTaken } else { error.into() })?;
        // Links sent to the old address may be in another person's hands now.
        link::withdraw(&mut tx, &[Purpose::ResetPassword, Purpose::SignIn], id, now).await?;
        session::revoke_all(&mut tx, HolderId::Account(id), now.into()).await?;
        let entry = AuditEntry {
            before: Some(json!({ "email": account.email.clone() })),
            after: Some(json!({ "email": address })),
            ..entry(AuditAction::VerifyEmail, &Holder::Account(account), request_id, now)
        };
        keep(&mut tx, &entry).await?;
        self.commit_and_end(tx, move |sessions| sessions.end_of(id, End::Credential)).await?;
        Ok(redeemed)
    }

    /// Begins a transaction that uses up a link. The row of whom it is about is locked first, as by everybody who changes both.
    async fn redeem(
        &self,
        token: &str,
        purpose: Purpose,
        now: Timestamp,
    ) -> Result<(Tx, Redeemed), AuthError> {
        // An unknown one must not keep the store's one writer.
        let subject = link::subject(&self.db, token, purpose, now).await?;
        let mut tx = self.db.begin().await?;
        session::hold(tx.on(), holder_of(purpose, subject)).await?;
        let redeemed = link::redeem(&mut tx, token, purpose, now).await?;
        Ok((tx, redeemed))
    }

    /// Checks the link first, so that invalid links cannot make the server hash passwords.
    async fn require_good(&self, token: &str, purpose: Purpose) -> Result<(), AuthError> {
        match link::look(&self.db, token, purpose, self.clock.now()).await? {
            LinkStatus::Good(_) => Ok(()),
            LinkStatus::Used(_) => Err(AuthError::LinkUsed),
            LinkStatus::Expired => Err(AuthError::LinkExpired),
            LinkStatus::Unknown => Err(AuthError::NotFound),
        }
    }
}

/// Brings back a sign-up that a later one with its address displaced; that one goes, if nobody has confirmed it.
async fn restore(
    tx: &mut Tx,
    id: Uuid,
    request_id: Option<String>,
    now: Timestamp,
) -> Result<Holder, AuthError> {
    let address = stale_sign_up::displaced_address(tx.on(), id).await?.ok_or(AuthError::NotFound)?;
    let mut displaced = Vec::new();
    // Another statement sees whoever took the address while the first one waited for a row.
    for _ in 0..2 {
        displaced.extend(stale_sign_up::delete_system_user(tx.on(), &address, now.into()).await?);
    }
    stale_sign_up::restore_system_user(tx.on(), id, now.into())
        .await
        .map_err(|error| if is_conflict(&error) { AuthError::LinkExpired } else { error.into() })?;
    let holder = Holder::find(tx.on(), HolderId::System(id)).await?.ok_or(AuthError::NotFound)?;
    for later in displaced {
        let gone = entry(AuditAction::Delete, &holder, request_id.clone(), now);
        keep(tx, &AuditEntry { resource_id: later, ..gone }).await?;
    }
    keep(tx, &entry(AuditAction::Create, &holder, request_id, now)).await?;
    Ok(holder)
}

/// Stores an audit entry, and logs what readers see of it; the handler of the request has it numbered.
async fn keep(tx: &mut Tx, entry: &AuditEntry) -> Result<(), AuthError> {
    audit::insert(tx.on(), entry).await?;
    if let Some(change) = entry.logged() {
        change_log::insert(tx, &[change]).await?;
    }
    Ok(())
}

/// Whom a link of a person's or a system user's own is about.
const fn holder_of(purpose: Purpose, id: Uuid) -> HolderId {
    match purpose {
        Purpose::VerifySystemUser | Purpose::ResetSystemPassword => HolderId::System(id),
        _ => HolderId::Account(id),
    }
}

fn reset_kind(token: &str, purpose: Purpose) -> Purpose {
    if RESETS.contains(&purpose) { link::purpose_of(token, &RESETS).unwrap_or(purpose) } else { purpose }
}
