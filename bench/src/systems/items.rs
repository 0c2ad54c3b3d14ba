//! Fixes as this server takes them: items of the tracker socket, or requests with one fix as the OsmAnd app makes them.

use std::collections::HashMap;
use std::fmt::Write as _;

use super::Packing;
use super::session::Encode;
use crate::load::Slice;
use crate::wire::{http, ws};
use crate::world::Fix;

/// Writes frames of items, numbered by connection, or requests with one fix.
pub(crate) fn encoder(begin_millis: i64, packing: Packing, address: &str, trackers: &[String]) -> Encode {
    let (address, trackers) = (address.to_owned(), trackers.to_vec());
    let mut numbers: HashMap<u32, i64> = HashMap::new();
    Box::new(move |slice: &Slice, connection, fixes, bytes| {
        if packing == Packing::Http {
            let token = trackers.get(connection as usize).map_or("", String::as_str);
            for fix in fixes {
                let query = osmand_query(&slice.fixes[*fix as usize], begin_millis);
                bytes.extend(http::get(&address, &format!("/in/{token}?{query}")).bytes());
            }
            return;
        }
        let next = numbers.entry(connection).or_default();
        let text = frame_text(slice, fixes, *next + 1, begin_millis, packing);
        *next += fixes.len() as i64;
        ws::push_text(&text, bytes);
    })
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
        let heard = waypost::ingest::decode::frame(&text).unwrap();
        let waypost::ingest::decode::Heard::Positions(items) = heard else { panic!("positions") };
        let second = items[1].as_ref().unwrap();
        assert_eq!((second.seq, second.reported.latitude), (Some(2), 45.123_456_7));
        assert_eq!(second.recorded_at.as_ref().unwrap().as_millis(), 1_700_000_003_000);
    }
}
