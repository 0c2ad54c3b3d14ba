//! An organization's settings and its subscription.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use waypost_actors::model::{Rules, Silence, Timestamp};

use super::body::{Body, body};
use super::locale::{language_tag, timezone};
use super::members::{Members, flag, instant};
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

body!(
    /// What an organization sets for itself.
    #[derive(Deserialize)]
    #[schema(as = OrganizationSettings)]
    pub struct Settings {
        /// IANA time zone, such as `Europe/Berlin`, in which pages and letters tell times of day, for whoever has set none.
        timezone "timezone": required String, by(timezone);
        /// BCP 47 language tag, such as `de-DE`, by which pages write dates and numbers, for whoever has set none. Words are
        /// English, and letters write dates as ISO 8601 does.
        locale "locale": required String, by(language_tag);
        /// Which units pages show; the interface speaks metric whatever this is.
        units "units": required Units, word;
        /// Rules that a new geofence starts with.
        geofence_defaults "geofenceDefaults": required Rules, part(read_rules);
        /// A vehicle not heard of for so long is stale, seconds.
        stale_after_seconds "staleAfterSeconds": required i64, whole(1..=604800);
        /// A vehicle not heard of for so long is offline, seconds.
        offline_after_seconds "offlineAfterSeconds": required i64, whole(1..=2592000);
        /// Who may drive what.
        assignment "assignment": required AssignmentSettings, part(AssignmentSettings::read);
        /// How long data is kept.
        retention "retention": required Retention, part(Retention::read);
    }
);

body!(
    /// Who may drive what.
    #[derive(Deserialize)]
    pub struct AssignmentSettings {
        /// Whether a driver whose license is expired can be assigned.
        block_on_expired_license "blockOnExpiredLicense": required bool, by(flag);
        /// Vehicles one driver may hold at once; null = any number.
        max_open_vehicles_per_driver "maxOpenVehiclesPerDriver": nullable i64, whole(1..=1000);
    }
);

body!(
    /// How long data is kept, in days; null = for ever.
    #[derive(Deserialize)]
    pub struct Retention {
        /// Positions.
        positions_days "positionsDays": nullable i64, whole(1..=36500);
        /// Fuel logs.
        fuel_days "fuelDays": nullable i64, whole(1..=36500);
        /// Geofence events.
        events_days "eventsDays": nullable i64, whole(1..=36500);
    }
);

body!(
    /// What an organization pays for. Operators change it.
    #[derive(Deserialize)]
    pub struct Subscription {
        /// What it pays for.
        plan "plan": required Plan, word;
        /// Where it stands.
        status "status": required SubscriptionStatus, word;
        /// When the period began.
        period_start "periodStart": required Timestamp, by(instant);
        /// When the period ends; from then on the organization reads and is tracked, but changes nothing.
        period_end "periodEnd": optional Timestamp, by(instant);
        /// How much the plan allows.
        limits "limits": required Limits, part(Limits::read);
    }
);

body!(
    /// How much a plan allows; null = any number.
    #[derive(Deserialize)]
    pub struct Limits {
        /// Vehicles.
        vehicles "vehicles": nullable i64, whole(0..=10000000);
        /// Drivers.
        drivers "drivers": nullable i64, whole(0..=10000000);
        /// Users, but for those that are disabled.
        users "users": nullable i64, whole(0..=10000000);
        /// Geofences.
        geofences "geofences": nullable i64, whole(0..=10000000);
    }
);

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
    /// How much silence makes its vehicles stale and offline.
    #[must_use]
    pub const fn silence(&self) -> Silence {
        Silence {
            stale_after_seconds: self.stale_after_seconds,
            offline_after_seconds: self.offline_after_seconds,
        }
    }

    /// The settings of a new organization.
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
    /// The subscription of a new organization: free and without limits.
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

    /// Whether it allows its organization to change anything: it is not canceled, and its period is not over.
    #[must_use]
    pub fn is_running(&self, now: Timestamp) -> bool {
        self.status != SubscriptionStatus::Canceled && self.period_end.is_none_or(|end| now < end)
    }
}

/// Reads settings from complete members.
pub fn read_settings(settings: &mut Members<'_>) -> Option<Settings> {
    let read = Settings::read(settings);
    let seconds = |name| settings.value(name).and_then(Value::as_i64);
    if seconds("offlineAfterSeconds")
        .zip(seconds("staleAfterSeconds"))
        .is_some_and(|(off, stale)| off < stale)
    {
        settings.problem("offlineAfterSeconds", "range", "must not be less than staleAfterSeconds");
    }
    read
}

/// Reads a subscription from complete members.
pub fn read_subscription(subscription: &mut Members<'_>) -> Option<Subscription> {
    let at = |name| subscription.value(name).and_then(|value| instant(value).ok());
    if at("periodEnd").zip(at("periodStart")).is_some_and(|(end, start)| end <= start) {
        subscription.problem("periodEnd", "range", "must be after periodStart");
    }
    subscription.any("usage"); // derived: whatever a client sends back is left out
    Subscription::read(subscription)
}
