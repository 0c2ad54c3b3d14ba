//! What the audit records of a change: who, what, when, and the members that changed.

use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use uuid::Uuid;
use waypost_actors::model::{Change, ChangeKind, ChangedResource, OrganizationId, Timestamp};

use super::words::words;

words!(
    /// What was done.
    AuditAction {
        /// It was made.
        Create = "create",
        /// It was changed.
        Update = "update",
        /// It was deleted.
        Delete = "delete",
        /// It got a new secret.
        RotateToken = "rotateToken",
        /// A webhook was to send again.
        Resend = "resend",
        /// An organization took a driver for itself.
        Lock = "lock",
        /// An organization gave a driver free.
        Unlock = "unlock",
        /// A driver was given a vehicle.
        Assign = "assign",
        /// A vehicle was taken from a driver.
        Unassign = "unassign",
        /// A past assignment of a driver was given another beginning or end.
        CorrectAssignment = "correctAssignment",
        /// A past assignment of a driver was removed.
        RemoveAssignment = "removeAssignment",
        /// An alert was seen.
        Acknowledge = "acknowledge",
        /// An alert was put off.
        Snooze = "snooze",
        /// Somebody said whether a refuel or drain was one.
        Judge = "judge",
        /// A user was sent another invitation.
        Invite = "invite",
        /// A user took an invitation.
        AcceptInvite = "acceptInvite",
        /// A user or a system user chose a new password by the link of a letter.
        ResetPassword = "resetPassword",
        /// A system user's address was verified.
        VerifyEmail = "verifyEmail",
        /// Somebody signed in with a password.
        SignIn = "signIn",
        /// A sign-in had the wrong password.
        SignInFailed = "signInFailed",
        /// Sign-ins have to wait after too many that failed; told once each time.
        SignInRefused = "signInRefused",
        /// Somebody signed out.
        SignOut = "signOut",
        /// A refresh token came a second time: somebody else has it, and its session was ended.
        ReuseToken = "reuseToken",
    }
);

words!(
    /// What it was done to.
    AuditResource {
        /// An organization.
        Organization = "organization",
        /// A vehicle.
        Vehicle = "vehicle",
        /// A tracker.
        Tracker = "tracker",
        /// A geofence.
        Geofence = "geofence",
        /// A driver.
        Driver = "driver",
        /// A user.
        User = "user",
        /// A system user.
        SystemUser = "systemUser",
        /// A system user's key.
        ApiKey = "apiKey",
        /// A webhook.
        Webhook = "webhook",
        /// An alert.
        Alert = "alert",
        /// A refuel or drain.
        FuelEvent = "fuelEvent",
        /// A link that shows vehicles without an account.
        Share = "share",
        /// A device that reported and is no tracker yet.
        PendingTracker = "pendingTracker",
    }
);

impl AuditAction {
    /// What a reader of the thing sees of it; `None`: nothing.
    const fn shown(self) -> Option<ChangeKind> {
        match self {
            Self::Create => Some(ChangeKind::Created),
            Self::Delete => Some(ChangeKind::Deleted),
            Self::Update
            | Self::Lock
            | Self::Unlock
            | Self::Assign
            | Self::Unassign
            | Self::CorrectAssignment
            | Self::RemoveAssignment
            | Self::Acknowledge
            | Self::Snooze
            | Self::AcceptInvite
            | Self::VerifyEmail => Some(ChangeKind::Updated),
            Self::RotateToken
            | Self::Resend
            | Self::Judge
            | Self::Invite
            | Self::ResetPassword
            | Self::SignIn
            | Self::SignInFailed
            | Self::SignInRefused
            | Self::SignOut
            | Self::ReuseToken => None,
        }
    }
}

impl AuditResource {
    /// How the log of changes names it; `None`: it has no part in that.
    const fn logged(self) -> Option<ChangedResource> {
        match self {
            Self::Organization => Some(ChangedResource::Organization),
            Self::Vehicle => Some(ChangedResource::Vehicle),
            Self::Tracker => Some(ChangedResource::Tracker),
            Self::Geofence => Some(ChangedResource::Geofence),
            Self::Driver => Some(ChangedResource::Driver),
            Self::User => Some(ChangedResource::User),
            Self::SystemUser => Some(ChangedResource::SystemUser),
            Self::ApiKey => Some(ChangedResource::ApiKey),
            Self::Alert => Some(ChangedResource::Alert),
            Self::Webhook | Self::FuelEvent | Self::PendingTracker | Self::Share => None,
        }
    }
}

/// A change, as it is remembered.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntry {
    /// Which.
    pub id: Uuid,
    /// Whose data; null for the platform's own.
    pub organization_id: Option<OrganizationId>,
    /// Who; nil for the console and the demo, for whoever was not signed in, and for another organization.
    pub actor_id: Uuid,
    /// What that was at the time: a role, `system`, `anonymous` for a sign-up or the link of a letter, or
    /// `otherOrganization` for what another one did to a driver of whom both have a profile.
    pub actor_role: String,
    /// What was done.
    pub action: AuditAction,
    /// To what.
    pub resource: AuditResource,
    /// To which.
    pub resource_id: Uuid,
    /// The request, as the server's log names it; null if it was another organization's.
    pub request_id: Option<String>,
    /// The members that changed, as they were; null for something new.
    #[schema(value_type = Option<Object>)]
    pub before: Option<Value>,
    /// The members that changed, as they became; null for something deleted, but `purge` if what was recorded of it goes too.
    #[schema(value_type = Option<Object>)]
    pub after: Option<Value>,
    /// When.
    pub occurred_at: Timestamp,
}

impl AuditEntry {
    /// The row of the log of changes, without its number; `None` if nobody who reads the thing sees a difference.
    #[must_use]
    pub fn logged(&self) -> Option<Change> {
        Some(Change {
            sequence: 0,
            organization_id: self.organization_id,
            resource: self.resource.logged()?,
            resource_id: self.resource_id,
            kind: self.action.shown()?,
            changed_at: self.occurred_at,
        })
    }
}

/// Filters audit entries. Empty lists and `None` let everything through.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AuditFilter {
    /// Of these kinds of resources.
    pub resources: Vec<AuditResource>,
    /// Of this resource.
    pub resource_id: Option<Uuid>,
    /// By this actor.
    pub actor_id: Option<Uuid>,
    /// Of these actions.
    pub actions: Vec<AuditAction>,
    /// From here, inclusive.
    pub from: Option<Timestamp>,
    /// Up to here, exclusive.
    pub to: Option<Timestamp>,
}

/// The members in which two states of a resource differ, before and after.
#[must_use]
pub fn changed_members(before: &Value, after: &Value) -> (Value, Value) {
    let empty = Map::new();
    let members = |value: &Value| value.as_object().unwrap_or(&empty).clone();
    let (old, new) = (members(before), members(after));
    let differing = |mine: &Map<String, Value>, other: &Map<String, Value>| {
        let differs = |(name, value): &(&String, &Value)| other.get(*name) != Some(*value);
        let kept = mine.iter().filter(differs).map(|(name, value)| (name.clone(), value.clone()));
        Value::Object(kept.collect())
    };
    (differing(&old, &new), differing(&new, &old))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_changed_is_remembered() {
        let before = json!({ "id": 1, "name": "a", "vin": "x", "plate": { "number": 1 } });
        let after = json!({ "id": 1, "name": "b", "plate": { "number": 2 } });
        assert_eq!(
            changed_members(&before, &after),
            (
                json!({ "name": "a", "vin": "x", "plate": { "number": 1 } }),
                json!({ "name": "b", "plate": { "number": 2 } })
            )
        );
    }
}
