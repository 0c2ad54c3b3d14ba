//! Teltonika, codecs 8, 8 Extended and 16, over TCP and UDP. The framing is `nom-teltonika`'s, the records are cut by
//! `teltonika_records.rs`, and what they mean is said here. An answer counts the records, and makes the device forget
//! them.
//!
//! Units: km/h, metres, 10⁻⁷ degrees, milliseconds since 1970. Zero satellites say that the coordinates are the last
//! known place or zeros, so such a record is no position.

use std::net::IpAddr;

use nom_teltonika::crc16;
use nom_teltonika::decoder::{
    DatagramError, DecodeDatagramError, DecodeFrameError, DecodeImeiError, FrameError, HeaderError,
    take_datagram, take_frame, take_imei,
};
use nom_teltonika::encoder::{encode_avl_ack, encode_avl_nack, encode_imei_approval, encode_udp_ack};
use nom_teltonika::protocol::{DatagramIds, FrameView, IoValueView};
use waypost_actors::model::{AttributeValue, FuelReading, NewAttributes, Timestamp};
use waypost_actors::tracking::Reported;

use super::message::{Dialect, MAX_NAME, Message, Step, item, name};
use super::teltonika_records::{Record, records};
use crate::ingest::decode::{BadItem, Item};

/// Bytes of the longest frame; the crate refuses a header that announces more.
const LONGEST: usize = 65_535;
/// Devices send it now and then to keep the connection open.
const KEEP_ALIVE: u8 = 0xff;
/// Bytes of a frame before its codec: its preamble and its length.
const FRAME_HEAD: usize = 8;
/// Bytes of a frame behind its records.
const CHECK_SUM: usize = 4;
/// Bytes of a frame around its records.
const FRAME_OVERHEAD: u64 = (FRAME_HEAD + CHECK_SUM) as u64;
/// Bytes of records that a frame of codec 8 or 8 Extended may have. The crate takes that for the length of the whole frame.
const LONGEST_RECORDS: u64 = 1_280;
/// Bytes of a datagram before its IMEI.
const DATAGRAM_HEAD: usize = 6;
/// Bytes of the length before the IMEI.
const PREFIX: usize = 2;
/// Codecs of commands and of what is said to them: 12, 13, 14, 15 and 17.
const COMMANDS: [u8; 5] = [0x0c, 0x0d, 0x0e, 0x0f, 0x11];

/// A device's connection: first its IMEI, then frames of records.
#[derive(Debug, Default)]
pub(super) struct Teltonika {
    is_greeted: bool,
    /// Whether it was said that the device's codec is not read.
    is_codec_told: bool,
}

impl Dialect for Teltonika {
    fn longest(&self) -> usize {
        if self.is_greeted { LONGEST } else { PREFIX + MAX_NAME }
    }

    fn step(&mut self, bytes: &[u8], _now: Timestamp) -> Step {
        if !self.is_greeted {
            return self.greet(bytes);
        }
        if bytes.first() == Some(&KEEP_ALIVE) {
            return Step::Skip(1);
        }
        let mut rest = bytes;
        let taken = take_frame(&mut rest);
        let length = bytes.len() - rest.len();
        match taken {
            // Whatever is wrong with records was not damaged on the way: sent again, it would be the same, and what the device has
            // recorded since would wait behind it.
            Ok(FrameView::Avl(_))
            | Err(DecodeFrameError::InvalidFrame { reason: FrameError::Avl(_), .. }) => {
                sound(length, &bytes[FRAME_HEAD..length - CHECK_SUM])
            }
            Err(DecodeFrameError::Incomplete { .. }) => Step::More,
            Err(DecodeFrameError::InvalidFrame { reason: FrameError::UnsupportedCodec(codec), .. })
                if !COMMANDS.contains(&codec) =>
            {
                Step::Message(length, self.unread(codec))
            }
            // The answer to a command, which is none of ours.
            Ok(_)
            | Err(DecodeFrameError::InvalidFrame {
                reason: FrameError::UnsupportedCodec(_) | FrameError::Gprs(_),
                ..
            }) => Step::Skip(length),
            Err(DecodeFrameError::InvalidFrame { .. }) => damaged(length),
            Err(DecodeFrameError::InvalidHeader(HeaderError::TooLong { declared, .. }))
                if declared <= LONGEST_RECORDS + FRAME_OVERHEAD =>
            {
                long_frame(bytes, declared as usize)
            }
            Err(DecodeFrameError::InvalidHeader(_)) => Step::Broken,
        }
    }

