//! Organizations: the tenants everything tracked belongs to.

use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use waypost_actors::model::{OrganizationId, Timestamp};

use super::field::FieldError;
use super::fold::folded;
use super::members::{Members, email, matching, text};
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

/// What may be said of an organization.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrganizationIn {
    /// 1 to 120 characters.
    #[schema(min_length = 1, max_length = 120)]
    pub name: String,
    /// 2 to 63 lower-case letters, digits and hyphens; unique. Made of the name when absent.
    #[schema(pattern = "^[a-z0-9]+(-[a-z0-9]+)*$", min_length = 2, max_length = 63, required = false)]
    pub slug: String,
    /// Where to reach it.
    #[schema(format = Email, max_length = 254)]
    pub contact_email: String,
    /// Where to call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 3, max_length = 40)]
    pub contact_phone: Option<String>,
    /// Where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 500)]
    pub address: Option<String>,
    /// What it sets for itself.
    #[schema(required = false)]
    pub settings: Settings,
    /// What it pays for. Only operators change it.
    #[schema(required = false)]
    pub subscription: Subscription,
}

/// An organization.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Organization {
    /// Which.
    pub id: OrganizationId,
    /// Where it stands. Operators may set it to `active` or `inactive`.
    pub status: OrganizationStatus,
    /// When its mail address was verified.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email_verified_at: Option<Timestamp>,
    /// When it was activated first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activated_at: Option<Timestamp>,
    /// How it was activated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activation_method: Option<ActivationMethod>,
    /// What was said of it.
    #[serde(flatten)]
    pub said: OrganizationIn,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// What can happen to an organization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrganizationStep {
    /// Its address was verified by the link in a mail.
    VerifyEmail,
    /// An operator activated it.
    Activate,
    /// An operator switched it off.
    Deactivate,
    /// A superAdmin deleted it.
    Delete,
}

/// THE table of an organization's life. What is not in it is not possible.
pub const ORGANIZATION_STEPS: &[(OrganizationStatus, OrganizationStep, OrganizationStatus)] = {
    use OrganizationStatus::{Active, Deleted, Inactive, PendingActivation};
    use OrganizationStep::{Activate, Deactivate, Delete, VerifyEmail};
    &[
        (PendingActivation, VerifyEmail, Active),
        (PendingActivation, Activate, Active),
        (PendingActivation, Delete, Deleted),
        (Active, VerifyEmail, Active),
        (Active, Activate, Active),
        (Active, Deactivate, Inactive),
        (Active, Delete, Deleted),
        (Inactive, VerifyEmail, Inactive),
        (Inactive, Activate, Active),
        (Inactive, Deactivate, Inactive),
        (Inactive, Delete, Deleted),
    ]
};

impl OrganizationStatus {
    /// Where a step leads from here, if it is possible.
    #[must_use]
    pub fn after(self, step: OrganizationStep) -> Option<Self> {
        let row = ORGANIZATION_STEPS.iter().find(|(from, by, _)| (*from, *by) == (self, step));
        row.map(|(_, _, to)| *to)
    }

    /// The step that an operator takes by setting this state.
    #[must_use]
    pub const fn wanted(self) -> Option<OrganizationStep> {
        match self {
            Self::Active => Some(OrganizationStep::Activate),
            Self::Inactive => Some(OrganizationStep::Deactivate),
            Self::PendingActivation | Self::Deleted => None,
        }
    }
}

impl OrganizationIn {
    /// What an organization starts with.
    #[must_use]
    pub fn starting(now: Timestamp) -> Self {
        Self {
            name: String::new(),
            slug: String::new(),
            contact_email: String::new(),
            contact_phone: None,
            address: None,
            settings: Settings::starting(),
            subscription: Subscription::starting(now),
        }
    }

    /// Reads one whose members are all there (defaults or present values merged with a body).
    pub fn read(body: &Value) -> Result<Self, Vec<FieldError>> {
        let mut members = Members::of(body);
        let name = members.required("name", text(1..=120));
        let slug = members.required("slug", matching(is_slug, SLUG));
        let contact_email = members.required("contactEmail", email);
        let contact_phone = members.optional("contactPhone", text(3..=40));
        let address = members.optional("address", text(1..=500));
        let settings = members.object("settings", read_settings).flatten();
        let subscription = members.object("subscription", read_subscription).flatten();
        for (name, value) in [("settings", &body["settings"]), ("subscription", &body["subscription"])] {
            if value.is_null() {
                members.problem(name, "required", "cannot be cleared");
            }
        }
        members.finish(|| {
            Some(Self {
                name: name?,
                slug: slug?,
                contact_email: contact_email?,
                contact_phone,
                address,
                settings: settings?,
                subscription: subscription?,
            })
        })
    }

    /// What a search looks through.
    #[must_use]
    pub fn search_key(&self) -> String {
        folded(&format!("{} {} {}", self.name, self.slug, self.contact_email))
    }
}

const SLUG: &str = "2 to 63 lower-case letters, digits and single hyphens";

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

    use super::*;
    use crate::domain::merge::merged;

    #[test]
    fn what_an_organization_starts_with_reads_back() {
        let starting = serde_json::to_value(OrganizationIn::starting(Timestamp::default())).unwrap();
        let said = json!({ "name": "Test", "slug": "test", "contactEmail": "a@b.de" });
        let read = OrganizationIn::read(&merged(starting.clone(), &said, &[])).unwrap();
        assert_eq!(merged(starting, &said, &[]), serde_json::to_value(read).unwrap());
    }

    #[test]
    fn settings_name_every_fault() {
        let starting = serde_json::to_value(OrganizationIn::starting(Timestamp::default())).unwrap();
        let said = json!({
            "name": "Test", "slug": "Test!", "contactEmail": "a@b.de",
            "settings": { "timezone": "Mars/Olympus", "locale": "?", "offlineAfterSeconds": 1,
                "geofenceDefaults": { "exitMarginMeters": -1 }, "retention": null },
        });
        let problems = OrganizationIn::read(&merged(starting, &said, &[])).unwrap_err();
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
        assert_eq!(Inactive.after(VerifyEmail), Some(Inactive), "a mail brings nothing back");
        for step in [VerifyEmail, Activate, Deactivate, Delete] {
            assert_eq!(Deleted.after(step), None);
        }
        for (index, row) in ORGANIZATION_STEPS.iter().enumerate() {
            let same = |other: &&(_, _, _)| (other.0, other.1) == (row.0, row.1);
            assert_eq!(ORGANIZATION_STEPS.iter().filter(same).count(), 1, "row {index} stands twice");
        }
    }
}
