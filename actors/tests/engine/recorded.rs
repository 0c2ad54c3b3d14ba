//! The law of late data on recorded buses: whole days that arrive in any order.

use std::collections::BTreeMap;
use std::io::Read as _;

use flate2::read::GzDecoder;
use serde_json::Value;
use uuid::Uuid;
use waypost_actors::model::{
    Circle, Fence, Fix, GeofenceId, OrganizationId, Place, Rules, ShapeSpec, Timestamp,
};
use waypost_actors::tracking::RecordKind;

use crate::late::Life;
use crate::script::version;
use crate::timelines::{Step, THE_END};

/// Orders in which days arrive.
const ORDERS: usize = 200;
/// Fixes of one report at most.
const TOGETHER: u64 = 12;

fn bundled(name: &str) -> Vec<u8> {
    let path = format!("{}/../demo/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The fixes of each bus, oldest first.
fn buses() -> Vec<Vec<Fix>> {
    let mut text = String::new();
    GzDecoder::new(&bundled("traces.csv.gz")[..]).read_to_string(&mut text).expect("gzip");
    let mut buses: BTreeMap<String, Vec<Fix>> = BTreeMap::new();
    for row in csv::Reader::from_reader(text.as_bytes()).records() {
        let row = row.expect("CSV");
        let number = |column: usize| row[column].parse::<f64>();
        let recorded_at = Timestamp::parse(&row[1]).expect("RFC 3339");
        let (Ok(latitude), Ok(longitude)) = (number(2), number(3)) else { continue };
        let mut fix = Fix::new(recorded_at, recorded_at.plus_seconds(1.0), Place::new(latitude, longitude));
        fix.speed_kmh = number(4).ok();
        buses.entry(row[0].to_owned()).or_default().push(fix);
    }
    let mut buses: Vec<Vec<Fix>> = buses.into_values().collect();
    for fixes in &mut buses {
        fixes.sort_by_key(|fix| fix.recorded_at);
    }
    buses
}

/// The stops of the buses, as circles; one of them limits the speed.
fn fences() -> Vec<Fence> {
    let circles: Vec<Value> = serde_json::from_slice(&bundled("circles.json")).expect("JSON");
    let number = |circle: &Value, name: &str| circle[name].as_f64().expect("a number");
    let fence = |(index, circle): (usize, &Value)| {
        let center = Place::new(number(circle, "lat"), number(circle, "lon"));
        let limit = (index == 0).then_some(30.0);
        let rules = Rules { speed_limit_kmh: limit, dwell_after_seconds: Some(60.0), ..Rules::default() };
        let mut only = version(1, rules);
        only.shape = ShapeSpec::Circle(Circle { center, radius_meters: 4.0 * number(circle, "radius_m") });
        Fence {
            id: GeofenceId(Uuid::from_u128(index as u128 + 1)),
            organization_id: OrganizationId(Uuid::from_u128(1)),
            name: circle["name"].to_string(),
            versions: vec![only],
        }
    };
    circles.iter().enumerate().map(fence).collect()
}

/// Numbers that look random, the same in each run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A day's reports, each of some fixes, in any order, with steps of corrections between them.
fn shuffled(fixes: &[Fix], dice: &mut Dice) -> Vec<(f64, Step)> {
    let mut fixes = fixes.to_vec();
    for last in (1..fixes.len()).rev() {
        fixes.swap(last, dice.below(last as u64 + 1) as usize);
    }
    let mut steps = Vec::new();
    let mut rest = fixes.as_slice();
    while !rest.is_empty() {
        let (some, behind) = rest.split_at((1 + dice.below(TOGETHER) as usize).min(rest.len()));
        steps.push((THE_END, Step::Report(some.to_vec())));
        if dice.below(4) == 0 {
            let (fixes, waits) = (20 + dice.below(400) as usize, dice.below(3) as usize);
            steps.push((THE_END, Step::Correct { fixes, waits }));
        }
        rest = behind;
    }
    steps
}

#[test]
fn recorded_days_in_any_order_make_the_same_records() {
    let (fences, mut dice) = (fences(), Dice(5));
    let buses: Vec<_> = buses().into_iter().filter(|fixes| fixes.len() > 100).collect();
    assert!(buses.len() > 20, "{}", buses.len());
    let mut kinds: BTreeMap<RecordKind, usize> = BTreeMap::new();
    for number in 0..ORDERS {
        let fixes = &buses[number % buses.len()];
        let mut life = Life::new(&fences, Some(250.0), 40);
        life.slice = 200;
        life.through(&shuffled(fixes, &mut dice));
        // Every record: entries, exits and dwells, speeding, trips, stops and alerts.
        life.keeps_the_law();
        for record in life.ledger.active().values() {
            *kinds.entry(record.kind()).or_default() += 1;
        }
    }
    for kind in [RecordKind::Entry, RecordKind::Dwell, RecordKind::Trip, RecordKind::Stop, RecordKind::Alert]
    {
        assert!(kinds.get(&kind).is_some_and(|count| *count > 0), "none is a {kind:?}: {kinds:?}");
    }
    println!("{ORDERS} orders of {} recorded days: {kinds:?}", buses.len());
}
