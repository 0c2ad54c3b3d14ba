//! Teltonika, codecs 8, 8 Extended and 16, over TCP and UDP. The framing is `nom-teltonika`'s; what the IO elements
//! mean is said here. An answer counts the records, and makes the device forget them.
//!
//! Units: km/h, metres, 10⁻⁷ degrees, milliseconds since 1970. Zero satellites say that the coordinates are the last
//! known place or zeros, so such a record is no position.

use nom_teltonika::decoder::{
    DecodeFrameError, DecodeImeiError, FrameError, take_datagram, take_frame, take_imei,
};
use nom_teltonika::encoder::{encode_avl_ack, encode_avl_nack, encode_imei_approval, encode_udp_ack};
use nom_teltonika::protocol::{AvlPacketView, AvlRecordView, DatagramIds, FrameView, IoValueView};
use waypost_actors::model::{AttributeValue, FuelReading, NewAttributes, Timestamp};
use waypost_actors::tracking::Reported;

use super::message::{Dialect, MAX_NAME, Message, Step, item, name};
use crate::ingest::decode::{BadItem, Item};

/// Bytes of the longest frame; the crate refuses a header that announces more.
const LONGEST: usize = 65_535;
/// Devices send it now and then to keep the connection open.
const KEEP_ALIVE: u8 = 0xff;
/// Where a frame says how many records it has: behind its preamble, its length and its codec.
const RECORDS_AT: usize = 9;
/// Bytes of the length before the IMEI.
const PREFIX: usize = 2;

/// A device's connection: first its IMEI, then frames of records.
#[derive(Debug, Default)]
pub(super) struct Teltonika {
    is_greeted: bool,
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
            Ok(FrameView::Avl(packet)) => Step::Message(length, records(packet)),
            // The answer to a command, which is none of ours.
            Ok(_) => Step::Skip(length),
            Err(DecodeFrameError::Incomplete { .. }) => Step::More,
            // A command's answer again, or a codec of devices that are long out of use.
            Err(DecodeFrameError::InvalidFrame {
                len,
                reason: FrameError::UnsupportedCodec(_) | FrameError::Gprs(_),
            }) => Step::Skip(len),
            // Nothing was damaged on the way: sent again, it would be the same, and what the device has recorded since would wait
            // behind it.
            Err(DecodeFrameError::InvalidFrame { len, reason: FrameError::Avl(error) }) => {
                let unread = BadItem::new(format!("the records cannot be read: {error}"));
                let answer = encode_avl_ack(u32::from(bytes[RECORDS_AT])).to_vec();
                Step::Message(len, Message { items: vec![Err(unread)], answer, ..Message::default() })
            }
            Err(DecodeFrameError::InvalidFrame { len, .. }) => {
                let answer = encode_avl_nack().to_vec();
                Step::Message(len, Message { answer, is_damaged: true, ..Message::default() })
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
}

fn records(packet: AvlPacketView<'_>) -> Message {
    let count = packet.records().len() as u32;
    Message { items: items(packet), answer: encode_avl_ack(count).to_vec(), ..Message::default() }
}

fn items(packet: AvlPacketView<'_>) -> Vec<Result<Item<'static>, BadItem>> {
    packet.records().filter(|record| record.gps().satellites > 0).map(position).collect()
}

fn position(record: AvlRecordView<'_>) -> Result<Item<'static>, BadItem> {
    let (gps, millis) = (record.gps(), u64::from(record.timestamp()));
    let recorded_at = i64::try_from(millis).ok().and_then(|millis| Timestamp::from_millis(millis).ok());
    let mut reported = Reported {
        latitude: f64::from(gps.latitude_raw) / 1e7,
        longitude: f64::from(gps.longitude_raw) / 1e7,
        speed_kmh: Some(f64::from(gps.speed_kph)),
        heading_degrees: (gps.angle_degrees <= 360).then(|| f64::from(gps.angle_degrees)),
        // Two's complement, which the crate reads as unsigned.
        altitude_meters: Some(f64::from(gps.altitude_meters.cast_signed())),
        ..Reported::default()
    };
    let mut carried = NewAttributes::default();
    carried.note("satellites", Some(f64::from(gps.satellites)));
    let (mut inputs, mut temperatures) = (Vec::new(), Vec::new());
    for element in record.io_elements() {
        let (id, value) = (u16::from(element.id()), element.value());
        read_io(&mut reported, id, value);
        carry_io(&mut carried, id, value);
        match (id, value) {
            // The first, second and third one, in their order.
            (1..=3, IoValueView::U8(on)) if usize::from(id) == inputs.len() + 1 => inputs.push(on > 0),
            (72..=75, IoValueView::U32(tenths)) if usize::from(id) == temperatures.len() + 72 => {
                temperatures.extend(dallas_celsius(tenths));
            }
            _ => {}
        }
    }
    carried.note("inputs", Some(AttributeValue::Flags(inputs)));
    carried.note("temperatureCelsius", Some(AttributeValue::Numbers(temperatures)));
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
    let mut rest = bytes;
    let view = take_datagram(&mut rest).ok()?;
    Some(Datagram {
        device: name(&view.imei())?,
        items: items(view.packet()),
        raw: bytes.to_vec(),
        ids: view.ids(),
        records: u8::try_from(view.packet().records().len()).ok()?,
    })
}
