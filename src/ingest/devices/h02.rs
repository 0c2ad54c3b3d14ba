//! H02, as text (`*HQ,…#`) and as its binary twin (`$`, 32 or 45 bytes without an end mark).
//!
//! Units: knots, degrees and minutes, UTC. Only `A` (or a coding scheme's number) in the place of the validity is a
//! fix. The text form `V1` and cell reports are answered; the device forgets a position when it has sent it.

use std::ops::Range;

use waypost_actors::model::{NewAttributes, Timestamp};
use waypost_actors::tracking::Reported;

use super::message::{Dialect, Message, Step, instant, item, name};
use crate::ingest::adapters::units::KMH_PER_KNOT;
use crate::ingest::decode::{BadItem, Item};

/// Bytes of the longest text: the answer to a command may be a page of settings.
const LONGEST: usize = 1_024;
/// Bytes of the binary forms.
const BINARY: [usize; 2] = [32, 45];
const TEXT_MARK: u8 = b'*';
const TEXT_END: u8 = b'#';
const BINARY_MARK: u8 = b'$';
/// Where a binary message has the number of its device.
const BINARY_ID: Range<usize> = 1..6;
/// The status bit that says that the ignition is on.
const IGNITION_BIT: u32 = 10;

/// A device's connection.
#[derive(Debug)]
pub(super) struct H02;

impl Dialect for H02 {
    fn longest(&self) -> usize {
        LONGEST
    }

    fn step(&mut self, bytes: &[u8], now: Timestamp) -> Step {
        match bytes.first() {
            Some(&TEXT_MARK) => text_step(bytes, now),
            Some(&BINARY_MARK) => binary_step(bytes),
            _ => Step::Skip(to_mark(bytes, &[TEXT_MARK, BINARY_MARK])),
        }
    }

    fn refusal(&self) -> &'static [u8] {
        &[]
    }
}

/// Bytes from the first to the next mark.
fn to_mark(bytes: &[u8], marks: &[u8]) -> usize {
    bytes.iter().skip(1).position(|byte| marks.contains(byte)).map_or(bytes.len(), |at| at + 1)
}

fn text_step(bytes: &[u8], now: Timestamp) -> Step {
    let again = to_mark(bytes, &[TEXT_MARK]);
    let is_printable = |byte: u8| (b' '..=b'~').contains(&byte);
    match bytes[..again].iter().position(|byte| *byte == TEXT_END || !is_printable(*byte)) {
        Some(end) if bytes[end] == TEXT_END => {
            let text: String = bytes[1..end].iter().map(|byte| char::from(*byte)).collect();
            Step::Message(end + 1, text_message(&text, now))
        }
        // The mark was a byte of something else.
        Some(_) => Step::Skip(1),
        // A text that was cut off before its end.
        None if again < bytes.len() || again >= LONGEST => Step::Skip(again),
        None => Step::More,
    }
}

fn text_message(text: &str, now: Timestamp) -> Message {
    let fields: Vec<&str> = text.split(',').map(str::trim).collect();
    let [_maker, id, kind, rest @ ..] = &fields[..] else { return Message::default() };
    let is_answered = ["V1", "NBR"].contains(kind) && !id.is_empty();
    let answer = if is_answered { format!("*HQ,{id},V4,{kind},{}#", written(now)) } else { String::new() };
    Message {
        device: name(id),
        items: if kind.starts_with('V') { text_position(rest).into_iter().collect() } else { Vec::new() },
        answer: answer.into_bytes(),
        ..Message::default()
    }
}

/// An instant as yyyyMMddHHmmss, in UTC.
fn written(now: Timestamp) -> String {
    let at = jiff::Timestamp::from_millisecond(now.as_millis()).unwrap_or_default();
    at.to_zoned(jiff::tz::TimeZone::UTC).strftime("%Y%m%d%H%M%S").to_string()
}

