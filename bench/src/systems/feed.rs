//! What this server sends dispatchers, on the live feed.

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::Instant;

use anyhow::{Context as _, Result};
use serde::Deserialize;
use waypost_actors::model::Timestamp;

use super::Subscription;
use crate::load::{Ear, SharedLog};
use crate::wire::ws;
use crate::world::Transition;

#[derive(Deserialize)]
struct FeedMessage<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    event: Option<EventIn<'a>>,
    #[serde(borrow, default)]
    vehicles: Vec<VehicleIn<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EventIn<'a> {
    #[serde(rename = "type", borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    vehicle_name: Cow<'a, str>,
    /// Of what happens at a fence only.
    #[serde(borrow, default)]
    geofence_name: Option<Cow<'a, str>>,
    fix: Option<RecordedIn>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordedIn {
    recorded_at: Timestamp,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VehicleIn<'a> {
    #[serde(borrow)]
    vehicle_id: Cow<'a, str>,
    position: Option<RecordedIn>,
}

/// Reads the live feed.
pub(super) struct FeedEar {
    pub(super) begin_millis: i64,
    pub(super) what: Subscription,
    /// The vehicles whose positions are timed.
    pub(super) numbers: HashMap<String, u32>,
}

impl Ear for FeedEar {
    fn hear(&mut self, bytes: &[u8], at: Instant, log: &SharedLog) -> usize {
        let mut heard = 0;
        while let Some((message, length)) = ws::first_frame(&bytes[heard..]) {
            heard += length;
            match message {
                ws::Heard::Text(text) => {
                    if let Err(error) = self.text(text, at, log) {
                        log.lock().fail(format!("{error:#}: {}", String::from_utf8_lossy(text)));
                    }
                }
                // A slow reader may be closed; the table shows that.
                ws::Heard::Close(code) if self.bytes_per_second().is_none() => {
                    log.lock().fail(format!("a dispatcher's socket closed: {code}"));
                }
                ws::Heard::Close(_) | ws::Heard::Beat => {}
            }
        }
        heard
    }

    fn bytes_per_second(&self) -> Option<usize> {
        if let Subscription::Slowly(bytes) = self.what { Some(bytes) } else { None }
    }
}

impl FeedEar {
    fn text(&self, text: &[u8], at: Instant, log: &SharedLog) -> Result<()> {
        // Watchers of everything are many, and only count.
        if matches!(self.what, Subscription::AllPositions | Subscription::Slowly(_))
            && text.starts_with(br#"{"type":"delta""#)
        {
            let mut log = log.lock();
            log.deliveries += count(text, br#""vehicleId""#);
            log.delivered_frames += 1;
            log.delivered_bytes += text.len() as u64;
            return Ok(());
        }
        let message: FeedMessage<'_> = serde_json::from_slice(text).context("a message of the feed")?;
        let round = |recorded: &RecordedIn| {
            u32::try_from((recorded.recorded_at.as_millis() - self.begin_millis) / 1_000).unwrap_or(u32::MAX)
        };
        let mut log = log.lock();
        match &*message.kind {
            "subscribed" => log.subscribed += 1,
            "snapshot" | "heartbeat" => {}
            "delta" => {
                log.deliveries += message.vehicles.len() as u64;
                for vehicle in &message.vehicles {
                    let number = self.numbers.get(&*vehicle.vehicle_id);
                    if let (Some(number), Some(position)) = (number, &vehicle.position) {
                        log.position(*number, round(position), at);
                    }
                }
            }
            "event" if self.what == Subscription::AllEvents => {
                let event = message.event.context("an event message without one")?;
                // Trips and stops come beside the transitions.
                if let (Some(fence), Some(fix)) = (&event.geofence_name, &event.fix) {
                    log.transition(event.transition(fence, round(fix))?, at);
                }
            }
            "event" => log.deliveries += 1,
            _ => log.fail(String::from_utf8_lossy(text).into_owned()),
        }
        Ok(())
    }
}

impl EventIn<'_> {
    fn transition(&self, fence: &str, round: u32) -> Result<Transition> {
        let number = |name: &str| name[1..].parse::<u32>().with_context(|| name.to_owned());
        Ok(Transition {
            vehicle: number(&self.vehicle_name)?,
            round,
            is_entry: self.kind == "entry",
            fence: number(fence)?,
        })
    }
}

fn count(text: &[u8], part: &[u8]) -> u64 {
    // The first byte of `part` is rare: look for that first.
    let first = part[0];
    let mut found = 0;
    let mut rest = text;
    while let Some(at) = rest.iter().position(|byte| *byte == first) {
        rest = &rest[at..];
        let whole = rest.starts_with(part);
        found += u64::from(whole);
        rest = &rest[if whole { part.len() } else { 1 }..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_of_the_feed_is_a_transition() {
        let text = r#"{"type":"event","id":"b","cursor":"c","event":{"type":"exit","vehicleName":"v17",
            "geofenceName":"f4","fix":{"recordedAt":"2026-01-01T00:00:07.000Z","latitude":1,"longitude":2}}}"#;
        let begin_millis = Timestamp::parse("2026-01-01T00:00:00Z").unwrap().as_millis();
        let ear = FeedEar { begin_millis, what: Subscription::AllEvents, numbers: HashMap::new() };
        let log = SharedLog::default();
        ear.text(text.as_bytes(), Instant::now(), &log).unwrap();
        let told = Transition { vehicle: 17, round: 7, is_entry: false, fence: 4 };
        assert_eq!(log.lock().transitions, [told]);
    }

    #[test]
    fn vehicles_of_a_delta_are_counted() {
        assert_eq!(count(br#"{"vehicleId":"a"},{"vehicleIds":"","vehicleId":1}"#, br#""vehicleId""#), 2);
    }
}