    fn refusal(&self) -> &'static [u8] {
        const REFUSED: [u8; 1] = encode_imei_approval(false);
        &REFUSED
    }
}

impl Teltonika {
    fn greet(&mut self, bytes: &[u8]) -> Step {
        if bytes.first().is_some_and(|byte| *byte != 0) || bytes.get(1) == Some(&0) {
            return Step::Broken;
        }
        let mut rest = bytes;
        match take_imei(&mut rest) {
            Ok(imei) => match name(&imei) {
                Some(device) => {
                    self.is_greeted = true;
                    let answer = encode_imei_approval(true).to_vec();
                    let greeting = Message { device: Some(device), answer, ..Message::default() };
                    Step::Message(bytes.len() - rest.len(), greeting)
                }
                None => Step::Broken,
            },
            Err(DecodeImeiError::Incomplete { .. }) => Step::More,
            Err(DecodeImeiError::NotAscii(_)) => Step::Broken,
        }
    }

    /// Records in a codec that is not read: without an answer the device keeps them, and people are told once per connection.
    fn unread(&mut self, codec: u8) -> Message {
        let is_told = std::mem::replace(&mut self.is_codec_told, true);
        let told = || {
            Err(BadItem::new(format!("codec {codec} is not read: set the device to codec 8 or 8 Extended")))
        };
        Message { items: (!is_told).then(told).into_iter().collect(), ..Message::default() }
    }
}

/// A frame that arrived as it was sent. `data`: its records.
fn sound(length: usize, data: &[u8]) -> Step {
    let (announced, items) = items(data);
    let answer = encode_avl_ack(u32::from(announced)).to_vec();
    Step::Message(length, Message { items, answer, ..Message::default() })
}

/// A frame that did not.
fn damaged(length: usize) -> Step {
    let answer = encode_avl_nack().to_vec();
    Step::Message(length, Message { answer, is_damaged: true, ..Message::default() })
}

/// A frame of records that is longer than the crate takes one.
fn long_frame(bytes: &[u8], length: usize) -> Step {
    let Some(frame) = bytes.get(..length) else { return Step::More };
    let (data, sum) = frame[FRAME_HEAD..].split_at(length - FRAME_HEAD - CHECK_SUM);
    if sum == u32::from(crc16(data)).to_be_bytes() { sound(length, data) } else { damaged(length) }
}

/// How many records a message says it has, and its positions. `data`: from the codec to the number of records at the end.
fn items(data: &[u8]) -> (u8, Vec<Result<Item<'static>, BadItem>>) {
    let (announced, records) = records(data);
    let is_sign_of_life =
        |record: &Result<Record<'_>, BadItem>| matches!(record, Ok(record) if record.gps.satellites == 0);
    let others = records.into_iter().filter(|record| !is_sign_of_life(record));
    (announced, others.map(|record| record.and_then(position)).collect())
}

