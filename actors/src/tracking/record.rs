//! The record: one thing that happened, numbered, revised and retracted the same way whatever it is.
//!
//! A kind of record is a variant of [`Detail`] and the code that detects it; the log, corrections, lists and the
//! feed know the head only.

use serde::{Deserialize, Serialize};

use super::alert_detail::{AlertDetail, AlertRule};
use super::context::Context;
use super::record_kind::RecordKind;
use super::totals::Totals;
use crate::fuel::{FuelEventKind, FuelMotion};
use crate::model::{
    Analytics, Cause, Connection, DriverId, EventFix, EventId, EventKind, EventStatus, GeofenceId,
    OrganizationId, Origin, Place, Timestamp, VehicleId, VisitId,
};

/// Something that happened to a vehicle.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// A hash of what happened: a replay finds the same id again.
    pub id: EventId,
    /// The place in the log: given at commit, without gaps, anew with each revision. 0 before that.
    pub sequence: i64,
    /// Whether the record still holds.
    pub status: EventStatus,
    /// 1 at first; one more with each correction.
    pub revision: i64,
    /// The organization the vehicle belongs to.
    pub organization_id: OrganizationId,
    /// The vehicle.
    pub vehicle_id: VehicleId,
    /// The vehicle's name today.
    pub vehicle_name: String,
    /// The driver at `occurred_at`, if an assignment names one.
    pub driver_id: Option<DriverId>,
    /// When it happened, or began.
    pub occurred_at: Timestamp,
    /// When it ended; `None` for what has no duration or has not ended.
    pub ended_at: Option<Timestamp>,
    /// Where it happened or began; `None` if unknown.
    pub location: Option<Place>,
    /// The server's clock when it was found.
    pub detected_at: Timestamp,
    /// How the record came about.
    pub origin: Origin,
    /// The instant on the vehicle's timeline of the fix or change that made the record what it is. At
    /// `occurred_at` or later.
    pub confirmed_at: Timestamp,
    /// What happened.
    pub detail: Detail,
}

/// The part of a record that depends on its kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Detail {
    /// An entry, exit or dwell.
    Geofence(Box<GeofenceDetail>),
    /// A refuel or a drain.
    Fuel(FuelEventKind, FuelDetail),
    /// A period over a speed limit.
    Overspeed(OverspeedDetail),
    /// A change of its connection.
    Connection(ConnectionDetail),
    /// A trip or a stop.
    Trip(Box<TripDetail>),
    /// Something that a dispatcher should look at.
    Alert(Box<AlertDetail>),
}

/// An entry, exit or dwell.
#[derive(Clone, Debug, PartialEq)]
pub struct GeofenceDetail {
    /// Entry, exit or dwell.
    pub kind: EventKind,
    /// The stay it begins, ends or belongs to.
    pub visit_id: VisitId,
    /// The fence.
    pub geofence_id: GeofenceId,
    /// The fence's name today.
    pub geofence_name: String,
    /// The version of the fence that was in force.
    pub geofence_version: i64,
    /// How many seconds it may be off `occurred_at`.
    pub time_uncertainty_seconds: f64,
    /// Why the record exists.
    pub cause: Cause,
    /// `true` for a passage seen by neither fix.
    pub inferred: bool,
    /// The first fix on the new side, as recorded.
    pub fix: EventFix,
    /// On exits: what the vehicle did inside.
    pub analytics: Option<Analytics>,
}

/// A refuel or a drain. Stored as it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FuelDetail {
    /// Litres before.
    pub level_before_liters: f64,
    /// Litres after.
    pub level_after_liters: f64,
    /// Litres that came in or went out; above 0.
    pub volume_liters: f64,
    /// What the vehicle did.
    pub motion: FuelMotion,
    /// 0 to 1: how far the change is above what noise and burning explain.
    pub confidence: f64,
    /// The geofences that held the place when it began, by id.
    pub geofence_ids: Vec<GeofenceId>,
    /// The version of the calibration by which its levels were read.
    pub calibration_version: i64,
}

