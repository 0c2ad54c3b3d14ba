//! Recorded messages of real devices, and whatever else may come in: cut, mixed, damaged, made up.

use std::fmt::Write as _;

use proptest::prelude::*;
use rand::RngExt;
use rand::rngs::StdRng;

use waypost_actors::model::Timestamp;
use waypost_test_support::each_input;

use super::inbox::Inbox;
use super::message::Message;
use super::protocols::dialect;
use super::teltonika::datagram;
use crate::config::DeviceProtocol;
use crate::ingest::decode::{BadItem, Item};

const NOW: &str = "2026-05-01T12:00:00Z";
const GREETING: &[u8] = b"\x00\x0f123456789012345";
const PROTOCOLS: [DeviceProtocol; 4] =
    [DeviceProtocol::Teltonika, DeviceProtocol::Gt06, DeviceProtocol::H02, DeviceProtocol::Queclink];

/// A recorded message and what must come of it, as lines.
struct Recorded {
    bytes: Vec<u8>,
    expected: Vec<String>,
}

fn recorded(text: &str, bytes: fn(&str) -> Vec<u8>) -> Vec<Recorded> {
    let mut all: Vec<Recorded> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("  "), all.last_mut()) {
            (Some(expected), Some(last)) => last.expected.push(expected.to_owned()),
            _ => all.push(Recorded { bytes: bytes(line), expected: Vec::new() }),
        }
    }
    assert!(all.iter().all(|one| !one.expected.is_empty()), "a message without what must come of it");
    all
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn plain(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

macro_rules! fixture {
    ($name:literal, $bytes:expr) => {
        recorded(include_str!(concat!("../../../tests/fixtures/inputs/", $name)), $bytes)
    };
}

fn fixtures(protocol: DeviceProtocol) -> Vec<Recorded> {
    match protocol {
        DeviceProtocol::Teltonika => fixture!("teltonika/messages.txt", hex),
        DeviceProtocol::Gt06 => fixture!("gt06/messages.txt", hex),
        DeviceProtocol::H02 => {
            let mut both = fixture!("h02/messages.txt", plain);
            both.extend(fixture!("h02/binary.txt", hex));
            both
        }
        DeviceProtocol::Queclink => fixture!("queclink/messages.txt", plain),
    }
}

/// A connection, past the greeting where there is one.
fn inbox(protocol: DeviceProtocol) -> Inbox {
    let mut inbox = Inbox::new(dialect(protocol));
    if protocol == DeviceProtocol::Teltonika {
        inbox.hear(GREETING);
        let greeting = inbox.take(now()).unwrap().unwrap();
        assert_eq!((greeting.device.as_deref(), &greeting.answer[..]), (Some("123456789012345"), &[1][..]));
    }
    inbox
}

fn now() -> Timestamp {
    Timestamp::parse(NOW).unwrap()
}

fn number(value: f64) -> String {
    let text = format!("{value:.7}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

fn fix_line(item: &Result<Item<'_>, BadItem>) -> String {
    let Ok(item) = item else { return "bad".to_owned() };
    let reported = &item.reported;
    let at = item.recorded_at.as_ref().map_or_else(|_| "invalid".to_owned(), ToString::to_string);
    let mut line = format!("fix {at} {} {}", number(reported.latitude), number(reported.longitude));
    let fuel = reported.fuel.map(|fuel| match fuel {
        waypost_actors::model::FuelReading::Percent(percent) => format!("{}%", number(percent)),
        waypost_actors::model::FuelReading::Liters(liters) => format!("{}l", number(liters)),
        other => format!("{other:?}"),
    });
    for (name, value) in [
        ("speed", reported.speed_kmh.map(number)),
        ("heading", reported.heading_degrees.map(number)),
        ("altitude", reported.altitude_meters.map(number)),
        ("odometer", reported.odometer_km.map(number)),
        ("ignition", reported.ignition.map(|on| if on { "on" } else { "off" }.to_owned())),
        ("fuel", fuel),
        ("burnt", reported.fuel_cumulative.map(number)),
    ] {
        if let Some(value) = value {
            write!(line, " {name}={value}").unwrap();
        }
    }
    line
}

fn lines(protocol: DeviceProtocol, message: &Message) -> Vec<String> {
    let answer = match protocol {
        DeviceProtocol::Teltonika | DeviceProtocol::Gt06 => {
            message.answer.iter().map(|byte| format!("{byte:02x}")).collect()
        }
        _ => String::from_utf8(message.answer.clone()).unwrap(),
    };
    let mut lines: Vec<String> = message.device.iter().map(|device| format!("device {device}")).collect();
    lines.extend(message.is_damaged.then(|| "damaged".to_owned()));
    lines.extend(message.items.iter().map(fix_line));
    lines.extend((!answer.is_empty()).then(|| format!("answer {answer}")));
    if lines.is_empty() {
        lines.push("nothing".to_owned());
    }
    lines
}

/// Everything that some bytes say, or as much as was said before they made no sense.
fn drain(inbox: &mut Inbox, bytes: &[u8]) -> (Vec<Message>, bool) {
    inbox.hear(bytes);
    let mut messages = Vec::new();
    loop {
        match inbox.take(now()) {
            Ok(Some(message)) => messages.push(message),
            Ok(None) => return (messages, true),
            Err(_) => return (messages, false),
        }
    }
}

#[test]
fn recorded_messages_say_what_they_say() {
    for protocol in PROTOCOLS {
        for one in fixtures(protocol) {
            let (messages, is_whole) = drain(&mut inbox(protocol), &one.bytes);
            let told: Vec<String> = messages.iter().flat_map(|message| lines(protocol, message)).collect();
            let told = if told.is_empty() { vec!["nothing".to_owned()] } else { told };
            assert_eq!((told, is_whole), (one.expected, true), "{protocol:?}: {}", one.bytes.escape_ascii());
        }
    }
}

#[test]
fn records_that_arrived_whole_and_cannot_be_read_are_refused_for_good() {
    // Of a message without a position, and of one with two.
    for (index, positions) in [(0, 0), (5, 1)] {
        let mut one = fixtures(DeviceProtocol::Teltonika).remove(index);
        one.bytes[18] = 9; // a priority that there is not
        let end = one.bytes.len() - 4;
        let sum = crc_16(&one.bytes[8..end]);
        one.bytes[end + 2..].copy_from_slice(&sum.to_be_bytes());
        one.expected.splice(..positions, ["bad".to_owned()]);
        let (messages, is_whole) = drain(&mut inbox(DeviceProtocol::Teltonika), &one.bytes);
        assert_eq!((messages.len(), is_whole), (1, true));
        assert_eq!(lines(DeviceProtocol::Teltonika, &messages[0]), one.expected);
    }
}

/// CRC-16/ARC by the book.
fn crc_16(bytes: &[u8]) -> u16 {
    let bit = |sum: u16| if sum & 1 == 1 { (sum >> 1) ^ 0xa001 } else { sum >> 1 };
    bytes.iter().fold(0, |sum, byte| (0..8).fold(sum ^ u16::from(*byte), |sum, _| bit(sum)))
}

#[test]
fn recorded_datagrams_say_what_they_say() {
    for one in fixture!("teltonika/datagrams.txt", hex) {
        let read = datagram(&one.bytes).unwrap();
        let mut told = vec![format!("device {}", read.device)];
        told.extend(read.items.iter().map(fix_line));
        let answer: String = read.answer().iter().map(|byte| format!("{byte:02x}")).collect();
        told.push(format!("answer {answer}"));
        assert_eq!(told, one.expected);
        for end in 0..one.bytes.len() {
            assert!(datagram(&one.bytes[..end]).is_none(), "half of one is none");
        }
    }
}

#[test]
fn a_time_zone_of_the_login_moves_what_comes_after() {
    let fix =
        fixtures(DeviceProtocol::Gt06).into_iter().find(|one| one.expected[0].starts_with("fix")).unwrap();
    let at = |inbox: &mut Inbox| {
        let (messages, _) = drain(inbox, &fix.bytes);
        messages[0].items[0].as_ref().unwrap().recorded_at.clone().unwrap()
    };
    let utc = at(&mut inbox(DeviceProtocol::Gt06));
    // Eight hours east of Greenwich (800 in clock digits, shifted by four bits), and the same to the west.
    for (login, hours) in [("7878110103587390525704500001320000010000", 8.0), ("", 0.0)] {
        let mut inbox = inbox(DeviceProtocol::Gt06);
        if !login.is_empty() {
            let mut bytes = hex(&login[..32]);
            bytes.splice(14..16, [0x32, 0x00]);
            bytes.extend([0x00, 0x01]);
            let sum = gt06_sum(&bytes[2..]);
            bytes.extend(sum);
            bytes.extend([0x0d, 0x0a]);
            assert_eq!(drain(&mut inbox, &bytes).0[0].device.as_deref(), Some("358739052570450"));
        }
        assert_eq!(utc.seconds_since(at(&mut inbox)), hours * 3_600.0);
    }
}

/// CRC-16/X-25 by the book, one bit at a time from the front.
fn gt06_sum(bytes: &[u8]) -> [u8; 2] {
    let mut sum = 0xffff_u16;
    for byte in bytes {
        for bit in 0..8 {
            let is_odd = (sum ^ u16::from(byte >> bit)) & 1 == 1;
            sum >>= 1;
            if is_odd {
                sum ^= 0x8408;
            }
        }
    }
    (!sum).to_be_bytes()
}

#[test]
fn a_device_that_never_ends_a_message_or_sends_only_garbage_is_given_up() {
    for (protocol, begin, more) in [
        (DeviceProtocol::H02, "*HQ,", "1,"),
        (DeviceProtocol::H02, "", "x"),
        (DeviceProtocol::Queclink, "+RESP:GTFRI,", "1,"),
        (DeviceProtocol::Queclink, "", "\r\n"),
        (DeviceProtocol::Gt06, "", "\r\n"),
        (DeviceProtocol::Gt06, "", "yy\x04\x00"),
    ] {
        let mut inbox = inbox(protocol);
        let mut is_whole = drain(&mut inbox, begin.as_bytes()).1;
        let mut sent = 0;
        while is_whole {
            is_whole = drain(&mut inbox, more.as_bytes()).1;
            sent += more.len();
            assert!(sent < 20_000, "{protocol:?} {begin:?} {more:?} goes on for ever");
        }
    }
    for greeting in [&b"\xff"[..], b"GET / HTTP/1.1", b"\x00\x00", b"\x00\xff", b"\x00\x0f1234567890-2345"] {
        let mut inbox = Inbox::new(dialect(DeviceProtocol::Teltonika));
        let is_whole = drain(&mut inbox, greeting).1 && drain(&mut inbox, &[b'1'; 64]).1;
        assert!(!is_whole, "{greeting:?} is no greeting");
    }
    let mut inbox = inbox(DeviceProtocol::Teltonika);
    assert!(!drain(&mut inbox, b"\x00\x00\x00\x00\x7f\xff\xff\xff").1, "a frame of two gigabytes");
}

/// Joins recorded messages.
fn joined(messages: &[Recorded], which: &[usize]) -> Vec<u8> {
    which.iter().flat_map(|index| messages[index % messages.len()].bytes.clone()).collect()
}

proptest! {
    #[test]
    fn it_does_not_matter_how_the_bytes_are_cut(
        protocol in 0..PROTOCOLS.len(), which in prop::collection::vec(any::<usize>(), 1..6),
        cuts in prop::collection::vec(1..400_usize, 1..12),
    ) {
        let protocol = PROTOCOLS[protocol];
        // The binary form of H02 has no end mark: where it ends is told by what follows.
        let all: Vec<Recorded> = fixtures(protocol).into_iter().filter(|one| one.bytes[0] != b'$').collect();
        let bytes = joined(&all, &which);
        let whole = drain(&mut inbox(protocol), &bytes).0;
        let (mut inbox, mut parts, mut rest) = (inbox(protocol), Vec::new(), &bytes[..]);
        for cut in cuts.into_iter().cycle() {
            let (part, after) = rest.split_at(cut.min(rest.len()));
            parts.extend(drain(&mut inbox, part).0);
            rest = after;
            if rest.is_empty() { break; }
        }
        prop_assert_eq!(parts, whole);
    }

    #[test]
    fn after_garbage_or_half_a_message_the_next_ones_are_read(
        protocol in 1..PROTOCOLS.len(), half in any::<usize>(), cut in 1..20_usize,
        garbage in prop::collection::vec(any::<u8>(), 0..40), which in any::<usize>(),
    ) {
        let protocol = PROTOCOLS[protocol];
        let all: Vec<Recorded> = fixtures(protocol).into_iter().filter(|one| one.bytes[0] != b'$').collect();
        let half = &all[half % all.len()].bytes;
        let mut bytes = half[..half.len() - cut.min(half.len() - 1)].to_vec();
        bytes.extend(garbage.iter().filter(|byte| !b"*$#+xy".contains(byte)));
        // Something that is cut off may swallow what follows it, but not for long.
        bytes.extend(joined(&all, &[which; 100]));
        let one = drain(&mut inbox(protocol), &all[which % all.len()].bytes).0;
        let read = drain(&mut inbox(protocol), &bytes).0;
        prop_assert!(read.ends_with(&one), "{:?}", bytes.escape_ascii().to_string());
    }
}

/// Some bytes: recorded messages, damaged in a few places, or noise.
fn damaged(random: &mut StdRng, all: &[Recorded]) -> Vec<u8> {
    let mut bytes: Vec<u8> = match random.random_range(0..8) {
        0 => (0..random.random_range(1..200)).map(|_| random.random()).collect(),
        _ => {
            let count = random.random_range(1..4);
            (0..count).flat_map(|_| all[random.random_range(0..all.len())].bytes.clone()).collect()
        }
    };
    for _ in 0..random.random_range(0..6) {
        let at = random.random_range(0..bytes.len());
        match random.random_range(0..4) {
            0 => bytes[at] = random.random(),
            1 => bytes[at] ^= 1 << random.random_range(0..8),
            2 if bytes.len() > 1 => bytes.truncate(at.max(1)),
            _ => bytes.insert(at, random.random()),
        }
    }
    bytes
}

/// Gives a damaged message its right check sum, so that what is in it is read.
fn mend(bytes: &mut [u8]) {
    if let Some(end) = bytes.len().checked_sub(4).filter(|end| *end > 2) {
        let sum = gt06_sum(&bytes[2..end]);
        bytes[end..end + 2].copy_from_slice(&sum);
    }
}

/// `WAYPOST_TEST_INPUTS=10000000` for the long run.
fn whatever_comes_in_is_read_within_bounds(protocol: DeviceProtocol) {
    let fixtures = fixtures(protocol);
    each_input(protocol.as_str(), |random| {
        let mut bytes = damaged(random, &fixtures);
        if protocol == DeviceProtocol::Gt06 && random.random() {
            mend(&mut bytes);
        }
        let is_new = random.random_range(0..8) == 0;
        let mut inbox = if is_new { Inbox::new(dialect(protocol)) } else { inbox(protocol) };
        let cut = random.random_range(0..=bytes.len());
        for part in [&bytes[..cut], &bytes[cut..]] {
            let (messages, is_whole) = drain(&mut inbox, part);
            let items: usize = messages.iter().map(|message| message.items.len()).sum();
            assert!(items <= bytes.len() / 7, "{items} items of {} bytes", bytes.len());
            assert!(messages.iter().all(|message| message.answer.len() <= 2 * bytes.len() + 40));
            if !is_whole {
                break;
            }
        }
        assert!(inbox.held() <= 2 * bytes.len() + 16, "it holds {} of {} bytes", inbox.held(), bytes.len());
    });
}

macro_rules! whatever_comes_in {
    ($($name:ident: $protocol:expr),+ $(,)?) => {
        $(#[test]
        fn $name() {
            whatever_comes_in_is_read_within_bounds($protocol);
        })+
    };
}

whatever_comes_in!(
    whatever_comes_in_as_teltonika: DeviceProtocol::Teltonika,
    whatever_comes_in_as_gt06: DeviceProtocol::Gt06,
    whatever_comes_in_as_h02: DeviceProtocol::H02,
    whatever_comes_in_as_queclink: DeviceProtocol::Queclink,
);

#[test]
fn whatever_comes_in_as_datagrams() {
    // Framed as datagrams are: a header, the IMEI, and what a frame has between its length and its check sum.
    let framed = |one: Recorded| {
        let data = one.bytes.get(8..one.bytes.len().saturating_sub(4)).unwrap_or_default();
        let parts = [&[0xca, 0xfe, 1, 5, 0, 15][..], b"352093086403655", data].concat();
        Recorded { bytes: [&(parts.len() as u16).to_be_bytes()[..], &parts].concat(), expected: Vec::new() }
    };
    let fixtures: Vec<Recorded> = fixtures(DeviceProtocol::Teltonika).into_iter().map(framed).collect();
    assert!(fixtures.iter().any(|one| datagram(&one.bytes).is_some_and(|read| !read.items.is_empty())));
    each_input("datagrams", |random| {
        let bytes = damaged(random, &fixtures);
        let Some(read) = datagram(&bytes) else { return };
        assert!(read.items.len() <= bytes.len() / 7 && read.raw.len() == bytes.len());
    });
}
