//! The pure engine against the reference answer of an independent script: two evenings of real buses
//! in 315 real fences. The same data goes through sockets and stores in `tests/live`.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use uuid::Uuid;
use waypost::demo::{BUNDLED_CIRCLES, BUNDLED_FENCES, BUNDLED_TRACES};
use waypost::trace::{self, fences};
use waypost_actors::geofence::{FenceSet, FenceTimeline};
use waypost_actors::model::{
    EventKind, Fence, FenceVersion, GeofenceId, OrganizationId, Rules, Timestamp, Vehicle, VehicleId,
    VehicleLimits,
};
use waypost_actors::tracking::{self, Context, Effects, Reported, Standing, VehicleState};

const ORGANIZATION: OrganizationId = OrganizationId(Uuid::from_u128(1));

/// (vehicle, fence, entered, recordedAt): what the reference says of an event.
type Line = (String, String, bool, Timestamp);

fn all_fences() -> FenceSet {
    let polygons = fences::polygons(&trace::inflate(BUNDLED_FENCES).expect("gzip")).expect("GeoJSON");
    let circles = fences::circles(BUNDLED_CIRCLES).expect("JSON");
    let timeline = |(number, shape): (usize, fences::NamedShape)| {
        let version = FenceVersion {
            version: 1,
            effective_from: None,
            changed_at: Timestamp::from_micros(0),
            active: true,
            deleted: false,
            shape: shape.shape,
            rules: Rules::EXACT,
        };
        Arc::new(FenceTimeline::prepare(&Fence {
            id: GeofenceId(Uuid::from_u128(number as u128)),
            organization_id: ORGANIZATION,
            name: shape.id,
            versions: vec![version],
        }))
    };
    FenceSet::new(polygons.into_iter().chain(circles).enumerate().map(timeline).collect())
}

fn expected() -> Vec<Line> {
    let content = include_bytes!("../demo/events_expected.csv.gz");
    let content = trace::inflate(content).expect("gzip");
    let mut lines: Vec<Line> = csv::Reader::from_reader(&content[..])
        .records()
        .map(|record| {
            let record = record.expect("CSV");
            (
                record[0].into(),
                record[1].into(),
                &record[2] == "enter",
                Timestamp::parse(&record[3]).expect("RFC 3339"),
            )
        })
        .collect();
    lines.sort();
    lines
}

#[test]
fn every_reference_event_and_none_more() {
    let fences = all_fences();
    let now = Timestamp::from_micros(1_800_000_000_000_000);
    let mut states: HashMap<String, (Vehicle, VehicleState)> = HashMap::new();
    let mut effects = Effects::default();
    let mut refused: BTreeMap<&str, u64> = BTreeMap::new();
    for found in trace::read(&trace::inflate(BUNDLED_TRACES).unwrap()).unwrap().flatten() {
        let name = found.vehicle.unwrap().to_string();
        let reported = Reported {
            latitude: found.point.place.latitude,
            longitude: found.point.place.longitude,
            speed_kmh: found.point.speed_kmh,
            ..Reported::default()
        };
        let fix = match tracking::accept(&reported, found.point.recorded_at, now, None) {
            Ok(fix) => fix,
            Err(refusal) => {
                *refused.entry(refusal.code()).or_default() += 1;
                continue;
            }
        };
        let number = states.len() as u128;
        let (vehicle, state) = states.entry(name.clone()).or_insert_with(|| {
            let limits = VehicleLimits { max_speed_kmh: None, max_accuracy_meters: None };
            let id = VehicleId(Uuid::from_u128(number));
            (
                Vehicle { id, organization_id: ORGANIZATION, name, limits, out_of_service: Vec::new() },
                VehicleState::default(),
            )
        });
        let context = Context { vehicle, fences: &fences, detected_at: now };
        tracking::apply(state, fix, &context, &mut effects);
    }
    assert_eq!(refused, BTreeMap::from([("nullIsland", 22)]));
    assert_eq!((effects.rows.len(), effects.duplicates), (66_064, 12_244));
    assert!(effects.rows.iter().all(|row| row.standing == Standing::Fresh && row.quarantine.is_none()));

    let mut found: Vec<Line> = effects
        .events
        .iter()
        .map(|event| {
            let entered = event.kind == EventKind::Entry;
            (event.vehicle_name.clone(), event.geofence_name.clone(), entered, event.fix.recorded_at)
        })
        .collect();
    found.sort();
    let expected = expected();
    assert_eq!((found.len(), expected.len()), (72_858, 72_858));
    let difference = found.iter().zip(&expected).find(|(found, expected)| found != expected);
    assert_eq!(difference, None);
    let ids: std::collections::HashSet<_> = effects.events.iter().map(|event| event.id).collect();
    assert_eq!(ids.len(), found.len(), "every event has an id of its own");
}
