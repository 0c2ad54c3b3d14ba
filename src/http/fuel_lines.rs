//! The fuel log written out entry by entry: a JSON array, NDJSON or CSV. A writer keeps track of its format, and
//! knows nothing of where the entries come from. A text that stops before the end is visibly unfinished as JSON; as
//! NDJSON or CSV, the transfer has to be broken off.

use actix_web::http::header::{ACCEPT, HeaderMap};
use actix_web::web::Bytes;
use serde::Serialize;
use uuid::Uuid;
use waypost_actors::fuel::{FuelUnit, Quality};
use waypost_actors::model::{DriverId, OrganizationId, Timestamp, VehicleId};

use crate::domain::fuel::{FuelEntry, RawFormat};

/// What is sent.
pub(super) const fn media_type(format: RawFormat) -> &'static str {
    match format {
        RawFormat::Json => "application/json",
        RawFormat::Ndjson => "application/x-ndjson",
        RawFormat::Csv => "text/csv; charset=utf-8; header=present",
    }
}

/// The format a client likes best: JSON without a preference, `None` if it accepts none of them.
pub(super) fn accepted(headers: &HeaderMap) -> Option<RawFormat> {
    let texts = headers.get_all(ACCEPT).filter_map(|value| value.to_str().ok());
    let ranges: Vec<(&str, f64)> =
        texts.flat_map(|text| text.split(',')).map(range).filter(|(kind, _)| !kind.is_empty()).collect();
    if ranges.is_empty() {
        return Some(RawFormat::Json);
    }
    let mut best: Option<(RawFormat, f64)> = None;
    for (_, format) in RawFormat::WORDS {
        let wish = wish(*format, &ranges);
        if wish > best.map_or(0.0, |(_, wish)| wish) {
            best = Some((*format, wish));
        }
    }
    best.map(|(format, _)| format)
}

/// How much a client wants a format, 0 to 1: the most specific range that matches decides.
fn wish(format: RawFormat, ranges: &[(&str, f64)]) -> f64 {
    let kind = media_type(format).split(';').next().unwrap_or_default();
    let family = kind.split('/').next().unwrap_or_default();
    let exact = |range: &str| match range {
        range if range.eq_ignore_ascii_case(kind) => Some(2),
        "*/*" => Some(0),
        range => range.strip_suffix("/*").filter(|it| it.eq_ignore_ascii_case(family)).map(|_| 1),
    };
    let fitting = ranges.iter().filter_map(|(range, wish)| Some((exact(range)?, *wish)));
    fitting.max_by_key(|(exactness, _)| *exactness).map_or(0.0, |(_, wish)| wish)
}

/// A range of media types and its weight.
fn range(text: &str) -> (&str, f64) {
    let mut parts = text.split(';').map(str::trim);
    let kind = parts.next().unwrap_or_default();
    let weight = parts.find_map(|part| part.strip_prefix("q=")).and_then(|weight| weight.parse().ok());
    (kind, weight.unwrap_or(1.0))
}

/// Writes entries in one form.
#[derive(Clone, Copy, Debug)]
pub(super) struct Writer {
    format: RawFormat,
    begun: bool,
}

/// An entry as CSV columns; unknown values are empty.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    id: Uuid,
    organization_id: OrganizationId,
    vehicle_id: VehicleId,
    recorded_at: Timestamp,
    received_at: Timestamp,
    latitude: f64,
    longitude: f64,
    speed_kmh: Option<f64>,
    odometer_km: Option<f64>,
    ignition: Option<bool>,
    distance_meters: Option<f64>,
    unit: FuelUnit,
    raw_value: f64,
    level_raw_liters: Option<f64>,
    level_liters: Option<f64>,
    level_percent: Option<f64>,
    counter_liters: Option<f64>,
    quality: Quality,
    driver_id: Option<DriverId>,
    calibration_version: Option<i64>,
}

/// The names of the columns, for a log without any entry.
const HEADER: &str = "id,organizationId,vehicleId,recordedAt,receivedAt,latitude,longitude,speedKmh,odometerKm,ignition,\
    distanceMeters,unit,rawValue,levelRawLiters,levelLiters,levelPercent,counterLiters,quality,driverId,\
    calibrationVersion\r\n";

impl Writer {
    pub(super) const fn new(format: RawFormat) -> Self {
        Self { format, begun: false }
    }

    /// Writes further entries.
    pub(super) fn entries(&mut self, entries: &[FuelEntry]) -> Result<Bytes, std::io::Error> {
        let mut text = Vec::with_capacity(entries.len() * 512);
        match self.format {
            RawFormat::Json => {
                for entry in entries {
                    text.extend_from_slice(if self.begun { b",\n" } else { b"[\n" });
                    serde_json::to_writer(&mut text, entry)?;
                    self.begun = true;
                }
            }
            RawFormat::Ndjson => {
                for entry in entries {
                    serde_json::to_writer(&mut text, entry)?;
                    text.push(b'\n');
                }
            }
            RawFormat::Csv => {
                self.header(&mut text);
                let mut rows = csv::WriterBuilder::new();
                let mut rows =
                    rows.has_headers(false).terminator(csv::Terminator::CRLF).from_writer(&mut text);
                for entry in entries {
                    rows.serialize(Row::of(entry)).map_err(std::io::Error::other)?;
                }
                rows.flush()?;
            }
        }
        Ok(text.into())
    }

