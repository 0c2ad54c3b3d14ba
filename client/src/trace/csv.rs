//! CSV under a line of column names: `recorded_at, lat, lon` and, where present, `vehicle, speed_kmh, heading_deg,
//! altitude_m, accuracy_m`. Other columns are ignored; so is `accuracy`, which has no unit (in one of our
//! recordings it is a flag).

use std::collections::HashMap;
use std::sync::Arc;

use ::csv::{ByteRecord, ByteRecordsIntoIter, ReaderBuilder};
use waypost_actors::model::{Place, Timestamp};

use super::point::number;
use super::point::{Point, Reading, Skip, TracePoint};

/// Whether a first line names the columns a trace needs.
pub(super) fn has_columns(line: &str) -> bool {
    ["recorded_at", "lat", "lon"].iter().all(|name| line.split(',').any(|column| column.trim() == *name))
}

/// Where the columns are.
struct Columns {
    vehicle: Option<usize>,
    recorded_at: usize,
    latitude: usize,
    longitude: usize,
    speed: Option<usize>,
    heading: Option<usize>,
    altitude: Option<usize>,
    accuracy: Option<usize>,
}

impl Columns {
    fn find(header: &ByteRecord) -> Option<Self> {
        let at = |name: &str| header.iter().position(|column| column.trim_ascii() == name.as_bytes());
        Some(Self {
            vehicle: at("vehicle"),
            recorded_at: at("recorded_at")?,
            latitude: at("lat")?,
            longitude: at("lon")?,
            speed: at("speed_kmh"),
            heading: at("heading_deg"),
            altitude: at("altitude_m"),
            accuracy: at("accuracy_m"),
        })
    }
}

/// The rows of a file, as points.
pub(super) struct Rows<'a> {
    rows: ByteRecordsIntoIter<&'a [u8]>,
    columns: Columns,
    names: HashMap<String, Arc<str>>,
}

/// Reads a file; `None` when its first line does not name the columns.
pub(super) fn read(content: &[u8]) -> Option<Rows<'_>> {
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    let mut reader = ReaderBuilder::new().from_reader(content);
    let columns = Columns::find(reader.byte_headers().ok()?)?;
    Some(Rows { rows: reader.into_byte_records(), columns, names: HashMap::new() })
}

impl Iterator for Rows<'_> {
    type Item = Reading;

    fn next(&mut self) -> Option<Reading> {
        let row = self.rows.next()?;
        Some(row.map_err(|_| Skip::BadRow).and_then(|row| self.point(&row)))
    }
}

impl Rows<'_> {
    fn point(&mut self, row: &ByteRecord) -> Reading {
        let columns = &self.columns;
        let text = |column: usize| std::str::from_utf8(row.get(column).unwrap_or_default()).map(str::trim);
        let amount = |column: Option<usize>| column.and_then(|column| number(text(column).ok()?));
        let recorded_at = match text(columns.recorded_at) {
            Ok("") => return Err(Skip::NoTime),
            Ok(time) => Timestamp::parse(time).map_err(|_| Skip::BadTime)?,
            Err(_) => return Err(Skip::BadTime),
        };
        let place = amount(Some(columns.latitude)).zip(amount(Some(columns.longitude)));
        let (latitude, longitude) = place.ok_or(Skip::BadCoordinates)?;
        let point = Point {
            speed_kmh: amount(columns.speed),
            heading_degrees: amount(columns.heading),
            altitude_meters: amount(columns.altitude),
            accuracy_meters: amount(columns.accuracy),
            ..Point::new(recorded_at, Place::new(latitude, longitude))
        };
        let vehicle = columns.vehicle.map(text).transpose().map_err(|_| Skip::BadRow)?.map(str::to_owned);
        Ok(TracePoint { vehicle: vehicle.map(|name| self.interned(name)), point })
    }

    /// One shared text per vehicle, not one per row.
    fn interned(&mut self, name: String) -> Arc<str> {
        let shared = self.names.entry(name).or_insert_with_key(|name| Arc::from(name.as_str()));
        Arc::clone(shared)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(content: &[u8]) -> Vec<Reading> {
        read(content).unwrap().collect()
    }

    #[test]
    fn columns_are_found_by_name_and_units_are_believed() {
        let content = b"vehicle,recorded_at,lat,lon,speed_kmh,heading_deg,accuracy,altitude_m,message\n\
            truck-1,2018-05-03T15:09:55.000+00:00,22.2419490814209,96.67041015625,0,12,0,707,ign-on\n\
            truck-1,2018-05-03T15:10:37.000+00:00,22.24,96.67,,,1,,fuel\n";
        let found = readings(content);
        let first = found[0].as_ref().unwrap();
        assert_eq!(first.vehicle.as_deref(), Some("truck-1"));
        assert_eq!(first.point.place, Place::new(22.2419490814209, 96.67041015625));
        assert_eq!(first.point.recorded_at, Timestamp::parse("2018-05-03T15:09:55Z").unwrap());
        assert_eq!((first.point.speed_kmh, first.point.heading_degrees), (Some(0.0), Some(12.0)));
        assert_eq!((first.point.altitude_meters, first.point.accuracy_meters), (Some(707.0), None));
        assert_eq!(found[1].as_ref().unwrap().point.speed_kmh, None);
    }

    #[test]
    fn a_bad_row_costs_itself_only() {
        let content = b"recorded_at,lat,lon\n,1,2\nyesterday,1,2\n2026-01-01T00:00:00Z,north,2\n\
            2026-01-01T00:00:00Z,NaN,2\n2026-01-01T00:00:00Z\n2026-01-01T00:00:00Z,91,2\n";
        let found = readings(content);
        let skips: Vec<_> = found.iter().filter_map(|reading| reading.as_ref().err().copied()).collect();
        let want = [Skip::NoTime, Skip::BadTime, Skip::BadCoordinates, Skip::BadCoordinates, Skip::BadRow];
        assert_eq!(skips, want);
        let last = found[5].as_ref().unwrap();
        assert_eq!((last.vehicle.as_deref(), last.point.place.latitude), (None, 91.0));
    }
}