/// The position among the fields: time, validity, latitude, N or S, longitude, E or W, speed, course, perhaps the
/// battery, date, perhaps the status. `None` without a fix.
fn text_position(fields: &[&str]) -> Option<Result<Item<'static>, BadItem>> {
    let found = fields.windows(7).position(|at| {
        ["N", "S"].contains(&at[3]) && ["E", "W"].contains(&at[5]) && six_digits(at[0]).is_some()
    })?;
    let [time, validity, latitude, north, longitude, east, speed] = fields[found..].first_chunk::<7>()?;
    let is_fix =
        *validity == "A" || (!validity.is_empty() && validity.bytes().all(|byte| byte.is_ascii_digit()));
    if !is_fix {
        return None;
    }
    let after = &fields[found + 7..];
    let Some(date_at) = after.iter().skip(1).take(2).position(|field| six_digits(field).is_some()) else {
        return Some(Err(BadItem::new("the date is missing")));
    };
    let (Some(latitude), Some(longitude)) =
        (degrees(latitude, *north == "S"), degrees(longitude, *east == "W"))
    else {
        return Some(Err(BadItem::new("the coordinates cannot be read")));
    };
    let (Some(time), Some(date)) = (six_digits(time), six_digits(after[date_at + 1])) else { return None };
    let status = after.get(date_at + 2).filter(|field| field.len() == 8);
    let status = status.and_then(|field| u32::from_str_radix(field, 16).ok());
    let recorded_at = instant((2000 + i16::from(date.2), date.1, date.0), time);
    let reported = reported((latitude, longitude), number(speed), number(after[0]), status);
    Some(item(recorded_at, reported, NewAttributes::default()))
}

fn reported(place: (f64, f64), knots: Option<f64>, heading: Option<f64>, status: Option<u32>) -> Reported {
    Reported {
        latitude: place.0,
        longitude: place.1,
        speed_kmh: knots.map(|knots| knots * KMH_PER_KNOT),
        heading_degrees: heading,
        ignition: status.map(|status| status & (1 << IGNITION_BIT) != 0),
        ..Reported::default()
    }
}

/// A number without sign or exponent.
fn number(text: &str) -> Option<f64> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.parse().ok().filter(|_| is_plain)
}

/// Three numbers of two digits.
fn six_digits(text: &str) -> Option<(i8, i8, i8)> {
    let part = |from: usize| text.get(from..from + 2)?.parse::<i8>().ok();
    let is_plain = text.len() == 6 && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_plain { Some((part(0)?, part(2)?, part(4)?)) } else { None }
}

/// Degrees of `ddmm.mmmm`, `ddmmmmmm` or `-dd-mm.mmmm`; the letter beside it says the half of the world.
fn degrees(text: &str, is_negative: bool) -> Option<f64> {
    let (whole, minutes) = match (text.strip_prefix('-'), text.find('.')) {
        (Some(parted), _) => parted.split_once('-').and_then(|(whole, rest)| Some((whole, number(rest)?)))?,
        (None, Some(point)) => {
            let (whole, rest) = text.split_at_checked(point.checked_sub(2)?)?;
            (whole, number(rest)?)
        }
        (None, None) => {
            let (whole, rest) = text.split_at_checked(text.len().checked_sub(6)?)?;
            (whole, number(rest)? / 1e4)
        }
    };
    let whole = if whole.is_empty() { 0.0 } else { number(whole)? };
    let degrees = whole + minutes / 60.0;
    Some(if is_negative { -degrees } else { degrees })
}

fn binary_step(bytes: &[u8]) -> Step {
    let ends = |length: usize| {
        bytes.get(length..).is_some_and(|next| next.is_empty() || begins(next, &bytes[BINARY_ID]))
    };
    // The long form continues the short one, so a wrong guess costs no position.
    let Some(length) = BINARY.into_iter().find(|length| ends(*length)) else {
        return if bytes.len() > BINARY[1] {
            Step::Skip(to_mark(bytes, &[TEXT_MARK, BINARY_MARK]))
        } else {
            Step::More
        };
    };
    match binary_message(&bytes[..length]) {
        Some(message) => Step::Message(length, message),
        None => Step::Skip(to_mark(bytes, &[TEXT_MARK, BINARY_MARK])),
    }
}

