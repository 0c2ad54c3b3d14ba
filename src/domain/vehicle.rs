//! Vehicles: what is stored of them and what clients may set.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use waypost_actors::model::{Calibration, OrganizationId, Timestamp, TrackerId, VehicleId, VehicleLimits};

use super::body::body;
use super::fold::{compact, folded};
use super::members::{Read, country, id, matching, text};
use super::tracker::{TrackerConfig, unique_id};
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
    /// Whether its fixes are judged. A vehicle in the workshop is still tracked.
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

body!(
    /// A number plate, unique in its organization (compared without case, spaces and hyphens).
    #[derive(Deserialize)]
    pub struct Plate {
        /// As it is written, 1 to 20 characters.
        number "number": required String, by(plate_number, min_length = 1, max_length = 20);
        /// ISO 3166-1 alpha-2, such as `DE`.
        country "country": optional String, by(country, pattern = "^[A-Z]{2}$");
    }
);

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

body!(
    /// How a vehicle is tracked.
    #[derive(Deserialize)]
    pub struct Tracking {
        /// The tracker installed now; changed through the tracker.
        tracker_id "trackerId": optional TrackerId, by(id);
        /// How often the tracker should report in motion, seconds.
        interval_seconds "intervalSeconds": required i64, whole(1..=3600);
        /// How often it should report at rest, seconds.
        stopped_interval_seconds "stoppedIntervalSeconds": required i64, whole(1..=86400);
        /// A fix that implies a higher speed waits for the next one to confirm it, km/h; null = off.
        max_speed_kmh "maxSpeedKmh": nullable f64, number(1..=1500);
        /// A fix less accurate than this is stored but not evaluated, metres; null = off.
        max_accuracy_meters "maxAccuracyMeters": nullable f64, number(1..=100000);
        /// From this speed on the vehicle is too fast, km/h; null = off.
        overspeed_kmh "overspeedKmh": nullable f64, number(1..=400);
    }
);

impl Default for Tracking {
    fn default() -> Self {
        let (limits, config) = (VehicleLimits::default(), TrackerConfig::default());
        Self {
            tracker_id: None,
            interval_seconds: config.interval_seconds.into(),
            stopped_interval_seconds: config.stopped_interval_seconds.into(),
            max_speed_kmh: limits.max_speed_kmh,
            max_accuracy_meters: limits.max_accuracy_meters,
            overspeed_kmh: None,
        }
    }
}

impl Tracking {
    /// The config sent to its trackers.
    #[must_use]
    pub fn config(&self) -> TrackerConfig {
        let seconds = |seconds: i64| u32::try_from(seconds).unwrap_or(u32::MAX);
        TrackerConfig {
            interval_seconds: seconds(self.interval_seconds),
            stopped_interval_seconds: seconds(self.stopped_interval_seconds),
        }
    }
}

body!(
    /// The attributes of a vehicle that a client sets.
    pub struct VehicleIn {
        /// 1 to 120 characters.
        name "name": required String, text(1..=120);
        /// Its plate.
        plate "plate": optional Plate, part(Plate::read);
        /// 17 letters and digits without I, O and Q; unique in the organization.
        vin "vin": optional String, by(vin, pattern = "^[0-9A-HJ-NPR-Z]{17}$");
        /// Who made it.
        make "make": optional String, text(1..=60);
        /// Which model.
        model "model": optional String, text(1..=60);
        /// Model year, 1900 to 2100.
        year "year": optional i64, whole(1900..=2100);
        /// Its colour, in words.
        color "color": optional String, text(1..=40);
        /// What kind of vehicle.
        category "category": required VehicleCategory, word, or VehicleCategory::Other;
        /// Whether it is in use.
        status "status": required VehicleStatus, word, or VehicleStatus::Active;
        /// Its tank and fuel sensor.
        fuel "fuel": required VehicleFuel, part(read_fuel), or VehicleFuel::default();
        /// How it is tracked.
        tracking "tracking": required Tracking, part(Tracking::read), or Tracking::default();
    }
    WHOLE: &["sensor"];
    READ_ONLY: &["id", "organizationId", "createdAt", "updatedAt"];
    DERIVED: &["live", "driver", "tracker"];
);

body!(
    /// A new vehicle.
    pub struct CreateVehicle {
        /// Whose; operators name it.
        organization_id "organizationId": optional OrganizationId, by(id);
        /// A new tracker to install in it.
        tracker "tracker": optional NewTrackerIn, part(NewTrackerIn::read);
        /// Its attributes.
        ..vehicle: VehicleIn;
    }
    WHOLE: VehicleIn::WHOLE;
);

body!(
    /// A tracker that is made with its vehicle.
    pub struct NewTrackerIn {
        /// The device's own id, unique on the platform.
        unique_id "uniqueId": required String, by(unique_id, pattern = r"^[^\s\x00-\x1f\x7f-\x9f]{1,64}$");
    }
);

/// A vehicle.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Vehicle {
    /// Which.
    pub id: VehicleId,
    /// Whose.
    pub organization_id: OrganizationId,
    /// Its attributes.
    #[serde(flatten)]
    pub attributes: VehicleIn,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl Vehicle {
    /// The vehicle in the live core's form, with the spans in which it was out of service and the versions of its
    /// calibration.
    #[must_use]
    pub fn tracked(
        &self,
        out_of_service: Vec<(Timestamp, Option<Timestamp>)>,
        calibrations: Vec<Calibration>,
    ) -> waypost_actors::model::Vehicle {
        waypost_actors::model::Vehicle {
            id: self.id,
            organization_id: self.organization_id,
            name: self.attributes.name.clone(),
            out_of_service,
            calibrations,
            limits: VehicleLimits {
                max_speed_kmh: self.attributes.tracking.max_speed_kmh,
                max_accuracy_meters: self.attributes.tracking.max_accuracy_meters,
                overspeed_kmh: self.attributes.tracking.overspeed_kmh,
            },
        }
    }
}

impl VehicleIn {
    /// The plate in the form used for comparison.
    #[must_use]
    pub fn plate_key(&self) -> Option<String> {
        let plate = self.plate.as_ref()?;
        Some(format!("{}:{}", plate.country.as_deref().unwrap_or_default(), compact(&plate.number)))
    }

    /// The text that is searched.
    #[must_use]
    pub fn search_key(&self) -> String {
        let plate = self.plate.as_ref().map(|plate| format!("{} {}", plate.number, compact(&plate.number)));
        let parts = [Some(self.name.clone()), plate, self.vin.clone(), self.make.clone(), self.model.clone()];
        folded(&parts.into_iter().flatten().collect::<Vec<_>>().join(" "))
    }
}

fn plate_number(value: &Value) -> Read<String> {
    let number = text(1..=20)(value)?;
    if compact(&number).is_empty() {
        return Err(("format", "a plate with at least one letter or digit".to_owned()));
    }
    Ok(number)
}

fn vin(value: &Value) -> Read<String> {
    matching(is_vin, "17 capital letters and digits without I, O and Q")(value)
}

/// ISO 3779: 17 characters, without the letters that look like digits.
fn is_vin(text: &str) -> bool {
    text.len() == 17
        && text.bytes().all(|b| (b.is_ascii_uppercase() && !b"IOQ".contains(&b)) || b.is_ascii_digit())
}