/// A period over a speed limit. While it lasts, its values are those from when it began to count. Stored as it is,
/// but without the fence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OverspeedDetail {
    /// The fence that sets the limit; `None` for the vehicle's own limit.
    #[serde(skip)]
    pub geofence_id: Option<GeofenceId>,
    /// The fence's name today.
    #[serde(skip)]
    pub geofence_name: Option<String>,
    /// The limit, km/h.
    pub limit_kmh: f64,
    /// The highest speed, km/h.
    pub max_speed_kmh: f64,
    /// The distance, parked jitter not counted. Metres.
    pub distance_meters: f64,
    /// Up to its end; while it lasts, up to when it began to count. Seconds.
    pub duration_seconds: f64,
}

words!(
    /// What a vehicle does: one or the other.
    #[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
    TripKind {
        /// It is on its way.
        Trip = "trip",
        /// It stands.
        Stop = "stop",
    }
);

impl From<TripKind> for RecordKind {
    fn from(kind: TripKind) -> Self {
        match kind {
            TripKind::Trip => Self::Trip,
            TripKind::Stop => Self::Stop,
        }
    }
}

/// A trip or a stop. Stored as it is, but without the kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TripDetail {
    /// Which of the two.
    #[serde(skip, default = "on_its_way")]
    pub kind: TripKind,
    /// Where it ended; `None` while it goes on.
    pub end_location: Option<Place>,
    /// The geofences that held the place where it began, by id.
    pub start_geofence_ids: Vec<GeofenceId>,
    /// The geofences that held the place where it ended, by id.
    pub end_geofence_ids: Vec<GeofenceId>,
    /// What the vehicle did; nothing while it goes on.
    pub totals: Totals,
}

const fn on_its_way() -> TripKind {
    TripKind::Trip
}

/// A change of a vehicle's connection, by the server's clock. Stored as it is, but without the state.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionDetail {
    /// What it is from then on.
    #[serde(skip, default = "nothing")]
    pub state: Connection,
    /// When it was heard last.
    pub heard_at: Timestamp,
    /// Of a silence: whether it was on its way when it was heard last.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub was_moving: bool,
}

const fn nothing() -> Connection {
    Connection::Online
}

impl Record {
    /// A record just found: active, unnumbered, and confirmed when it happened.
    pub(super) fn found(id: EventId, occurred_at: Timestamp, detail: Detail, context: &Context<'_>) -> Self {
        let vehicle = context.vehicle;
        Self {
            id,
            sequence: 0,
            status: EventStatus::Active,
            revision: 1,
            organization_id: vehicle.organization_id,
            vehicle_id: vehicle.id,
            vehicle_name: vehicle.name.clone(),
            driver_id: None,
            occurred_at,
            ended_at: None,
            location: None,
            detected_at: context.detected_at,
            origin: Origin::Live,
            confirmed_at: occurred_at,
            detail,
        }
    }

    /// What happened.
    #[must_use]
    pub fn kind(&self) -> RecordKind {
        match &self.detail {
            Detail::Geofence(detail) => detail.kind.into(),
            Detail::Fuel(kind, _) => (*kind).into(),
            Detail::Overspeed(_) => RecordKind::Overspeed,
            Detail::Connection(detail) => detail.state.into(),
            Detail::Trip(detail) => detail.kind.into(),
            Detail::Alert(_) => RecordKind::Alert,
        }
    }

    /// The details of an entry, exit or dwell.
    #[must_use]
    pub fn geofence(&self) -> Option<&GeofenceDetail> {
        match &self.detail {
            Detail::Geofence(detail) => Some(detail),
            _ => None,
        }
    }

    /// What it says as an alert.
    #[must_use]
    pub fn as_alert(&self) -> Option<&AlertDetail> {
        match &self.detail {
            Detail::Alert(detail) => Some(detail),
            _ => None,
        }
    }

    /// What it tells of the vehicle's connection.
    #[must_use]
    pub const fn connection(&self) -> Option<ConnectionDetail> {
        match self.detail {
            Detail::Connection(detail) => Some(detail),
            _ => None,
        }
    }