/// Whether bytes behind a binary message begin another one of the same device, as far as they go: the long form may have a mark
/// among its own bytes, where the short one would end.
fn begins(next: &[u8], id: &[u8]) -> bool {
    match next {
        [BINARY_MARK, after @ ..] => after.iter().zip(id).all(|(one, other)| one == other),
        [TEXT_MARK, after @ ..] => {
            let is_maker = after.iter().take(2).all(u8::is_ascii_alphabetic);
            is_maker && after.get(2).is_none_or(|byte| *byte == b',')
        }
        _ => false,
    }
}

/// Mark, id (5 bytes), time, date, latitude (4), battery, longitude with flags (5), speed and course (3), status (4),
/// and more of no use here; all but the status in decimal digits, two to the byte.
fn binary_message(bytes: &[u8]) -> Option<Message> {
    let hex: String = bytes.iter().take(32).map(|byte| format!("{byte:02x}")).collect();
    let digits = |from: usize, count: usize| number(hex.get(from..from + count)?);
    let (time, date) = (six_digits(hex.get(12..18)?)?, six_digits(hex.get(18..24)?)?);
    let latitude = digits(24, 2)? + digits(26, 6)? / 1e4 / 60.0;
    let longitude = digits(34, 3)? + digits(37, 6)? / 1e4 / 60.0;
    let (knots, heading) = (digits(44, 3)?, digits(47, 3)?);
    let flags = u8::from_str_radix(hex.get(43..44)?, 16).ok()?;
    let status = u32::from_str_radix(hex.get(50..58)?, 16).ok()?;
    let (latitude, longitude) = (
        if flags & 4 == 0 { -latitude } else { latitude },
        if flags & 8 == 0 { -longitude } else { longitude },
    );
    let mut message = Message { device: name(&hex[2..12]), ..Message::default() };
    if flags & 2 != 0 {
        let recorded_at = instant((2000 + i16::from(date.2), date.1, date.0), time);
        let reported = reported((latitude, longitude), Some(knots), Some(heading), Some(status));
        message.items.push(item(recorded_at, reported, NewAttributes::default()));
    }
    Some(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 45 bytes of device 4209134133.
    const LONG: &str =
        "2442091341332059572807175137358006000183640e000000fffffbfdff001f080000000000ea1e0000000021";
    /// 32 bytes of device 4106011660.
    const SHORT: &str = "2441060116601245431311165035313006004318210e000000fffffbffff0024";
    const TEXT: &[u8] = b"*HQ,4209134133,V1,105759,A,37573392,S,145037022,E,000.00,173,280122,FF7FFBFF#";

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
    }

    /// The lengths of what is read, and of what is skipped as negative numbers.
    fn lengths(mut bytes: &[u8]) -> Vec<i64> {
        let mut found = Vec::new();
        while !bytes.is_empty() {
            let (length, sign) = match H02.step(bytes, Timestamp::from_micros(0)) {
                Step::Message(length, _) => (length, 1),
                Step::Skip(length) => (length, -1),
                Step::More | Step::Broken => break,
            };
            found.push(sign * length as i64);
            bytes = &bytes[length..];
        }
        found
    }

    #[test]
    fn a_mark_inside_a_long_message_ends_no_short_one() {
        for mark in [TEXT_MARK, BINARY_MARK] {
            let mut long = hex(LONG);
            long[32] = mark;
            assert_eq!(lengths(&[&long[..], &long, TEXT].concat()), [45, 45, TEXT.len() as i64]);
            // All but its last bytes is the beginning of it.
            assert_eq!(lengths(&long[..44]), [0; 0]);
        }
    }

    #[test]
    fn short_messages_end_where_the_next_one_of_the_device_begins() {
        let short = hex(SHORT);
        assert_eq!(lengths(&[&short[..], &short, TEXT].concat()), [32, 32, TEXT.len() as i64]);
        for next in [&short[..1], &short[..4], &TEXT[..1], &TEXT[..3]] {
            assert_eq!(lengths(&[&short[..], next].concat()), [32]);
        }
    }

    #[test]
    fn a_mark_before_what_is_no_text_swallows_nothing() {
        let begun = [&b"*\x01\x02"[..], TEXT].concat();
        assert_eq!(lengths(&begun), [-1, -2, TEXT.len() as i64]);
        let binary = [&b"*HQ,"[..], &hex(SHORT)].concat();
        assert_eq!(lengths(&binary), [-1, -3, 32]);
    }
}
