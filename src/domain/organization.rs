//! Organizations: the tenants everything tracked belongs to.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use waypost_actors::model::{OrganizationId, Rules, Timestamp};

use super::field::FieldError;
use super::fold::folded;
use super::members::{Members, email, flag, instant, matching, one_of, text, whole};
use super::rules::read_rules;
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

words!(
    /// Which units its pages show.
    Units {
        /// Kilometres and litres.
        Metric = "metric",
        /// Miles and gallons.
        Imperial = "imperial",
    }
);

words!(
    /// What an organization pays for.
    Plan {
        /// Nothing.
        Free = "free",
        /// The usual.
        Standard = "standard",
        /// More.
        Professional = "professional",
        /// By contract.
        Enterprise = "enterprise",
    }
);

words!(
    /// Where a subscription stands.
    SubscriptionStatus {
        /// Being tried.
        Trialing = "trialing",
        /// Paid.
        Active = "active",
        /// Not paid in time.
        PastDue = "pastDue",
        /// Ended.
        Canceled = "canceled",
    }
);

/// What an organization sets for itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OrganizationSettings)]
pub struct Settings {
    /// IANA time zone, such as `Europe/Berlin`.
    pub timezone: String,
    /// BCP 47 language tag, such as `de-DE`.
    pub locale: String,
    /// Which units its pages show.
    pub units: Units,
    /// Rules that a new geofence starts with.
    pub geofence_defaults: Rules,
    /// A vehicle not heard of for so long is stale, seconds.
    pub stale_after_seconds: i64,
    /// A vehicle not heard of for so long is offline, seconds.
    pub offline_after_seconds: i64,
    /// Who may drive what.
    pub assignment: AssignmentSettings,
    /// How long data is kept.
    pub retention: Retention,
}

/// Who may drive what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssignmentSettings {
    /// Whether a driver whose license is expired can be assigned.
    pub block_on_expired_license: bool,
    /// Vehicles one driver may hold at once; null = any number.
    pub max_open_vehicles_per_driver: Option<i64>,
}

/// How long data is kept, in days; null = for ever.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Retention {
    /// Positions.
    pub positions_days: Option<i64>,
    /// Fuel logs.
    pub fuel_days: Option<i64>,
    /// Geofence events.
    pub events_days: Option<i64>,
}

/// What an organization pays for. Operators change it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Subscription {
    /// What it pays for.
    pub plan: Plan,
    /// Where it stands.
    pub status: SubscriptionStatus,
    /// When the period began.
    pub period_start: Timestamp,
    /// When the period ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_end: Option<Timestamp>,
    /// How much the plan allows.
    pub limits: Limits,
}

/// How much a plan allows; null = any number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Limits {
    /// Vehicles.
    pub vehicles: Option<i64>,
    /// Drivers.
    pub drivers: Option<i64>,
    /// Users.
    pub users: Option<i64>,
    /// Geofences.
    pub geofences: Option<i64>,
}

/// How much is used of what the plan allows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct Usage {
    /// Vehicles.
    pub vehicles: i64,
    /// Users.
    pub users: i64,
    /// Geofences.
    pub geofences: i64,
}

/// What may be said of an organization.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrganizationIn {
    /// 1 to 120 characters.
    pub name: String,
    /// 2 to 63 lower-case letters, digits and hyphens; unique. Made of the name when absent.
    #[schema(required = false)]
    pub slug: String,
    /// Where to reach it.
    pub contact_email: String,
    /// Where to call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contact_phone: Option<String>,
    /// Where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
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

