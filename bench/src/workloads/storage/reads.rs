//! What reading a vehicle's past takes: of one that reported every minute of a month, and of one that has a fuel sensor beside.

use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use waypost::store::open::Location;
use waypost::store::partitions::make_partitions;
use waypost_actors::clock;
use waypost_actors::model::Timestamp;

use super::database::ask_database;
use crate::systems::{Ready, ask};
use crate::wire::http;

/// Vehicles that are read: the first is where it was, the second has a tank too.
pub(super) const READ: u32 = 2;
/// Fixes of a day and of a month, one a minute.
const DAY: usize = 1_440;
const MONTH: usize = 30 * DAY;
/// Items of one request: the most that it may have.
const TOGETHER: usize = 500;
/// Fixes on one page of a history: the most that it may have.
const PAGE: usize = 1_000;

/// The month that was reported.
pub(super) struct Month {
    first: Timestamp,
}

impl Month {
    /// One that is over.
    pub(super) fn before_now() -> Self {
        let minute = clock::now().as_millis().div_euclid(60_000) * 60_000;
        let first =
            Timestamp::from_millis(minute).unwrap_or(Timestamp::MAX).plus_seconds(-60.0 * MONTH as f64);
        Self { first }
    }

    fn at(&self, minute: usize) -> Timestamp {
        self.first.plus_seconds(60.0 * minute as f64)
    }

    /// A fix each minute: along a road, and with what is left in the tank.
    fn item(&self, minute: usize, has_tank: bool) -> Value {
        let along = minute as f64 * 1e-4;
        let latitude = ((42.0 + (along % 5.0)) * 1e7).round() / 1e7;
        let longitude = ((7.0 + (along % 3.0)) * 1e7).round() / 1e7;
        let mut item = json!({
            "recordedAt": self.at(minute).as_millis(),
            "latitude": latitude,
            "longitude": longitude,
            "speedKmh": 20 + minute * 13 % 60,
            "headingDegrees": minute * 17 % 360,
        });
        if has_tank {
            item["fuel"] = json!({ "liters": 380.0 - (minute % 10_000) as f64 * 0.03 });
        }
        item
    }

    /// Makes the partitions that a server would have made in time.
    pub(super) fn make_room(&self, location: &Location) -> Result<()> {
        ask_database(location, async |db| {
            for minute in (0..MONTH).step_by(7 * DAY) {
                make_partitions(db, self.at(minute)).await?;
            }
            Ok(())
        })
    }

    /// Reports it for the vehicles that are read, side by side.
    pub(super) fn report(&self, ready: &Ready) -> Result<()> {
        let tank = json!({
            "name": "v1",
            "category": "bus",
            "tracking": { "maxSpeedKmh": null, "maxAccuracyMeters": null },
            "fuel": { "kind": "diesel", "tankCapacityLiters": 400 },
        });
        let path = format!("/v1/vehicles/{}?organizationId={}", ready.vehicles[1], ready.organization);
        let (status, body) = send(ready, "PUT", &path, &ready.operator, &tank)?;
        ensure!(status == 200, "{path}: {status} {}", String::from_utf8_lossy(&body));
        for first in (0..MONTH).step_by(TOGETHER) {
            for vehicle in 0..READ as usize {
                let minutes = first..(first + TOGETHER).min(MONTH);
                let items: Vec<Value> = minutes.map(|minute| self.item(minute, vehicle == 1)).collect();
                let accepted = report(ready, &ready.trackers[vehicle], &items)?;
                ensure!(accepted == items.len() as u64, "{accepted} of {} fixes were taken", items.len());
            }
        }
        Ok(())
    }

