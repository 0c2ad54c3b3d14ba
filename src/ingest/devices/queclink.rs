//! Queclink's @Track protocol as text: `+RESP:` (now), `+BUFF:` (from the device's memory) and `+ACK:` (heartbeats).
//!
//! Units: km/h, metres, degrees, UTC. A report carries any number of fixes among fields that differ from model to
//! model; each is known by its shape: accuracy (HDOP, 0 without a fix), speed, course, altitude, longitude, latitude,
//! time. The answer names the report's number; a device that is set to wait for it sends again without it.

use waypost_actors::model::{NewAttributes, Timestamp};
use waypost_actors::tracking::Reported;

use super::message::{Dialect, Message, Step, instant, item, name};
use crate::ingest::decode::{BadItem, Item};

/// Bytes of the longest report: fifteen fixes of less than a hundred bytes, and cells or tags.
const LONGEST: usize = 4_096;
const MARK: u8 = b'+';
const END: u8 = b'$';
/// Characters of an IMEI or MEID, which a version number never has.
const LEAST_NAME: usize = 14;

/// A device's connection.
#[derive(Debug)]
pub(super) struct Queclink;

impl Dialect for Queclink {
    fn longest(&self) -> usize {
        LONGEST
    }

    fn step(&mut self, bytes: &[u8], _now: Timestamp) -> Step {
        if bytes.first() != Some(&MARK) {
            let next = bytes.iter().position(|byte| *byte == MARK);
            return Step::Skip(next.unwrap_or(bytes.len()));
        }
        let Some(end) = bytes.iter().take(LONGEST).position(|byte| *byte == END) else {
            return if bytes.len() < LONGEST { Step::More } else { Step::Broken };
        };
        // One that was cut off may stand before a whole one.
        let last = bytes[..end].windows(2).rposition(|pair| pair[0] == MARK && pair[1].is_ascii_alphabetic());
        if let Some(cut_off) = last.filter(|at| *at > 0) {
            return Step::Skip(cut_off);
        }
        match std::str::from_utf8(&bytes[..end]).ok().and_then(message) {
            Some(message) => Step::Message(end + 1, message),
            None => Step::Skip(end + 1),
        }
    }

    fn refusal(&self) -> &'static [u8] {
        &[]
    }
}

fn message(text: &str) -> Option<Message> {
    let fields: Vec<&str> = text.split(',').collect();
    let (class, kind) = fields.first()?.split_once(':')?;
    let (version, id) = match fields.get(1..3)? {
        [id, _] if id.len() >= LEAST_NAME => ("", id),
        [version, id] => (*version, id),
        _ => return None,
    };
    let (device, count) = (name(id)?, fields.last()?);
    let answer = match (class, kind) {
        ("+RESP" | "+BUFF", _) => format!("+SACK:{count}$"),
        ("+ACK", "GTHBD") => format!("+SACK:GTHBD,{version},{count}$"),
        ("+ACK", _) => String::new(),
        _ => return None,
    };
    let items = if class == "+ACK" { Vec::new() } else { positions(kind, &fields) };
    Some(Message { device: Some(device), items, answer: answer.into_bytes(), ..Message::default() })
}

fn positions(kind: &str, fields: &[&str]) -> Vec<Result<Item<'static>, BadItem>> {
    let ignition = match kind {
        "GTIGN" | "GTVGN" => Some(true),
        "GTIGF" | "GTVGF" => Some(false),
        _ => None,
    };
    fields.windows(7).filter_map(|fix| position(fix, ignition)).collect()
}

/// `None` if the fields are no position, or one without a fix.
fn position(fields: &[&str], ignition: Option<bool>) -> Option<Result<Item<'static>, BadItem>> {
    let [hdop, speed, course, altitude, longitude, latitude, time] = fields else { return None };
    let (longitude, latitude) = (coordinate(longitude)?, coordinate(latitude)?);
    let is_plain = time.len() == 14 && time.bytes().all(|byte| byte.is_ascii_digit());
    if !is_plain || number(hdop).is_some_and(|hdop| hdop <= 0.0) {
        return None;
    }
    let part = |from: usize| time[from..from + 2].parse::<i8>().unwrap_or_default();
    let year = time[..4].parse().unwrap_or_default();
    let recorded_at = instant((year, part(4), part(6)), (part(8), part(10), part(12)));
    let reported = Reported {
        latitude,
        longitude,
        speed_kmh: number(speed),
        heading_degrees: number(course),
        altitude_meters: number(altitude),
        ignition,
        ..Reported::default()
    };
    let mut carried = NewAttributes::default();
    carried.note("hdop", number(hdop));
    Some(item(recorded_at, reported, carried))
}

/// Degrees, always written with six places.
fn coordinate(text: &str) -> Option<f64> {
    let (_, places) = text.split_once('.')?;
    number(text).filter(|_| places.len() == 6)
}

/// A number without an exponent.
fn number(text: &str) -> Option<f64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.parse().ok().filter(|_| is_plain)
}