impl OrganizationStatus {
    /// Whether an operator may take an organization from here to there.
    #[must_use]
    pub const fn may_become(self, next: Self) -> bool {
        use OrganizationStatus::{Active, Inactive, PendingActivation};
        matches!(
            (self, next),
            (PendingActivation | Inactive | Active, Active)
                | (Active | Inactive, Inactive)
                | (PendingActivation, PendingActivation)
        )
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
            settings: Settings {
                timezone: "UTC".to_owned(),
                locale: "en".to_owned(),
                units: Units::Metric,
                geofence_defaults: Rules::default(),
                stale_after_seconds: 300,
                offline_after_seconds: 3600,
                assignment: AssignmentSettings {
                    block_on_expired_license: false,
                    max_open_vehicles_per_driver: None,
                },
                retention: Retention { positions_days: None, fuel_days: None, events_days: None },
            },
            subscription: Subscription {
                plan: Plan::Free,
                status: SubscriptionStatus::Active,
                period_start: now,
                period_end: None,
                limits: Limits { vehicles: None, drivers: None, users: None, geofences: None },
            },
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

fn read_settings(settings: &mut Members<'_>) -> Option<Settings> {
    let timezone =
        settings.required("timezone", matching(is_timezone, "an IANA time zone, such as Europe/Berlin"));
    let locale = settings.required("locale", matching(is_locale, "a language tag, such as en or de-DE"));
    let units = settings.required("units", one_of(Units::WORDS));
    let geofence_defaults = settings.object("geofenceDefaults", read_rules).flatten();
    let stale_after_seconds = settings.required("staleAfterSeconds", whole(1..=604_800));
    let offline_after_seconds = settings.required("offlineAfterSeconds", whole(1..=2_592_000));
    if let (Some(stale), Some(offline)) = (stale_after_seconds, offline_after_seconds)
        && offline < stale
    {
        settings.problem("offlineAfterSeconds", "range", "must not be less than staleAfterSeconds");
    }
    let assignment = settings.object("assignment", |assignment| {
        let block_on_expired_license = assignment.required("blockOnExpiredLicense", flag);
        let max_open_vehicles_per_driver = assignment.optional("maxOpenVehiclesPerDriver", whole(1..=1000));
        Some(AssignmentSettings {
            block_on_expired_license: block_on_expired_license?,
            max_open_vehicles_per_driver,
        })
    });
    let retention = settings.object("retention", |retention| Retention {
        positions_days: retention.optional("positionsDays", whole(1..=36_500)),
        fuel_days: retention.optional("fuelDays", whole(1..=36_500)),
        events_days: retention.optional("eventsDays", whole(1..=36_500)),
    });
    for (name, there) in [
        ("geofenceDefaults", geofence_defaults.is_some()),
        ("assignment", assignment.is_some()),
        ("retention", retention.is_some()),
    ] {
        if !there {
            settings.problem(name, "required", "cannot be cleared");
        }
    }
    Some(Settings {
        timezone: timezone?,
        locale: locale?,
        units: units?,
        geofence_defaults: geofence_defaults?,
        stale_after_seconds: stale_after_seconds?,
        offline_after_seconds: offline_after_seconds?,
        assignment: assignment.flatten()?,
        retention: retention?,
    })
}

fn read_subscription(subscription: &mut Members<'_>) -> Option<Subscription> {
    let plan = subscription.required("plan", one_of(Plan::WORDS));
    let status = subscription.required("status", one_of(SubscriptionStatus::WORDS));
    let period_start = subscription.required("periodStart", instant);
    let period_end = subscription.optional("periodEnd", instant);
    let limits = subscription.object("limits", |limits| Limits {
        vehicles: limits.optional("vehicles", whole(0..=10_000_000)),
        drivers: limits.optional("drivers", whole(0..=10_000_000)),
        users: limits.optional("users", whole(0..=10_000_000)),
        geofences: limits.optional("geofences", whole(0..=10_000_000)),
    });
    subscription.any("usage"); // derived: whatever a client sends back is left out
    if limits.is_none() {
        subscription.problem("limits", "required", "cannot be cleared");
    }
    Some(Subscription {
        plan: plan?,
        status: status?,
        period_start: period_start?,
        period_end,
        limits: limits?,
    })
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

fn is_timezone(text: &str) -> bool {
    let shaped = (1..=64).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"/_+-".contains(&b));
    // A machine without a time zone database cannot tell; it believes the shape.
    let database = jiff::tz::db();
    shaped && (database.is_definitively_empty() || database.get(text).is_ok())
}

fn is_locale(text: &str) -> bool {
    let mut parts = text.split('-');
    let language = parts.next().unwrap_or_default();
    (2..=3).contains(&language.len())
        && language.bytes().all(|b| b.is_ascii_alphabetic())
        && parts.all(|part| (2..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric()))
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
    fn the_states_an_operator_may_choose() {
        use OrganizationStatus::{Active, Deleted, Inactive, PendingActivation};
        assert!(PendingActivation.may_become(Active) && Inactive.may_become(Active));
        assert!(Active.may_become(Inactive));
        assert!(!PendingActivation.may_become(Inactive));
        assert!(!Deleted.may_become(Active) && !Active.may_become(Deleted));
        assert!(!Active.may_become(PendingActivation));
    }
}
