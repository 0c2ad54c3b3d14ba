//! Vehicles: what is kept of one and what may be said of one.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use waypost_actors::model::{Calibration, OrganizationId, Timestamp, TrackerId, VehicleId, VehicleLimits};

use super::field::FieldError;
use super::fold::{compact, folded};
use super::members::{Members, country, id, matching, number, one_of, text, whole};
use super::tracker::TrackerConfig;
use super::vehicle_fuel::read_fuel;
pub use super::vehicle_fuel::{FuelKind, VehicleFuel};
use super::words::words;

words!(
    /// Whether a vehicle is in use.
    VehicleStatus {
        /// It is.
        Active = "active",
        /// It is not, for now.
        Inactive = "inactive",
        /// It is in the workshop.
        Maintenance = "maintenance",
        /// It is gone.
        Decommissioned = "decommissioned",
    }
);

impl VehicleStatus {
    /// Whether its fixes are judged. One in the workshop still is somewhere.
    #[must_use]
    pub const fn is_in_service(self) -> bool {
        matches!(self, Self::Active | Self::Maintenance)
    }
}

words!(
    /// What kind of vehicle.
    VehicleCategory {
        /// A car.
        Car = "car",
        /// A van.
        Van = "van",
        /// A lorry.
        Truck = "truck",
        /// What pulls a semi-trailer.
        Tractor = "tractor",
        /// A bus or coach.
        Bus = "bus",
        /// A motorcycle.
        Motorcycle = "motorcycle",
        /// A trailer.
        Trailer = "trailer",
        /// A machine that works where it stands.
        Machinery = "machinery",
        /// Anything else.
        Other = "other",
    }
);

/// A number plate, unique in its organization (compared without case, spaces and hyphens).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Plate {
    /// As it is written, 1 to 20 characters.
    #[schema(min_length = 1, max_length = 20)]
    pub number: String,
    /// ISO 3166-1 alpha-2, such as `DE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[A-Z]{2}$")]
    pub country: Option<String>,
}

/// A vehicle, in few words.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct VehicleStub {
    /// Which.
    pub id: VehicleId,
    /// Its name.
    pub name: String,
    /// Its plate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plate: Option<Plate>,
}

/// How a vehicle is tracked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tracking {
    /// The tracker installed now; changed through the tracker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracker_id: Option<TrackerId>,
    /// How often the tracker should report in motion, seconds.
    #[schema(minimum = 1, maximum = 3600)]
    pub interval_seconds: i64,
    /// How often it should report at rest, seconds.
    #[schema(minimum = 1, maximum = 86400)]
    pub stopped_interval_seconds: i64,
    /// A fix that implies a higher speed waits for the next one to confirm it, km/h; null = off.
    #[schema(minimum = 1, maximum = 1500)]
    pub max_speed_kmh: Option<f64>,
    /// A fix less accurate than this is stored but not evaluated, metres; null = off.
    #[schema(minimum = 1, maximum = 100000)]
    pub max_accuracy_meters: Option<f64>,
    /// From this speed on the vehicle is too fast, km/h; null = off.
    #[schema(minimum = 1, maximum = 400)]
    pub overspeed_kmh: Option<f64>,
}

impl Tracking {
    /// What its trackers are told.
    #[must_use]
    pub fn config(&self) -> TrackerConfig {
        let seconds = |seconds: i64| u32::try_from(seconds).unwrap_or(u32::MAX);
        TrackerConfig {
            interval_seconds: seconds(self.interval_seconds),
            stopped_interval_seconds: seconds(self.stopped_interval_seconds),
        }
    }
}

/// What may be said of a vehicle.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct VehicleIn {
    /// 1 to 120 characters.
    #[schema(min_length = 1, max_length = 120)]
    pub name: String,
    /// Its plate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plate: Option<Plate>,
    /// 17 letters and digits without I, O and Q; unique in the organization.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^[0-9A-HJ-NPR-Z]{17}$")]
    pub vin: Option<String>,
    /// Who made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 60)]
    pub make: Option<String>,
    /// Which model.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 60)]
    pub model: Option<String>,
    /// Model year, 1900 to 2100.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1900, maximum = 2100)]
    pub year: Option<i64>,
    /// Its colour, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 40)]
    pub color: Option<String>,
    /// What kind of vehicle.
    #[schema(required = false)]
    pub category: VehicleCategory,
    /// Whether it is in use.
    #[schema(required = false)]
    pub status: VehicleStatus,
    /// Its tank and fuel sensor.
    #[schema(required = false)]
    pub fuel: VehicleFuel,
    /// How it is tracked.
    #[schema(required = false)]
    pub tracking: Tracking,
}

