//! Fixes as this server takes them: items of the tracker socket, requests with one fix as the OsmAnd app makes them, or
//! packets of one record as Teltonika's devices make them.

use std::collections::HashMap;
use std::fmt::Write as _;

use nom_teltonika::encoder::{AvlRecordFields, encode_avl_frame};
use nom_teltonika::protocol::{AvlCodec, GpsElement, Priority};

use super::session::Encode;
use super::{Packing, Speaks};
use crate::load::Slice;
use crate::wire::{http, ws};
use crate::world::Fix;

/// Writes what each connection speaks; frames' items are numbered by connection.
pub(crate) fn encoder(begin_millis: i64, packing: Packing, address: &str, trackers: &[String]) -> Encode {
    let (address, trackers) = (address.to_owned(), trackers.to_vec());
    let mut numbers: HashMap<u32, i64> = HashMap::new();
    Box::new(move |slice: &Slice, connection, fixes, bytes| {
        let spoken = fixes.iter().map(|fix| &slice.fixes[*fix as usize]);
        match packing.speaks(connection) {
            Speaks::Http => {
                let token = trackers.get(connection as usize).map_or("", String::as_str);
                for fix in spoken {
                    let query = osmand_query(fix, begin_millis);
                    bytes.extend(http::get(&address, &format!("/in/{token}?{query}")).bytes());
                }
            }
            Speaks::Teltonika => spoken.for_each(|fix| bytes.extend(teltonika_packet(fix, begin_millis))),
            Speaks::Frames => {
                let next = numbers.entry(connection).or_default();
                let text = frame_text(slice, fixes, *next + 1, begin_millis, packing);
                *next += fixes.len() as i64;
                ws::push_text(&text, bytes);
            }
        }
    })
}

/// What a Teltonika device says first: its name, with the length before it.
pub(super) fn teltonika_greeting(vehicle: u32) -> Vec<u8> {
    let name = format!("v{vehicle}");
    [&(name.len() as u16).to_be_bytes()[..], name.as_bytes()].concat()
}

/// A packet of one record with what an item has, and what none is without: altitude and satellites.
fn teltonika_packet(fix: &Fix, begin_millis: i64) -> Vec<u8> {
    let at = begin_millis + i64::from(fix.round) * 1_000;
    let gps = GpsElement {
        longitude_raw: (fix.place.x * 1e7).round() as i32,
        latitude_raw: (fix.place.y * 1e7).round() as i32,
        altitude_meters: 150,
        angle_degrees: fix.heading,
        satellites: 9,
        speed_kph: 54,
    };
    let record = AvlRecordFields::new((at as u64).into(), Priority::Low, gps);
    encode_avl_frame(AvlCodec::Codec8, &[record]).expect("one record without elements fits into a packet")
}

/// A fix as the OsmAnd app reports it, its speed in knots, without the device's name.
pub(super) fn osmand_query(fix: &Fix, begin_millis: i64) -> String {
    let Fix { round, place, heading, .. } = fix;
    let timestamp = begin_millis + i64::from(*round) * 1_000;
    let (latitude, longitude) = (place.y, place.x);
    format!("lat={latitude}&lon={longitude}&timestamp={timestamp}&speed=29.16&bearing={heading}")
}

/// The text of a frame; its items are numbered from `first` on.
pub(crate) fn frame_text(
    slice: &Slice,
    fixes: &[u32],
    first: i64,
    begin_millis: i64,
    packing: Packing,
) -> String {
    let mut text = String::with_capacity(40 + fixes.len() * 160);
    text.push_str(r#"{"type":"positions","items":["#);
    for (number, fix) in (first..).zip(fixes) {
        if number > first {
            text.push(',');
        }
        push_item(&mut text, number, &slice.fixes[*fix as usize], begin_millis, packing);
    }
    text + "]}"
}

fn push_item(text: &mut String, number: i64, fix: &Fix, begin_millis: i64, packing: Packing) {
    let Fix { vehicle, round, place, heading } = fix;
    let recorded_at = begin_millis + i64::from(*round) * 1_000;
    let _ = write!(text, r#"{{"seq":{number},"#);
    if let Packing::Fleet { .. } = packing {
        let _ = write!(text, r#""uniqueId":"v{vehicle}","#);
    }
    let _ = write!(
        text,
        r#""recordedAt":{recorded_at},"latitude":{},"longitude":{},"speedKmh":54,"headingDegrees":{heading}}}"#,
        place.y, place.x
    );
}

#[cfg(test)]
mod tests {
    use waypost::ingest::decode::{Heard, Positions, frame};

    use super::*;

    #[test]
    fn items_are_counted_by_connection_and_read_as_the_server_reads_them() {
        let fix =
            |vehicle| Fix { vehicle, round: 3, place: geo::Coord { x: 7.25, y: 45.1234567 }, heading: 9 };
        let slice = Slice::new(vec![fix(0), fix(1)], vec![]);
        let fleet = Packing::Fleet { connections: 1, fixes: 2 };
        let mut encode = encoder(1_700_000_000_000, fleet, "h", &[]);
        let mut bytes = Vec::new();
        encode(&slice, 0, &[0, 1], &mut bytes);
        let (head, mask) = (if bytes[1] == 0xfe { 4 } else { 2 }, 4);
        let (mask, payload) = bytes[head..].split_at(mask);
        let text: Vec<u8> = payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
        let text = String::from_utf8(text).unwrap();
        let Heard::Positions(Positions { items, .. }) = frame(&text).unwrap() else { panic!("positions") };
        let second = items[1].as_ref().unwrap();
        assert_eq!((second.seq, second.reported.latitude), (Some(2), 45.123_456_7));
        assert_eq!(second.recorded_at.as_ref().unwrap().as_millis(), 1_700_000_003_000);
    }
}
