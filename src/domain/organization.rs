//! Organizations: the tenants that everything tracked belongs to.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use waypost_actors::model::{OrganizationId, Timestamp};

use super::body::{Params, body};
use super::fold::{self, folded};
use super::members::{Read, email, matching};
use super::organization_settings::{Settings, Subscription, read_settings, read_subscription};
use super::words::words;

words!(
    /// Where an organization stands.
    OrganizationStatus {
        /// Waits for its activation; nobody can sign in.
        PendingActivation = "pendingActivation",
        /// In use.
        Active = "active",
        /// Switched off; its data is kept.
        Inactive = "inactive",
        /// Gone.
        Deleted = "deleted",
    }
);

words!(
    /// How an organization was activated.
    ActivationMethod {
        /// By the link in a mail.
        Email = "email",
        /// By an operator.
        Manual = "manual",
    }
);

body!(
    /// The attributes of an organization that a client sets.
    pub struct OrganizationIn {
        /// 1 to 120 characters.
        name "name": required String, text(1..=120);
        /// 2 to 63 lower-case letters, digits and hyphens; unique. Made of the name when absent.
        slug "slug": required String,
            by(slug, pattern = "^[a-z0-9]+(-[a-z0-9]+)*$", min_length = 2, max_length = 63, required = false);
        /// Where to reach it.
        contact_email "contactEmail": required String, by(email, format = Email, max_length = 254);
        /// Where to call it.
        contact_phone "contactPhone": optional String, text(3..=40);
        /// Where it is.
        address "address": optional String, text(1..=500);
        /// What it sets for itself.
        settings "settings": required Settings, part(read_settings), or Settings::starting();
        /// What it pays for. Only operators change it.
        subscription "subscription": required Subscription, part(read_subscription, required = false);
    }
    READ_ONLY: &["id", "founderEmail", "emailVerifiedAt", "activatedAt", "activationMethod", "createdAt", "updatedAt"];
);

body!(
    /// A new organization.
    pub struct CreateOrganization {
        /// Its first orgAdmin, invited when the organization becomes active.
        admin "admin": required FirstAdminIn, part(FirstAdminIn::read);
        /// Its attributes.
        ..organization: OrganizationIn;
    }
);

body!(
    /// The first orgAdmin of an organization.
    pub struct FirstAdminIn {
        /// Unique on the platform.
        email "email": required String, by(email, format = Email, max_length = 254);
        /// Given name.
        first_name "firstName": required String, text(1..=80);
        /// Family name.
        last_name "lastName": required String, text(1..=80);
    }
);

body!(
    /// What may be changed of an organization.
    pub struct UpdateOrganization {
        /// Operators set it to `active` or `inactive`. Activated by this, it is without its founder.
        status "status": given OrganizationStatus, word;
        /// Its attributes.
        ..organization: OrganizationIn;
    }
    READ_ONLY: OrganizationIn::READ_ONLY;
);

/// An organization.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Organization {
    /// Which.
    pub id: OrganizationId,
    /// Where it stands. Operators may set it to `active` or `inactive`.
    pub status: OrganizationStatus,
    /// The address of the system user that made it, while it waits for its activation: whoever activates it decides whether that one is
    /// let in, with all scopes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub founder_email: Option<String>,
    /// When its mail address was verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email_verified_at: Option<Timestamp>,
    /// When it was activated first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activated_at: Option<Timestamp>,
    /// How it was activated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activation_method: Option<ActivationMethod>,
    /// Its attributes.
    #[serde(flatten)]
    pub attributes: OrganizationIn,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// A step in an organization's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrganizationStep {
    /// Its address was verified by the link in a mail.
    VerifyEmail {
        /// Whether the system user that made it is bound to it, if this activates it; otherwise it is left out for good.
        lets_founder_in: bool,
    },
    /// An operator activated it.
    Activate {
        /// The same.
        lets_founder_in: bool,
    },
    /// An operator switched it off.
    Deactivate,
    /// A superAdmin deleted it.
    Delete,
}