/// A vehicle.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Vehicle {
    /// Which.
    pub id: VehicleId,
    /// Whose.
    pub organization_id: OrganizationId,
    /// What was said of it.
    #[serde(flatten)]
    pub said: VehicleIn,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl Vehicle {
    /// The vehicle as the live core knows it, with the spans in which it was out of service and the versions of
    /// its calibration.
    #[must_use]
    pub fn tracked(
        &self,
        out_of_service: Vec<(Timestamp, Option<Timestamp>)>,
        calibrations: Vec<Calibration>,
    ) -> waypost_actors::model::Vehicle {
        waypost_actors::model::Vehicle {
            id: self.id,
            organization_id: self.organization_id,
            name: self.said.name.clone(),
            out_of_service,
            calibrations,
            limits: VehicleLimits {
                max_speed_kmh: self.said.tracking.max_speed_kmh,
                max_accuracy_meters: self.said.tracking.max_accuracy_meters,
                overspeed_kmh: self.said.tracking.overspeed_kmh,
            },
        }
    }
}

impl Default for VehicleIn {
    fn default() -> Self {
        let (limits, config) = (VehicleLimits::default(), TrackerConfig::default());
        Self {
            name: String::new(),
            plate: None,
            vin: None,
            make: None,
            model: None,
            year: None,
            color: None,
            category: VehicleCategory::Other,
            status: VehicleStatus::Active,
            fuel: VehicleFuel::default(),
            tracking: Tracking {
                tracker_id: None,
                interval_seconds: config.interval_seconds.into(),
                stopped_interval_seconds: config.stopped_interval_seconds.into(),
                max_speed_kmh: limits.max_speed_kmh,
                max_accuracy_meters: limits.max_accuracy_meters,
                overspeed_kmh: None,
            },
        }
    }
}

impl VehicleIn {
    /// Reads one whose members are all there (defaults or present values merged with a body).
    pub fn read(body: &Value) -> Result<Self, Vec<FieldError>> {
        let mut members = Members::of(body);
        let name = members.required("name", text(1..=120));
        let plate = members.object("plate", |plate| {
            let number = plate.required("number", plate_number);
            let country = plate.optional("country", country);
            Some(Plate { number: number?, country })
        });
        let vin =
            members.optional("vin", matching(is_vin, "17 capital letters and digits without I, O and Q"));
        let make = members.optional("make", text(1..=60));
        let model = members.optional("model", text(1..=60));
        let year = members.optional("year", whole(1900..=2100));
        let color = members.optional("color", text(1..=40));
        let category = members.required("category", one_of(VehicleCategory::WORDS));
        let status = members.required("status", one_of(VehicleStatus::WORDS));
        let fuel = members.object("fuel", read_fuel).flatten();
        let tracking = members.object("tracking", read_tracking).flatten();
        for (name, value) in [("fuel", &body["fuel"]), ("tracking", &body["tracking"])] {
            if value.is_null() {
                members.problem(name, "required", "cannot be cleared");
            }
        }
        members.finish(|| {
            Some(Self {
                name: name?,
                plate: plate.flatten(),
                vin,
                make,
                model,
                year,
                color,
                category: category?,
                status: status?,
                fuel: fuel?,
                tracking: tracking?,
            })
        })
    }

    /// The plate as it is compared.
    #[must_use]
    pub fn plate_key(&self) -> Option<String> {
        let plate = self.plate.as_ref()?;
        Some(format!("{}:{}", plate.country.as_deref().unwrap_or_default(), compact(&plate.number)))
    }

    /// What a search looks through.
    #[must_use]
    pub fn search_key(&self) -> String {
        let plate = self.plate.as_ref().map(|plate| format!("{} {}", plate.number, compact(&plate.number)));
        let parts = [Some(self.name.clone()), plate, self.vin.clone(), self.make.clone(), self.model.clone()];
        folded(&parts.into_iter().flatten().collect::<Vec<_>>().join(" "))
    }
}

fn read_tracking(tracking: &mut Members<'_>) -> Option<Tracking> {
    let tracker_id = tracking.optional("trackerId", id);
    let interval_seconds = tracking.required("intervalSeconds", whole(1..=3600));
    let stopped_interval_seconds = tracking.required("stoppedIntervalSeconds", whole(1..=86_400));
    let max_speed_kmh = tracking.optional("maxSpeedKmh", number(1.0..=1500.0));
    let max_accuracy_meters = tracking.optional("maxAccuracyMeters", number(1.0..=100_000.0));
    let overspeed_kmh = tracking.optional("overspeedKmh", number(1.0..=400.0));
    Some(Tracking {
        tracker_id,
        interval_seconds: interval_seconds?,
        stopped_interval_seconds: stopped_interval_seconds?,
        max_speed_kmh,
        max_accuracy_meters,
        overspeed_kmh,
    })
}

fn plate_number(value: &Value) -> super::members::Read<String> {
    let number = text(1..=20)(value)?;
    if compact(&number).is_empty() {
        return Err(("format", "a plate with at least one letter or digit".to_owned()));
    }
    Ok(number)
}

/// ISO 3779: 17 characters without those that look like digits.
fn is_vin(text: &str) -> bool {
    text.len() == 17
        && text.bytes().all(|b| (b.is_ascii_uppercase() && !b"IOQ".contains(&b)) || b.is_ascii_digit())
}
