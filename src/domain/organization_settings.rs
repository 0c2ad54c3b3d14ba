//! What an organization sets for itself, and what it pays for.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use waypost_actors::model::{Rules, Timestamp};

use super::locale::{language_tag, timezone};
use super::members::{Members, flag, instant, one_of, whole};
use super::rules::read_rules;
use super::words::words;

words!(
    /// Which units its pages show.
    Units {
        /// Kilometres and litres.
        Metric = "metric",
        /// Miles, feet and US gallons.
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
        /// Ended: the organization reads and is tracked, but changes nothing.
        Canceled = "canceled",
    }
);

/// What an organization sets for itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = OrganizationSettings)]
pub struct Settings {
    /// IANA time zone, such as `Europe/Berlin`, in which pages and letters tell times of day, for whoever has set none.
    pub timezone: String,
    /// BCP 47 language tag, such as `de-DE`, by which pages write dates and numbers, for whoever has set none. Words are
    /// English, and letters write dates as ISO 8601 does.
    pub locale: String,
    /// Which units pages show; the interface speaks metric whatever this is.
    pub units: Units,
    /// Rules that a new geofence starts with.
    pub geofence_defaults: Rules,
    /// A vehicle not heard of for so long is stale, seconds.
    #[schema(minimum = 1, maximum = 604800)]
    pub stale_after_seconds: i64,
    /// A vehicle not heard of for so long is offline, seconds.
    #[schema(minimum = 1, maximum = 2592000)]
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
    #[schema(minimum = 1, maximum = 1000)]
    pub max_open_vehicles_per_driver: Option<i64>,
}

/// How long data is kept, in days; null = for ever.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Retention {
    /// Positions.
    #[schema(minimum = 1, maximum = 36500)]
    pub positions_days: Option<i64>,
    /// Fuel logs.
    #[schema(minimum = 1, maximum = 36500)]
    pub fuel_days: Option<i64>,
    /// Geofence events.
    #[schema(minimum = 1, maximum = 36500)]
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
    /// When the period ends; from then on the organization reads and is tracked, but changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_end: Option<Timestamp>,
    /// How much the plan allows.
    pub limits: Limits,
}

/// How much a plan allows; null = any number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Limits {
    /// Vehicles.
    #[schema(minimum = 0, maximum = 10000000)]
    pub vehicles: Option<i64>,
    /// Drivers.
    #[schema(minimum = 0, maximum = 10000000)]
    pub drivers: Option<i64>,
    /// Users, but for those that are disabled.
    #[schema(minimum = 0, maximum = 10000000)]
    pub users: Option<i64>,
    /// Geofences.
    #[schema(minimum = 0, maximum = 10000000)]
    pub geofences: Option<i64>,
}

/// How much is used of what the plan allows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct Usage {
    /// Vehicles.
    pub vehicles: i64,
    /// Drivers it keeps: those it holds, and those it made whom nobody holds.
    pub drivers: i64,
    /// Users, but for those that are disabled.
    pub users: i64,
    /// Geofences.
    pub geofences: i64,
}

impl Settings {
    /// What an organization starts with.
    #[must_use]
    pub fn starting() -> Self {
        Self {
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
        }
    }
}

impl Subscription {
    /// What an organization starts with: free and without limits.
    #[must_use]
    pub const fn starting(now: Timestamp) -> Self {
        Self {
            plan: Plan::Free,
            status: SubscriptionStatus::Active,
            period_start: now,
            period_end: None,
            limits: Limits { vehicles: None, drivers: None, users: None, geofences: None },
        }
    }

    /// Whether it still lets its organization change anything: not canceled, and its period not over.
    #[must_use]
    pub fn is_running(&self, now: Timestamp) -> bool {
        self.status != SubscriptionStatus::Canceled && self.period_end.is_none_or(|end| now < end)
    }
}

/// Reads settings whose members are all there.
pub fn read_settings(settings: &mut Members<'_>) -> Option<Settings> {
    let timezone = settings.required("timezone", timezone);
    let locale = settings.required("locale", language_tag);
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

/// Reads a subscription whose members are all there.
pub fn read_subscription(subscription: &mut Members<'_>) -> Option<Subscription> {
    let plan = subscription.required("plan", one_of(Plan::WORDS));
    let status = subscription.required("status", one_of(SubscriptionStatus::WORDS));
    let period_start = subscription.required("periodStart", instant);
    let period_end = subscription.optional("periodEnd", instant);
    if let (Some(start), Some(end)) = (period_start, period_end)
        && end <= start
    {
        subscription.problem("periodEnd", "range", "must be after periodStart");
    }
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
