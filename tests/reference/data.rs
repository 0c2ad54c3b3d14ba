//! Real traces and fences with a reference answer: the slice in the repository, or a folder that
//! `WAYPOST_TEST_DATA` names (`traces.csv.gz`, `fences.geojson`, `circles.json`, `events_expected.csv.gz`).

use std::collections::BTreeMap;
use std::path::Path;

use waypost_actors::model::{Fix, Timestamp};
use waypost_actors::tracking::{self, Reported};
use waypost_client::trace::{self, fences};

/// (vehicle, fence, entered, recordedAt): what the reference says of an event.
pub(crate) type Line = (String, String, bool, Timestamp);

pub(crate) struct Data {
    pub(crate) fences: Vec<fences::NamedShape>,
    /// By vehicle, then in the order that decides between two places at one instant.
    pub(crate) fixes: Vec<(String, Fix)>,
    /// Fixes refused, by code.
    pub(crate) refused: BTreeMap<&'static str, u64>,
    /// Sorted.
    pub(crate) expected: Vec<Line>,
}

pub(crate) fn bundled() -> Data {
    parse(
        include_bytes!("../../demo/traces.csv.gz"),
        include_bytes!("../../demo/fences.geojson.gz"),
        include_bytes!("../../demo/circles.json"),
        include_bytes!("../../demo/events_expected.csv.gz"),
    )
}

/// The folder of `WAYPOST_TEST_DATA`.
pub(crate) fn from_folder() -> Data {
    let folder = std::env::var("WAYPOST_TEST_DATA").expect("WAYPOST_TEST_DATA names a folder of data");
    let read = |name: &str| std::fs::read(Path::new(&folder).join(name)).expect("a file of the folder");
    parse(
        &read("traces.csv.gz"),
        &read("fences.geojson"),
        &read("circles.json"),
        &read("events_expected.csv.gz"),
    )
}

fn parse(traces: &[u8], polygons: &[u8], circles: &[u8], expected: &[u8]) -> Data {
    let mut shapes = fences::polygons(&trace::inflate(polygons).expect("gzip")).expect("GeoJSON");
    shapes.extend(fences::circles(circles).expect("JSON"));
    let mut refused = BTreeMap::new();
    let mut fixes = Vec::new();
    let received_at = Timestamp::from_micros(1_900_000_000_000_000);
    for found in trace::read(&trace::inflate(traces).expect("gzip")).expect("a trace").flatten() {
        let reported = Reported {
            latitude: found.point.place.latitude,
            longitude: found.point.place.longitude,
            speed_kmh: found.point.speed_kmh,
            ..Reported::default()
        };
        match tracking::accept(&reported, found.point.recorded_at, received_at, None) {
            Ok(fix) => fixes.push((found.vehicle.expect("each row names its vehicle").to_string(), fix)),
            Err(refusal) => *refused.entry(refusal.code()).or_default() += 1,
        }
    }
    fixes.sort_by(|(a, one), (b, other)| {
        let place = |fix: &Fix| (fix.recorded_at, fix.place.latitude, fix.place.longitude);
        a.cmp(b).then(place(one).partial_cmp(&place(other)).expect("accepted numbers have an order"))
    });
    Data { fences: shapes, fixes, refused, expected: lines(expected) }
}

fn lines(expected: &[u8]) -> Vec<Line> {
    let content = trace::inflate(expected).expect("gzip");
    let line = |record: csv::StringRecord| {
        let instant = Timestamp::parse(&record[3]).expect("RFC 3339");
        (record[0].into(), record[1].into(), &record[2] == "enter", instant)
    };
    let mut lines: Vec<Line> =
        csv::Reader::from_reader(&content[..]).records().map(|record| line(record.expect("CSV"))).collect();
    lines.sort();
    lines
}
