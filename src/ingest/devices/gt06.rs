//! GT06, the protocol of Concox, Jimi and their clones: login, positions, alarms, heartbeats.
//!
//! Units: km/h, minutes of arc / 30,000; the time is UTC unless the login names the zone that the device is set to.
//! Without bit 12 of the flags there is no fix. The device forgets a position when it has sent it, so the protocol
//! promises nothing for one that is lost on its way.

use waypost_actors::model::{NewAttributes, Timestamp};
use waypost_actors::tracking::Reported;

use super::message::{Dialect, Message, Step, instant, item, name};
use crate::ingest::decode::{BadItem, Item};

/// Bytes of the longest message taken. Ours have 40; longer ones carry pictures and voice.
const LONGEST: usize = 1_100;
const SHORT: [u8; 2] = [0x78, 0x78];
const LONG: [u8; 2] = [0x79, 0x79];
const END: [u8; 2] = [0x0d, 0x0a];
/// Type, serial number and check sum.
const LEAST: usize = 5;

const LOGIN: u8 = 0x01;
const STATUS: u8 = 0x13;
const HEARTBEAT: u8 = 0x23;
/// Positions: the first; with ignition; of 4G devices; alarms with a position.
const POSITIONS: [u8; 5] = [0x12, WITH_IGNITION, 0xa0, 0x16, 0x26];
const WITH_IGNITION: u8 = 0x22;

/// A device's connection.
#[derive(Debug, Default)]
pub(super) struct Gt06 {
    /// What its clock is ahead of UTC, in minutes.
    zone_minutes: i32,
}

impl Dialect for Gt06 {
    fn longest(&self) -> usize {
        LONGEST
    }

    fn step(&mut self, bytes: &[u8], _now: Timestamp) -> Step {
        let header = match bytes {
            [0x78] | [0x79] => return Step::More,
            [first, second, ..] if [*first, *second] == SHORT => 3,
            [first, second, ..] if [*first, *second] == LONG => 4,
            _ => return Step::Skip(to_header(bytes)),
        };
        let Some(head) = bytes.get(2..header) else { return Step::More };
        let length = head.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
        let whole = header + length + END.len();
        if length < LEAST || whole > LONGEST {
            return Step::Skip(2);
        }
        let Some(message) = bytes.get(..whole) else { return Step::More };
        let (checked, check) = message[2..].split_at(length + header - 4);
        if check[2..] != END || [check[0], check[1]] != check_sum(checked).to_be_bytes() {
            return Step::Skip(2);
        }
        let (kind, rest) = (message[header], &message[header + 1..whole - 4]);
        let (content, serial) = rest.split_at(rest.len() - 2);
        Step::Message(whole, self.read(header == 3, kind, content, [serial[0], serial[1]]))
    }

    fn refusal(&self) -> &'static [u8] {
        &[]
    }
}

/// Bytes up to the next that may begin a message.
fn to_header(bytes: &[u8]) -> usize {
    let next = bytes.iter().skip(1).position(|byte| [SHORT[0], LONG[0]].contains(byte));
    next.map_or(bytes.len(), |at| at + 1)
}

impl Gt06 {
    fn read(&mut self, is_short: bool, kind: u8, content: &[u8], serial: [u8; 2]) -> Message {
        let mut message = Message::default();
        match kind {
            _ if !is_short => return message,
            LOGIN => {
                let hex: String = content.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
                // Fifteen digits in eight bytes: the first half byte is empty.
                message.device = hex.get(1..16).and_then(name);
                self.zone_minutes = content.get(10..12).map_or(0, |zone| zone_minutes([zone[0], zone[1]]));
                if message.device.is_none() {
                    return message;
                }
            }
            STATUS | HEARTBEAT => {}
            _ if POSITIONS.contains(&kind) => message.items.extend(self.position(kind, content)),
            _ => return message,
        }
        message.answer = answer(kind, serial);
        message
    }

    /// `None` without a fix.
    fn position(&self, kind: u8, content: &[u8]) -> Option<Result<Item<'static>, BadItem>> {
        let Some(fix) = content.first_chunk::<18>() else {
            return Some(Err(BadItem::new("the position is cut short")));
        };
        let flags = u16::from_be_bytes([fix[16], fix[17]]);
        let has = |bit: u16| flags & (1 << bit) != 0;
        if !has(12) {
            return None;
        }
        let degrees = |at: usize| {
            f64::from(u32::from_be_bytes([fix[at], fix[at + 1], fix[at + 2], fix[at + 3]])) / 1_800_000.0
        };
        let (north, east) = (if has(10) { 1.0 } else { -1.0 }, if has(11) { -1.0 } else { 1.0 });
        let by_flag = has(14).then(|| has(15));
        let reported = Reported {
            latitude: north * degrees(7),
            longitude: east * degrees(11),
            speed_kmh: Some(f64::from(fix[15])),
            heading_degrees: Some(f64::from(flags & 0x3ff)),
            ignition: by_flag.or_else(|| (kind == WITH_IGNITION).then(|| ignition(&content[18..])).flatten()),
            ..Reported::default()
        };
        let [month, day, hour, minute, second] = [1, 2, 3, 4, 5].map(|at| fix[at].cast_signed());
        let local = instant((2000 + i16::from(fix[0]), month, day), (hour, minute, second));
        let at = local.map(|local| local.plus_seconds(-60.0 * f64::from(self.zone_minutes)));
        let mut carried = NewAttributes::default();
        carried.note("satellites", Some(f64::from(fix[6] & 0x0f)));
        Some(item(at, reported, carried))
    }
}

/// What the device's clock is ahead of UTC: the upper twelve bits are hours and minutes as in a clock, and bit 3 says
/// west of Greenwich.
fn zone_minutes(bytes: [u8; 2]) -> i32 {
    let bits = i32::from(u16::from_be_bytes(bytes));
    let clock = bits >> 4;
    let minutes = clock / 100 * 60 + clock % 100;
    // No zone is farther from UTC than this.
    if minutes > 14 * 60 {
        return 0;
    }
    if bits & 8 == 0 { minutes } else { -minutes }
}

/// The ignition after the cell: country, network (two bytes long if the country's first bit is set), area and cell.
fn ignition(after_fix: &[u8]) -> Option<bool> {
    let cell = if after_fix.first()? & 0x80 == 0 { 8 } else { 9 };
    after_fix.get(cell).map(|on| *on > 0)
}

fn answer(kind: u8, serial: [u8; 2]) -> Vec<u8> {
    let checked = [LEAST as u8, kind, serial[0], serial[1]];
    [&SHORT[..], &checked, &check_sum(&checked).to_be_bytes(), &END].concat()
}

/// CRC-16/X-25.
fn check_sum(bytes: &[u8]) -> u16 {
    let bit = |sum: u16, _| if sum & 1 == 0 { sum >> 1 } else { sum >> 1 ^ 0x8408 };
    !bytes.iter().fold(0xffff, |sum, byte| (0..8).fold(sum ^ u16::from(*byte), bit))
}
