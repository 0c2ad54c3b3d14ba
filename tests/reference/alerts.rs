//! How many alerts recorded fleets make.

use std::collections::BTreeSet;

use uuid::Uuid;
use waypost_actors::geofence::FenceSet;
use waypost_actors::model::{
    Connection, Fix, OrganizationId, Rules, Timestamp, Vehicle, VehicleId, VehicleLimits,
};
use waypost_actors::tracking::{
    AlertRule, ConnectionChange, Context, Effects, Record, VehicleState, apply, silent_while_moving,
    was_on_its_way,
};

use crate::data::Data;
use crate::replay::replay;

/// After so much silence a vehicle is offline, by the default of organizations. Seconds.
const OFFLINE_SECONDS: f64 = 3_600.0;
const WORST_SECONDS: f64 = 600.0;

/// How many there are by some rules, and how often.
pub(crate) struct Rates {
    vehicles: usize,
    hours: f64,
    raised_at: Vec<Timestamp>,
}

impl Rates {
    /// Alerts an hour in a fleet of 1,000 vehicles, while any of the recorded ones reports.
    pub(crate) fn per_hour(&self) -> f64 {
        self.raised_at.len() as f64 / self.hours / self.vehicles as f64 * 1_000.0
    }

    /// The most in ten minutes.
    fn worst(&self) -> usize {
        let together = |from: &Timestamp| {
            let in_time = |at: &&Timestamp| (0.0..WORST_SECONDS).contains(&at.seconds_since(*from));
            self.raised_at.iter().filter(in_time).count()
        };
        self.raised_at.iter().map(together).max().unwrap_or(0)
    }

    pub(crate) fn line(&self, what: &str) -> String {
        format!(
            "{what}: {} alerts of {} vehicles in {:.1} h, {:.2} an hour per 1,000 vehicles, at most {} in ten minutes",
            self.raised_at.len(),
            self.vehicles,
            self.hours,
            self.per_hour(),
            self.worst()
        )
    }
}

/// Those of vehicles that fall silent while they are on their way, as by the server's clock.
pub(crate) fn silences(data: &Data) -> Rates {
    let fences = FenceSet::new(Vec::new());
    let end = data.fixes.iter().map(|(_, fix)| fix.recorded_at).max().expect("fixes");
    let mut silent: Vec<Record> = Vec::new();
    for (number, of_vehicle) in data.fixes.chunk_by(|(a, _), (b, _)| a == b).enumerate() {
        let vehicle = Vehicle {
            id: VehicleId(Uuid::from_u128(number as u128)),
            organization_id: OrganizationId(Uuid::from_u128(1)),
            name: of_vehicle[0].0.clone(),
            limits: VehicleLimits {
                max_speed_kmh: Some(250.0),
                max_accuracy_meters: Some(200.0),
                overspeed_kmh: None,
            },
            out_of_service: Vec::new(),
            calibrations: Vec::new(),
        };
        let mut state = VehicleState::default();
        let next = of_vehicle.iter().skip(1).map(|(_, fix)| fix.recorded_at).chain([end]);
        for ((_, fix), next) in of_vehicle.iter().zip(next) {
            let context = Context { vehicle: &vehicle, fences: &fences, detected_at: end };
            apply(&mut state, *fix, &context, &mut Effects::default());
            if next.seconds_since(fix.recorded_at) >= OFFLINE_SECONDS && was_on_its_way(&state) {
                silent.push(offline(&vehicle, fix));
            }
        }
    }
    silent.sort_by_key(|change| change.occurred_at);
    let mut alerts: Vec<Record> = Vec::new();
    for change in &silent {
        for alert in silent_while_moving(std::slice::from_ref(change), &alerts) {
            alerts.retain(|known| known.id != alert.id);
            alerts.push(alert);
        }
    }
    rates(data, alerts.iter().map(|alert| alert.occurred_at))
}

fn offline(vehicle: &Vehicle, last: &Fix) -> Record {
    let occurred_at = last.recorded_at.plus_seconds(OFFLINE_SECONDS);
    let change = ConnectionChange {
        vehicle_id: vehicle.id,
        organization_id: vehicle.organization_id,
        state: Connection::Offline,
        silent_since: last.recorded_at,
        heard_at: last.recorded_at,
        occurred_at,
        location: Some(last.place),
        was_moving: true,
    };
    change.record(occurred_at)
}

/// Those of the timeline by one rule.
pub(crate) fn of_timeline(data: &Data, rule: AlertRule, rules: Rules, limits: VehicleLimits) -> Rates {
    let replayed = replay(data, rules, limits);
    let records = replayed.effects.iter().flat_map(|(_, effects)| &effects.records);
    let own = records.filter(|record| record.as_alert().is_some_and(|alert| alert.rule == rule));
    // The end of what lasts has the id of its beginning.
    let raised: BTreeSet<_> = own.map(|record| (record.occurred_at, record.id)).collect();
    rates(data, raised.into_iter().map(|(at, _)| at))
}

fn rates(data: &Data, raised_at: impl Iterator<Item = Timestamp>) -> Rates {
    let minutes: BTreeSet<i64> =
        data.fixes.iter().map(|(_, fix)| fix.recorded_at.as_micros() / 60_000_000).collect();
    Rates {
        vehicles: data.fixes.chunk_by(|(a, _), (b, _)| a == b).count(),
        hours: minutes.len() as f64 / 60.0,
        raised_at: raised_at.collect(),
    }
}