    /// Completes the text.
    pub(super) fn end(&mut self) -> Bytes {
        let mut text = Vec::new();
        match (self.format, self.begun) {
            (RawFormat::Json, true) => text.extend_from_slice(b"\n]\n"),
            (RawFormat::Json, false) => text.extend_from_slice(b"[]\n"),
            (RawFormat::Ndjson, _) => {}
            (RawFormat::Csv, _) => self.header(&mut text),
        }
        text.into()
    }

    fn header(&mut self, text: &mut Vec<u8>) {
        if !std::mem::replace(&mut self.begun, true) {
            text.extend_from_slice(HEADER.as_bytes());
        }
    }
}

impl Row {
    const fn of(entry: &FuelEntry) -> Self {
        Self {
            id: entry.id,
            organization_id: entry.organization_id,
            vehicle_id: entry.vehicle_id,
            recorded_at: entry.recorded_at,
            received_at: entry.received_at,
            latitude: entry.latitude,
            longitude: entry.longitude,
            speed_kmh: entry.speed_kmh,
            odometer_km: entry.odometer_km,
            ignition: entry.ignition,
            distance_meters: entry.distance_meters,
            unit: entry.unit,
            raw_value: entry.raw_value,
            level_raw_liters: entry.level_raw_liters,
            level_liters: entry.level_liters,
            level_percent: entry.level_percent,
            counter_liters: entry.counter_liters,
            quality: entry.quality,
            driver_id: entry.driver_id,
            calibration_version: entry.calibration_version,
        }
    }
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;
    use serde_json::Value;

    use super::*;

    fn entry(raw_value: f64) -> FuelEntry {
        let at = Timestamp::from_micros(1_777_636_800_000_000);
        FuelEntry {
            id: Uuid::from_u128(7),
            organization_id: OrganizationId(Uuid::from_u128(1)),
            vehicle_id: VehicleId(Uuid::from_u128(2)),
            recorded_at: at,
            received_at: at,
            latitude: 30.25,
            longitude: -97.5,
            speed_kmh: None,
            odometer_km: None,
            ignition: Some(true),
            distance_meters: None,
            unit: FuelUnit::Percent,
            raw_value,
            level_raw_liters: Some(raw_value / 2.0),
            level_liters: None,
            level_percent: None,
            counter_liters: None,
            quality: Quality::Ok,
            driver_id: None,
            calibration_version: Some(1),
        }
    }

    /// The text of some pages, with its end.
    fn written(format: RawFormat, pages: &[&[FuelEntry]]) -> String {
        let mut writer = Writer::new(format);
        let mut text: Vec<u8> = pages.iter().flat_map(|page| writer.entries(page).unwrap()).collect();
        text.extend_from_slice(&writer.end());
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn pages_make_one_text() {
        let (first, second) = ([entry(1.0), entry(2.0)], [entry(3.5)]);
        let pages = [&first[..], &second[..]];
        let array: Vec<Value> = serde_json::from_str(&written(RawFormat::Json, &pages)).unwrap();
        let lines = written(RawFormat::Ndjson, &pages);
        let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(array, lines);
        assert_eq!(array[2]["rawValue"], 3.5);
        assert_eq!(array[0].get("speedKmh"), None);
        let text = written(RawFormat::Csv, &pages);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header = reader.headers().unwrap().clone();
        let rows: Vec<csv::StringRecord> = reader.records().map(|row| row.unwrap()).collect();
        for (row, entry) in rows.iter().zip(&array) {
            for (name, cell) in header.iter().zip(row) {
                let value = match &entry[name] {
                    Value::Null => String::new(),
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                assert_eq!(cell, value, "{name}");
            }
        }
        assert_eq!((rows.len(), text.matches("rawValue").count(), text.matches("\r\n").count()), (3, 1, 4));
    }

    #[test]
    fn nothing_is_a_text_too() {
        assert_eq!(written(RawFormat::Json, &[]), "[]\n");
        assert_eq!(written(RawFormat::Ndjson, &[]), "");
        assert_eq!(written(RawFormat::Csv, &[]), HEADER);
    }

    #[test]
    fn the_client_is_given_what_it_likes_best() {
        let liked = |text: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::from_static(text));
            accepted(&headers)
        };
        assert_eq!(accepted(&HeaderMap::new()), Some(RawFormat::Json));
        for (accept, format) in [
            ("*/*", Some(RawFormat::Json)),
            ("", Some(RawFormat::Json)),
            ("text/csv", Some(RawFormat::Csv)),
            ("text/*", Some(RawFormat::Csv)),
            ("application/x-ndjson, */*;q=0.1", Some(RawFormat::Ndjson)),
            ("application/json;q=0.5, text/csv;q=0.9", Some(RawFormat::Csv)),
            ("application/json;q=0, */*", Some(RawFormat::Ndjson)),
            ("text/html,application/xhtml+xml,*/*;q=0.8", Some(RawFormat::Json)),
            ("image/png", None),
        ] {
            assert_eq!(liked(accept), format, "{accept}");
        }
    }
}