impl OrganizationStatus {
    /// The status after a step, if the step is possible: THE table of an organization's life.
    #[must_use]
    pub const fn after(self, step: OrganizationStep) -> Option<Self> {
        use OrganizationStep::{Activate, Deactivate, Delete, VerifyEmail};
        match (self, step) {
            (Self::PendingActivation | Self::Active, VerifyEmail { .. } | Activate { .. })
            | (Self::Inactive, Activate { .. }) => Some(Self::Active),
            (Self::Active | Self::Inactive, Deactivate) | (Self::Inactive, VerifyEmail { .. }) => {
                Some(Self::Inactive)
            }
            (Self::PendingActivation | Self::Active | Self::Inactive, Delete) => Some(Self::Deleted),
            (Self::PendingActivation, Deactivate) | (Self::Deleted, _) => None,
        }
    }

    /// The step that an operator takes by setting this status: it lets no founder in.
    #[must_use]
    pub const fn wanted(self) -> Option<OrganizationStep> {
        match self {
            Self::Active => Some(OrganizationStep::Activate { lets_founder_in: false }),
            Self::Inactive => Some(OrganizationStep::Deactivate),
            Self::PendingActivation | Self::Deleted => None,
        }
    }
}

impl Params<CreateOrganization> {
    /// Fills in what the body of a new organization leaves out: a slug made from its name, and a subscription.
    #[must_use]
    pub fn starting(self, now: Timestamp) -> Self {
        let slug = self.sent("name").and_then(Value::as_str).map(fold::slug).filter(|slug| is_slug(slug));
        self.or("slug", slug).or("subscription", Subscription::starting(now))
    }
}

impl OrganizationIn {
    /// The text that is searched.
    #[must_use]
    pub fn search_key(&self) -> String {
        folded(&format!("{} {} {}", self.name, self.slug, self.contact_email))
    }
}

fn slug(value: &Value) -> Read<String> {
    matching(is_slug, "2 to 63 lower-case letters, digits and single hyphens")(value)
}

/// Whether a text can be a slug.
#[must_use]
pub fn is_slug(text: &str) -> bool {
    (2..=63).contains(&text.len())
        && text.split('-').all(|word| {
            !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::field::FieldError;
    use super::*;

    fn made(body: &Value) -> Result<OrganizationIn, Vec<FieldError>> {
        let mut body = body.clone();
        body["admin"] = json!({ "email": "a@b.de", "firstName": "A", "lastName": "B" });
        let body = Params::<CreateOrganization>::from(body).starting(Timestamp::default());
        body.made().map(|made| made.organization)
    }

    #[test]
    fn what_an_organization_starts_with_reads_back() {
        let made = made(&json!({ "name": "Test Fleet", "contactEmail": "a@b.de" })).unwrap();
        assert_eq!((made.slug.as_str(), &made.settings), ("test-fleet", &Settings::starting()));
        let read = Params::<OrganizationIn>::from(json!(made)).made();
        assert_eq!(read, Ok(made));
    }

    #[test]
    fn settings_name_every_fault() {
        let attributes = json!({
            "name": "Test", "slug": "Test!", "contactEmail": "a@b.de",
            "settings": { "timezone": "Mars/Olympus", "locale": "?", "offlineAfterSeconds": 1,
                "geofenceDefaults": { "exitMarginMeters": -1 }, "retention": null },
        });
        let problems = made(&attributes).unwrap_err();
        let pointers: Vec<&str> = problems.iter().map(|p| p.pointer.as_str()).collect();
        for wanted in [
            "/slug",
            "/settings/locale",
            "/settings/offlineAfterSeconds",
            "/settings/geofenceDefaults/exitMarginMeters",
            "/settings/retention",
        ] {
            assert!(pointers.contains(&wanted), "{wanted} in {pointers:?}");
        }
    }

    #[test]
    fn the_life_of_an_organization() {
        use OrganizationStatus::{Active, Deleted, Inactive, PendingActivation};
        use OrganizationStep::{Activate, Deactivate, Delete, VerifyEmail};
        assert_eq!(PendingActivation.after(Deactivate), None);
        assert_eq!(Active.after(Deactivate), Some(Inactive));
        for lets_founder_in in [true, false] {
            let (verify, activate) = (VerifyEmail { lets_founder_in }, Activate { lets_founder_in });
            assert_eq!([verify, activate].map(|step| PendingActivation.after(step)), [Some(Active); 2]);
            assert_eq!(Inactive.after(activate), Some(Active));
            assert_eq!(Inactive.after(verify), Some(Inactive), "a mail brings nothing back");
            for step in [verify, activate, Deactivate, Delete] {
                assert_eq!(Deleted.after(step), None);
            }
        }
        assert_eq!(Active.wanted(), Some(Activate { lets_founder_in: false }), "a status lets nobody in");
    }
}