    /// Median milliseconds of each way to read it, after a first time that warms up.
    pub(super) fn read(&self, ready: &Ready, calls: usize) -> Result<Vec<(&'static str, f64)>> {
        let day = MONTH / 2..MONTH / 2 + DAY;
        let forms = [
            ("positions, a day", 0, day.clone()),
            ("positions, a month", 0, 0..MONTH),
            ("raw data, a day", 1, day),
            ("raw data, a month", 1, 0..MONTH),
        ];
        let mut medians = Vec::new();
        for (form, vehicle, minutes) in forms {
            let read = || match vehicle {
                0 => self.positions(ready, minutes.clone()),
                _ => self.raw_data(ready, minutes.clone()),
            };
            let found: usize = read()?.iter().map(|page| occurrences(page, br#""recordedAt""#)).sum();
            ensure!(found == minutes.len(), "{form}: {found} of {} were answered", minutes.len());
            let mut millis = Vec::new();
            for _ in 0..calls.max(1) {
                let begun = Instant::now();
                read()?;
                millis.push(begun.elapsed().as_secs_f64() * 1e3);
            }
            medians.push((form, crate::table::median(millis)));
        }
        Ok(medians)
    }

    fn period(&self, ready: &Ready, minutes: std::ops::Range<usize>) -> String {
        let (from, to) = (self.at(minutes.start), self.at(minutes.end));
        format!("organizationId={}&from={from}&to={to}", ready.organization)
    }

    /// All pages of the history.
    fn positions(&self, ready: &Ready, minutes: std::ops::Range<usize>) -> Result<Vec<Vec<u8>>> {
        let vehicle = &ready.vehicles[0];
        let of = self.period(ready, minutes);
        let path = format!("/v1/vehicles/{vehicle}/positions?limit={PAGE}&{of}");
        let (mut pages, mut after) = (Vec::new(), Some(String::new()));
        while let Some(cursor) = after {
            let page = get(ready, &format!("{path}{cursor}"))?;
            after = cursor_behind(&page).map(|cursor| format!("&after={cursor}"));
            pages.push(page);
        }
        Ok(pages)
    }

    fn raw_data(&self, ready: &Ready, minutes: std::ops::Range<usize>) -> Result<Vec<Vec<u8>>> {
        let vehicle = &ready.vehicles[1];
        let path =
            format!("/v1/fuel/raw-data?format=ndjson&vehicleId={vehicle}&{}", self.period(ready, minutes));
        Ok(vec![get(ready, &path)?])
    }
}

/// Reports items as a tracker; how many are accepted.
pub(super) fn report(ready: &Ready, token: &str, items: &[Value]) -> Result<u64> {
    let (status, body) = send(ready, "POST", "/v1/positions", token, &json!({ "items": items }))?;
    ensure!(status == 200, "a report was answered {status}: {}", String::from_utf8_lossy(&body));
    let answer: Value = serde_json::from_slice(&body)?;
    answer["accepted"].as_u64().context("the answer does not count what is accepted")
}

fn send(ready: &Ready, method: &str, path: &str, token: &str, body: &Value) -> Result<(u16, Vec<u8>)> {
    let bearer = format!("Bearer {token}");
    let headers = [("Authorization", &*bearer), ("Content-Type", "application/json")];
    ask(&ready.address, &http::with_body(method, &ready.address, path, &headers, &body.to_string()))
}

fn get(ready: &Ready, path: &str) -> Result<Vec<u8>> {
    let (status, body) = ask(&ready.address, &http::get_as(&ready.address, path, &ready.operator))?;
    ensure!(status == 200, "{path}: {status} {}", String::from_utf8_lossy(&body));
    Ok(body)
}

fn occurrences(text: &[u8], part: &[u8]) -> usize {
    text.windows(part.len()).filter(|some| *some == part).count()
}

/// The cursor of a slice that something follows. It is at its end, so no more than that is read.
fn cursor_behind(page: &[u8]) -> Option<String> {
    let at = page.windows(14).rposition(|some| some == br#""pagination":{"#)?;
    let whole = [b"{", &page[at..]].concat();
    let end: Value = serde_json::from_slice(&whole).ok()?;
    let pagination = &end["pagination"];
    pagination["hasNextPage"].as_bool()?.then(|| pagination["endCursor"].as_str().map(str::to_owned))?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_says_what_follows_it() {
        let page = |more| {
            format!(
                r#"{{"data":[{{"recordedAt":1}},{{"recordedAt":2}}],"pagination":{{"endCursor":"c","hasNextPage":{more}}}}}"#
            )
        };
        assert_eq!(cursor_behind(page(true).as_bytes()), Some("c".to_owned()));
        assert_eq!(cursor_behind(page(false).as_bytes()), None);
        assert_eq!(occurrences(page(true).as_bytes(), br#""recordedAt""#), 2);
    }

    #[test]
    fn a_month_has_a_fix_each_minute_and_is_over() {
        let month = Month::before_now();
        assert!(month.at(MONTH) <= clock::now());
        let at = |minute| month.item(minute, false)["recordedAt"].as_i64().unwrap();
        assert_eq!(at(DAY) - at(0), 86_400_000);
        assert!(month.item(7, true)["fuel"]["liters"].as_f64().unwrap() > 0.0);
    }
}
