//! What a record says of itself: whether it is about fuel, by the clock, open, an end, and what it may be written over.

use uuid::Uuid;
use waypost_actors::fuel::{FuelEventKind, FuelMotion};
use waypost_actors::model::{Connection, EventStatus, GeofenceId, Origin, Rules, VehicleId};
use waypost_actors::tracking::{
    AlertDetail, AlertRule, ConnectionChange, Detail, FuelDetail, OverspeedDetail, Record,
    silent_while_moving,
};

use crate::script::{Script, at};
use crate::trips;

pub(crate) fn entry() -> Record {
    let mut script = Script::new(Rules::EXACT);
    script.drive(&[(0.0, 5.0)]);
    script.effects.records.remove(0)
}

pub(crate) fn of(detail: Detail) -> Record {
    Record { detail, ..entry() }
}

pub(crate) fn alert(rule: AlertRule) -> Record {
    of(Detail::Alert(Box::new(AlertDetail::new(rule, Uuid::nil()))))
}

pub(crate) fn fuel(kind: FuelEventKind) -> Record {
    of(Detail::Fuel(
        kind,
        FuelDetail {
            level_before_liters: 10.0,
            level_after_liters: 50.0,
            volume_liters: 40.0,
            motion: FuelMotion::Stopped,
            confidence: 0.9,
            geofence_ids: vec![],
            calibration_version: 1,
        },
    ))
}

pub(crate) fn overspeed(geofence_id: Option<GeofenceId>) -> Record {
    of(Detail::Overspeed(OverspeedDetail {
        geofence_id,
        geofence_name: None,
        limit_kmh: 50.0,
        max_speed_kmh: 60.0,
        distance_meters: 100.0,
        duration_seconds: 10.0,
    }))
}

pub(crate) fn trip() -> Record {
    let mut script = trips::script();
    trips::drive(&mut script, &trips::leg((0, 200, 10), 0.0, 36.0, true));
    script.effects.records.into_iter().find(|record| record.geofence().is_none()).expect("a trip")
}

pub(crate) fn silence() -> Record {
    let entry = entry();
    ConnectionChange {
        vehicle_id: entry.vehicle_id,
        organization_id: entry.organization_id,
        state: Connection::Offline,
        silent_since: at(0.0),
        heard_at: at(0.0),
        occurred_at: at(3_600.0),
        location: None,
        was_moving: true,
    }
    .record(at(3_601.0))
}

#[test]
fn drains_and_refuels_are_about_fuel_and_so_is_the_alert_of_a_drain() {
    for record in [fuel(FuelEventKind::Refuel), fuel(FuelEventKind::Drain), alert(AlertRule::Drain)] {
        assert!(record.is_fuel(), "{record:?}");
    }
    for record in [entry(), trip(), silence(), overspeed(None), alert(AlertRule::Dwell)] {
        assert!(!record.is_fuel(), "{record:?}");
    }
}

#[test]
fn a_record_names_the_fence_that_it_is_about() {
    let fence = GeofenceId(Uuid::from_u128(3));
    assert_eq!(entry().geofence_id(), Some(fence));
    assert_eq!(overspeed(Some(fence)).geofence_id(), Some(fence));
    let named = AlertDetail { geofence_id: Some(fence), ..AlertDetail::new(AlertRule::Dwell, Uuid::nil()) };
    assert_eq!(of(Detail::Alert(Box::new(named))).geofence_id(), Some(fence));
    assert_eq!([overspeed(None), trip(), silence()].map(|record| record.geofence_id()), [None; 3]);
}

#[test]
fn an_alert_is_about_all_of_its_vehicles() {
    let [own, other, third] =
        [entry().vehicle_id, VehicleId(Uuid::from_u128(8)), VehicleId(Uuid::from_u128(9))];
    let detail = AlertDetail {
        vehicle_ids: vec![own, other],
        ..AlertDetail::new(AlertRule::SilentWhileMoving, Uuid::nil())
    };
    let alert = of(Detail::Alert(Box::new(detail)));
    assert_eq!([own, other, third].map(|id| alert.is_of(|of| of == id)), [true, true, false]);
    assert_eq!([own, other].map(|id| entry().is_of(|of| of == id)), [true, false]);
}

#[test]
fn the_alert_of_a_silence_is_a_record_of_its_own() {
    let change = Record { sequence: 7, revision: 2, origin: Origin::Recompute, ..silence() };
    let alerts = silent_while_moving(std::slice::from_ref(&change), &[]);
    let [alert] = &alerts[..] else { panic!("{alerts:?}") };
    assert_ne!(alert.id, change.id);
    assert_eq!((alert.sequence, alert.revision, alert.origin), (0, 1, Origin::Live));
}

#[test]
fn only_silence_and_licences_follow_the_clock() {
    for record in [silence(), alert(AlertRule::SilentWhileMoving), alert(AlertRule::LicenseExpired)] {
        assert!(record.is_by_the_clock(), "{record:?}");
    }
    for record in [entry(), trip(), overspeed(None), alert(AlertRule::Drain), alert(AlertRule::Dwell)] {
        assert!(!record.is_by_the_clock(), "{record:?}");
    }
}

#[test]
fn an_end_is_written_over_what_is_open_and_anything_over_what_was_taken_back() {
    let ended = |record: &Record| Record { ended_at: Some(at(900.0)), ..record.clone() };
    let taken_back = |record: &Record| Record { status: EventStatus::Retracted, ..record.clone() };
    for open in [trip(), overspeed(None), alert(AlertRule::Dwell)] {
        let end = ended(&open);
        assert!(open.is_open() && !open.is_end() && end.is_end() && !end.is_open(), "{open:?}");
        assert!(end.supersedes(&open) && !open.supersedes(&open), "{open:?}");
        assert!(!end.supersedes(&end) && !open.supersedes(&end), "{open:?}");
        assert!(open.supersedes(&taken_back(&open)) && end.supersedes(&taken_back(&end)), "{open:?}");
    }
    for moment in [entry(), fuel(FuelEventKind::Refuel), alert(AlertRule::Drain)] {
        assert!(!moment.is_open() && !ended(&moment).is_end(), "{moment:?}");
        assert!(!moment.supersedes(&moment) && moment.supersedes(&taken_back(&moment)), "{moment:?}");
    }
}