fn position(record: Record<'_>) -> Result<Item<'static>, BadItem> {
    let (gps, millis) = (record.gps, record.millis);
    let recorded_at = i64::try_from(millis).ok().and_then(|millis| Timestamp::from_millis(millis).ok());
    let mut reported = Reported {
        latitude: f64::from(gps.latitude_raw) / 1e7,
        longitude: f64::from(gps.longitude_raw) / 1e7,
        speed_kmh: Some(f64::from(gps.speed_kph)),
        heading_degrees: Some(f64::from(gps.angle_degrees)),
        // Two's complement, which the crate reads as unsigned.
        altitude_meters: Some(f64::from(gps.altitude_meters.cast_signed())),
        ..Reported::default()
    };
    let mut carried = NewAttributes::default();
    carried.note("satellites", Some(f64::from(gps.satellites)));
    let (mut inputs, mut temperatures) = ([None; 3], [None; 4]);
    for (id, value) in record.elements {
        read_io(&mut reported, id, value);
        carry_io(&mut carried, id, value);
        match (id, value) {
            (1..=3, IoValueView::U8(on)) => inputs[usize::from(id) - 1] = Some(on > 0),
            (72..=75, IoValueView::U32(tenths)) => {
                temperatures[usize::from(id) - 72] = dallas_celsius(tenths);
            }
            _ => {}
        }
    }
    carry_numbered(&mut carried, "inputs", &inputs, AttributeValue::Flags);
    carry_numbered(&mut carried, "temperatureCelsius", &temperatures, AttributeValue::Numbers);
    item(
        recorded_at.ok_or_else(|| format!("recordedAt {millis} is out of range: milliseconds since 1970")),
        reported,
        carried,
    )
}

fn read_io(reported: &mut Reported, id: u16, value: IoValueView<'_>) {
    match (id, value) {
        (239, IoValueView::U8(on)) => reported.ignition = Some(on > 0),
        (16, IoValueView::U32(meters)) => reported.odometer_km = Some(f64::from(meters) / 1e3),
        (12, IoValueView::U32(milliliters)) => reported.fuel_cumulative = Some(f64::from(milliliters) / 1e3),
        (84, IoValueView::U16(deciliters)) if reported.fuel.is_none() => {
            reported.fuel = Some(FuelReading::Liters(f64::from(deciliters) / 10.0));
        }
        (89, IoValueView::U8(percent)) if percent <= 100 => {
            reported.fuel = Some(FuelReading::Percent(f64::from(percent)));
        }
        _ => {}
    }
}

/// Millivolts, tenths, numbers of cards; of several alarms of a record the last.
fn carry_io(carried: &mut NewAttributes, id: u16, value: IoValueView<'_>) {
    let alarm = |word: &'static str, on: u8| (on > 0).then_some(word);
    match (id, value) {
        (66, IoValueView::U16(millivolts)) => {
            carried.note("externalVolts", Some(f64::from(millivolts) / 1e3));
        }
        (67, IoValueView::U16(millivolts)) => carried.note("batteryVolts", Some(f64::from(millivolts) / 1e3)),
        (113, IoValueView::U8(percent)) => carried.note("batteryPercent", Some(f64::from(percent))),
        (182, IoValueView::U16(tenths)) => carried.note("hdop", Some(f64::from(tenths) / 10.0)),
        // 0 says that no card is there.
        (78, IoValueView::U64(0)) => carried.note("driverCard", Some("")),
        (78, IoValueView::U64(card)) => {
            carried.note("driverCard", Some(format!("{card:016X}").as_str()));
        }
        (236, IoValueView::U8(on)) => carried.note("alarm", alarm("general", on)),
        (246, IoValueView::U8(on)) => carried.note("alarm", alarm("tow", on)),
        (247, IoValueView::U8(on)) => carried.note("alarm", alarm("accident", on)),
        (249, IoValueView::U8(on)) => carried.note("alarm", alarm("jamming", on)),
        (252, IoValueView::U8(on)) => carried.note("alarm", alarm("powerCut", on)),
        _ => {}
    }
}

/// Keeps what numbered sensors say: from the first one on as a list, and what comes after a gap each under the name with
/// its number, since its place in a list would be that of another.
fn carry_numbered<T: Copy + Into<AttributeValue>>(
    carried: &mut NewAttributes,
    name: &str,
    values: &[Option<T>],
    list: fn(Vec<T>) -> AttributeValue,
) {
    let in_a_row: Vec<T> = values.iter().map_while(|value| *value).collect();
    for (number, value) in (1_usize..).zip(values).skip(in_a_row.len()) {
        carried.note(&format!("{name}{number}"), *value);
    }
    carried.note(name, Some(list(in_a_row)));
}

/// Tenths of a degree in two's complement; the sensor is not ready or broken where it says 85 °C or from 200 °C on.
fn dallas_celsius(tenths: u32) -> Option<f64> {
    let celsius = f64::from(tenths.cast_signed()) / 10.0;
    (celsius != 85.0 && celsius < 200.0).then_some(celsius)
}

/// A datagram of records, with all that its answer needs.
#[derive(Clone, Debug)]
pub struct Datagram {
    /// Who sends it.
    pub(super) device: String,
    /// Its positions.
    pub(super) items: Vec<Result<Item<'static>, BadItem>>,
    /// Its bytes.
    pub raw: Vec<u8>,
    /// The address it came from; `None` if a node of a cluster passed it on that does not say it.
    pub sender: Option<IpAddr>,
    ids: DatagramIds,
    records: u8,
}

impl Datagram {
    /// Says that all its records are stored, or refused for good.
    #[must_use]
    pub(super) fn answer(&self) -> [u8; 7] {
        encode_udp_ack(self.ids, self.records)
    }
}

/// Reads one datagram; `None` for anything else, which is not answered.
#[must_use]
pub fn datagram(bytes: &[u8]) -> Option<Datagram> {
    let ids = match take_datagram(&mut &bytes[..]) {
        Ok(view) => view.ids(),
        // As over TCP: what is wrong with records would be wrong again.
        Err(DecodeDatagramError::InvalidDatagram { ids, reason: DatagramError::Avl(_) }) => ids,
        Err(_) => return None,
    };
    let mut named = bytes.get(DATAGRAM_HEAD..)?;
    let device = name(&take_imei(&mut named).ok()?)?;
    let (records, items) = items(named);
    Some(Datagram { device, items, raw: bytes.to_vec(), sender: None, ids, records })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A datagram of one record in codec 8 with a priority and IO elements of one and of four bytes.
    fn sent(priority: u8, bytes: &[(u8, u8)], fours: &[(u8, i32)]) -> Vec<u8> {
        let mut data = vec![0xca, 0xfe, 1, 5, 0, 15];
        data.extend_from_slice(b"352093086403655");
        data.extend([8, 1, 0, 0, 1, 0x8f, 0xdc, 0x4b, 0x27, 0xcb, priority]);
        data.extend([0, 0, 0, 1, 0, 0, 0, 2, 0, 3, 0, 4, 7, 0, 50]);
        data.extend([0, (bytes.len() + fours.len()) as u8, bytes.len() as u8]);
        data.extend(bytes.iter().flat_map(|(id, value)| [*id, *value]));
        data.extend([0, fours.len() as u8]);
        for (id, value) in fours {
            data.push(*id);
            data.extend(value.to_be_bytes());
        }
        data.extend([0, 1]);
        [&(data.len() as u16).to_be_bytes()[..], &data].concat()
    }

    fn attributes(bytes: &[(u8, u8)], fours: &[(u8, i32)]) -> String {
        let read = datagram(&sent(1, bytes, fours)).unwrap();
        read.items[0].as_ref().unwrap().attributes.as_ref().unwrap().as_json().to_owned()
    }

    #[test]
    fn a_datagram_of_an_odd_record_is_answered_and_refused_for_good() {
        let read = datagram(&sent(9, &[], &[])).unwrap();
        assert_eq!((read.device.as_str(), read.items.len()), ("352093086403655", 1));
        assert_eq!(read.items[0].as_ref().unwrap_err().detail, "the record's priority 9 is unknown");
        assert_eq!(read.answer(), [0, 5, 0xca, 0xfe, 1, 5, 1]);
    }

    #[test]
    fn sensors_are_known_by_their_numbers_in_any_order() {
        let four = [(75, -5), (73, 215), (74, 30), (72, 40)];
        assert_eq!(
            attributes(&[(3, 1), (1, 0), (2, 1)], &four),
            r#"{"inputs":[false,true,true],"satellites":7,"temperatureCelsius":[4,21.5,3,-0.5]}"#
        );
        // The second one is broken, and the first input is missing.
        let broken = [(72, 40), (73, 850), (74, 30), (75, -5)];
        assert_eq!(
            attributes(&[(2, 1), (3, 0)], &broken),
            r#"{"inputs2":true,"inputs3":false,"satellites":7,"temperatureCelsius":[4],"temperatureCelsius3":3,"temperatureCelsius4":-0.5}"#
        );
        assert_eq!(attributes(&[], &[(73, 215)]), r#"{"satellites":7,"temperatureCelsius2":21.5}"#);
    }

    /// A frame of one record of codec 8 Extended, with an element that makes its records `length` bytes long.
    fn frame_of(length: usize) -> Vec<u8> {
        let mut data = vec![0x8e, 1, 0, 0, 1, 0x8f, 0xdc, 0x4b, 0x27, 1, 0];
        data.extend([0, 0, 0, 1, 0, 0, 0, 2, 0, 3, 0, 4, 7, 0, 50]);
        data.extend([0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1]);
        data.extend(((length - data.len() - 3) as u16).to_be_bytes());
        data.resize(length - 1, 0);
        data.push(1);
        let sum = u32::from(crc16(&data)).to_be_bytes();
        [&[0; 4][..], &(length as u32).to_be_bytes(), &data, &sum].concat()
    }

    #[test]
    fn a_frame_may_have_1280_bytes_of_records() {
        let now = Timestamp::from_micros(0);
        let mut connection = Teltonika { is_greeted: true, ..Teltonika::default() };
        for length in [1_268, 1_269, 1_280] {
            let mut frame = frame_of(length);
            assert_eq!(connection.step(&frame[..1_000], now), Step::More, "{length}");
            let Step::Message(_, read) = connection.step(&frame, now) else { panic!("{length}: no message") };
            assert_eq!((read.items.len(), &read.answer[..]), (1, &[0, 0, 0, 1][..]), "{length}");
            assert!(read.items[0].is_ok(), "{length}");
            frame[500] ^= 1;
            let Step::Message(_, read) = connection.step(&frame, now) else { panic!("{length}: no message") };
            assert!(read.is_damaged, "{length}");
        }
        assert_eq!(connection.step(&frame_of(1_281), now), Step::Broken);
    }

    #[test]
    fn a_codec_that_is_not_read_is_told_once_and_never_answered() {
        let mut connection = Teltonika { is_greeted: true, ..Teltonika::default() };
        // Codec 7; whether it arrived whole is not looked at.
        let frame = [0, 0, 0, 0, 0, 0, 0, 2, 7, 1, 0, 0, 0, 0];
        let mut told = |frame: &[u8]| -> Vec<String> {
            match connection.step(frame, Timestamp::from_micros(0)) {
                Step::Message(length, message) if length == frame.len() && message.answer.is_empty() => {
                    message.items.into_iter().map(|item| item.unwrap_err().detail).collect()
                }
                step => vec![format!("{step:?}")],
            }
        };
        assert_eq!(told(&frame), ["codec 7 is not read: set the device to codec 8 or 8 Extended"]);
        assert_eq!(told(&frame), [""; 0]);
        // The answer to a command in codec 13.
        let command = [0, 0, 0, 0, 0, 0, 0, 2, 13, 1, 0, 0, 0, 0];
        assert_eq!(told(&command), ["Skip(14)"]);
    }
}