    /// Whether it happened in a geofence that `is_it` accepts.
    #[must_use]
    pub fn is_in(&self, is_it: impl Fn(GeofenceId) -> bool) -> bool {
        match &self.detail {
            Detail::Geofence(detail) => is_it(detail.geofence_id),
            Detail::Fuel(_, detail) => detail.geofence_ids.iter().any(|fence| is_it(*fence)),
            Detail::Overspeed(detail) => detail.geofence_id.is_some_and(is_it),
            Detail::Connection(_) => false,
            Detail::Alert(detail) => detail.geofence_id.is_some_and(is_it),
            Detail::Trip(detail) => {
                detail.start_geofence_ids.iter().chain(&detail.end_geofence_ids).any(|fence| is_it(*fence))
            }
        }
    }

    /// The fence that it names: the one crossed, or the one that sets the limit.
    #[must_use]
    pub fn geofence_id(&self) -> Option<GeofenceId> {
        match &self.detail {
            Detail::Geofence(detail) => Some(detail.geofence_id),
            Detail::Overspeed(detail) => detail.geofence_id,
            Detail::Alert(detail) => detail.geofence_id,
            Detail::Fuel(..) | Detail::Connection(_) | Detail::Trip(_) => None,
        }
    }

    /// Whether it is about fuel, which needs a permission of its own.
    #[must_use]
    pub fn is_fuel(&self) -> bool {
        match &self.detail {
            Detail::Alert(detail) => detail.rule == AlertRule::Drain,
            _ => self.kind().is_fuel(),
        }
    }

    /// Whether it is about a vehicle that `is_it` accepts.
    #[must_use]
    pub fn is_of(&self, is_it: impl Fn(VehicleId) -> bool) -> bool {
        let others = self.as_alert().map_or(&[][..], |alert| &alert.vehicle_ids);
        is_it(self.vehicle_id) || others.iter().any(|vehicle| is_it(*vehicle))
    }

    /// Whether the server's clock made it, and not the vehicle's timeline: no fix revises it.
    #[must_use]
    pub fn is_by_the_clock(&self) -> bool {
        match &self.detail {
            Detail::Connection(_) => true,
            Detail::Alert(detail) => !detail.rule.is_of_timeline(),
            _ => false,
        }
    }

    /// Whether what it records lasts: it is told when it begins, and its end is a revision.
    fn lasts(&self) -> bool {
        match &self.detail {
            Detail::Overspeed(_) | Detail::Trip(_) => true,
            Detail::Alert(detail) => detail.rule != AlertRule::Drain,
            _ => false,
        }
    }

    /// Whether it records something that has not ended.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.lasts() && self.ended_at.is_none()
    }

    /// Whether it may be the end of something already recorded.
    #[must_use]
    pub fn is_end(&self) -> bool {
        self.lasts() && self.ended_at.is_some()
    }

    /// Whether the live path writes it over the record stored under its id: that record was retracted, or has not
    /// ended and this is its end. Otherwise the stored record stands, since a correction may know better.
    #[must_use]
    pub fn supersedes(&self, stored: &Self) -> bool {
        stored.status == EventStatus::Retracted || (self.is_end() && stored.is_open())
    }

    /// Whether this stored record is active and has the same values as `found`. When and how a record was found,
    /// its number, its driver and the current names do not count as values.
    pub(super) fn tells_the_same(&self, found: &Self) -> bool {
        let mut as_stored = Self {
            sequence: self.sequence,
            revision: self.revision,
            vehicle_name: self.vehicle_name.clone(),
            driver_id: self.driver_id,
            detected_at: self.detected_at,
            origin: self.origin,
            confirmed_at: self.confirmed_at,
            ..found.clone()
        };
        match (&mut as_stored.detail, &self.detail) {
            (Detail::Geofence(found), Detail::Geofence(stored)) => {
                found.geofence_name.clone_from(&stored.geofence_name);
            }
            (Detail::Overspeed(found), Detail::Overspeed(stored))
                if found.geofence_id == stored.geofence_id =>
            {
                found.geofence_name.clone_from(&stored.geofence_name);
            }
            (Detail::Alert(found), Detail::Alert(stored)) if found.geofence_id == stored.geofence_id => {
                found.geofence_name.clone_from(&stored.geofence_name);
            }
            _ => {}
        }
        as_stored == *self
    }
}
