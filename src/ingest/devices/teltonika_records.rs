//! The records of a Teltonika message, in codecs 8, 8 Extended and 16: where each of them ends, and which cannot be
//! believed. What one gets wrong costs that record only; `nom-teltonika` would refuse the whole message. Knows neither
//! transports nor what IO elements mean.

use nom_teltonika::protocol::{AvlCodec, GpsElement, IoValueView};

use crate::ingest::decode::BadItem;

/// The highest priority that there is.
const PANIC: u8 = 2;
/// The highest of what makes a device write a record of codec 16, its "generation type".
const PERIODICAL: u8 = 7;
/// The groups of IO elements, by the bytes of their values; behind them codec 8 Extended has one of any length.
const GROUPS: [usize; 4] = [1, 2, 4, 8];

/// A record as it was sent.
#[derive(Debug)]
pub(super) struct Record<'a> {
    /// When it was recorded, in milliseconds since 1970.
    pub(super) millis: u64,
    /// Where.
    pub(super) gps: GpsElement,
    /// The IO elements by their ids, in their order.
    pub(super) elements: Vec<(u16, IoValueView<'a>)>,
    priority: u8,
    generation_type: Option<u8>,
    /// How many IO elements it says it has.
    declared: u16,
}

impl Record<'_> {
    /// Why it is refused, if it is. A wrong number of elements is no reason: each group of them has a number of its own.
    fn problem(&self) -> Option<String> {
        if self.priority > PANIC {
            return Some(format!("the record's priority {} is unknown", self.priority));
        }
        let unknown = self.generation_type.filter(|kind| *kind > PERIODICAL)?;
        Some(format!("the record's generation type {unknown} is unknown"))
    }

    fn is_odd(&self) -> bool {
        self.problem().is_some() || self.elements.len() != usize::from(self.declared)
    }

    fn checked(self) -> Result<Self, BadItem> {
        match self.problem() {
            Some(problem) => Err(BadItem::new(problem)),
            None => Ok(self),
        }
    }
}

/// How many records a message says it has, and these records. `data`: from the codec to the number of records, which is
/// said again at the end.
pub(super) fn records(data: &[u8]) -> (u8, Vec<Result<Record<'_>, BadItem>>) {
    let head = data.split_first_chunk::<2>().and_then(|([codec, announced], rest)| {
        AvlCodec::try_from(*codec).ok().map(|codec| (codec, *announced, rest))
    });
    let Some((codec, announced, mut rest)) = head else {
        return (0, vec![Err(BadItem::new("the message has no records"))]);
    };
    let mut found = Vec::new();
    while found.len() < usize::from(announced)
        && let Some(record) = record(codec, &mut rest)
    {
        found.push(record);
    }
    if found.len() == usize::from(announced) && rest == [announced] {
        return (announced, found.into_iter().map(Record::checked).collect());
    }
    // An odd record may have been cut at the wrong place, and all behind it with it.
    let sound = found.iter().position(Record::is_odd).unwrap_or(found.len());
    found.truncate(sound);
    let unread = format!("{sound} of {announced} records can be read, and what follows does not add up");
    let read = found.into_iter().map(Ok).chain([Err(BadItem::new(unread))]);
    (announced, read.collect())
}

/// Takes one record off the front; `None` if the bytes end before it does.
fn record<'a>(codec: AvlCodec, rest: &mut &'a [u8]) -> Option<Record<'a>> {
    let (id_bytes, count_bytes) = match codec {
        AvlCodec::Codec8 => (1, 1),
        AvlCodec::Codec8Extended => (2, 2),
        AvlCodec::Codec16 => (2, 1),
    };
    let millis = u64::from_be_bytes(take(rest)?);
    let [priority] = take::<1>(rest)?;
    let gps = gps(rest)?;
    // The element whose change made the device write the record.
    let _event = number(id_bytes, rest)?;
    let generation_type = match codec {
        AvlCodec::Codec16 => Some(u8::from_be_bytes(take(rest)?)),
        AvlCodec::Codec8 | AvlCodec::Codec8Extended => None,
    };
    let declared = number(count_bytes, rest)?;
    let mut elements = Vec::new();
    for value_bytes in GROUPS {
        for _ in 0..number(count_bytes, rest)? {
            let id = number(id_bytes, rest)?;
            elements.push((id, value(value_bytes, rest)?));
        }
    }
    if codec == AvlCodec::Codec8Extended {
        for _ in 0..number(count_bytes, rest)? {
            let (id, length) = (number(id_bytes, rest)?, u16::from_be_bytes(take(rest)?));
            elements.push((id, IoValueView::Bytes(rest.split_off(..usize::from(length))?)));
        }
    }
    Some(Record { millis, gps, elements, priority, generation_type, declared })
}

fn gps(rest: &mut &[u8]) -> Option<GpsElement> {
    Some(GpsElement {
        longitude_raw: i32::from_be_bytes(take(rest)?),
        latitude_raw: i32::from_be_bytes(take(rest)?),
        altitude_meters: u16::from_be_bytes(take(rest)?),
        angle_degrees: u16::from_be_bytes(take(rest)?),
        satellites: u8::from_be_bytes(take(rest)?),
        speed_kph: u16::from_be_bytes(take(rest)?),
    })
}

fn value<'a>(bytes: usize, rest: &mut &'a [u8]) -> Option<IoValueView<'a>> {
    Some(match bytes {
        1 => IoValueView::U8(u8::from_be_bytes(take(rest)?)),
        2 => IoValueView::U16(u16::from_be_bytes(take(rest)?)),
        4 => IoValueView::U32(u32::from_be_bytes(take(rest)?)),
        _ => IoValueView::U64(u64::from_be_bytes(take(rest)?)),
    })
}

/// A number of one or two bytes: an id, or how many elements there are.
fn number(bytes: usize, rest: &mut &[u8]) -> Option<u16> {
    if bytes == 1 {
        take::<1>(rest).map(|[byte]| u16::from(byte))
    } else {
        take::<2>(rest).map(u16::from_be_bytes)
    }
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    rest.split_off(..N)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seven satellites, 50 km/h.
    const SEVEN_SATELLITES: [u8; 15] = [0, 0, 0, 1, 0, 0, 0, 2, 0, 3, 0, 4, 7, 0, 50];

    /// A record of some second with one element, the ignition.
    fn sent(codec: AvlCodec, second: u8, priority: u8, declared: u8) -> Vec<u8> {
        let mut bytes = vec![0, 0, 1, 0x8f, 0xdc, 0x4b, 0x27, second, priority];
        bytes.extend(SEVEN_SATELLITES);
        bytes.extend_from_slice(match codec {
            AvlCodec::Codec8 => &[0],
            AvlCodec::Codec8Extended => &[0, 0, 0],
            AvlCodec::Codec16 => &[0, 0, PERIODICAL],
        });
        bytes.push(declared);
        bytes.extend_from_slice(match codec {
            AvlCodec::Codec8 => &[1, 239, 1, 0, 0, 0],
            AvlCodec::Codec8Extended => &[0, 1, 0, 239, 1, 0, 0, 0, 0, 0, 0, 0, 0],
            AvlCodec::Codec16 => &[1, 0, 239, 1, 0, 0, 0],
        });
        bytes
    }

    fn message(codec: AvlCodec, records: &[Vec<u8>]) -> Vec<u8> {
        let count = records.len() as u8;
        [&[u8::from(codec), count][..], &records.concat(), &[count]].concat()
    }

    /// The seconds of the records that were read, and why others were not.
    fn read(data: &[u8]) -> (u8, Vec<Result<u64, String>>) {
        let (announced, records) = records(data);
        let second = |record: Record<'_>| {
            assert_eq!((record.gps.satellites, record.gps.speed_kph), (7, 50));
            assert_eq!(record.elements, [(239, IoValueView::U8(1))]);
            record.millis & 0xff
        };
        let told = records.into_iter().map(|record| record.map(second).map_err(|bad| bad.detail));
        (announced, told.collect())
    }

    const CODECS: [AvlCodec; 3] = [AvlCodec::Codec8, AvlCodec::Codec8Extended, AvlCodec::Codec16];

    #[test]
    fn an_odd_record_costs_only_itself() {
        for codec in CODECS {
            let all = [sent(codec, 1, 0, 1), sent(codec, 2, 3, 1), sent(codec, 3, 2, 1)];
            let unknown = "the record's priority 3 is unknown".to_owned();
            assert_eq!(read(&message(codec, &all)), (3, vec![Ok(1), Err(unknown), Ok(3)]), "{codec:?}");
        }
        let codec = AvlCodec::Codec16;
        let mut odd = sent(codec, 1, 0, 1);
        odd[26] = 8;
        let unknown = "the record's generation type 8 is unknown".to_owned();
        assert_eq!(read(&message(codec, &[odd, sent(codec, 2, 0, 1)])), (2, vec![Err(unknown), Ok(2)]));
    }

    #[test]
    fn a_wrong_number_of_all_elements_costs_nothing() {
        for codec in CODECS {
            let all = [sent(codec, 1, 0, 0), sent(codec, 2, 1, 9)];
            assert_eq!(read(&message(codec, &all)), (2, vec![Ok(1), Ok(2)]), "{codec:?}");
        }
    }

    #[test]
    fn what_cannot_be_told_apart_is_one_bad_item_and_nothing_of_it_is_believed() {
        let codec = AvlCodec::Codec8;
        let rest = |sound: u8, announced: u8| {
            Err(format!("{sound} of {announced} records can be read, and what follows does not add up"))
        };
        let good = message(codec, &[sent(codec, 1, 0, 1), sent(codec, 2, 0, 1), sent(codec, 3, 0, 1)]);
        let whole = good.len();
        assert_eq!(read(&good[..whole - 9]), (3, vec![Ok(1), Ok(2), rest(2, 3)]));
        assert_eq!(read(&[&good[..], &[0]].concat()), (3, vec![Ok(1), Ok(2), Ok(3), rest(3, 3)]));
        // The first group of the second record says two elements: what follows is cut at the wrong places.
        let mut shifted = sent(codec, 2, 0, 1);
        shifted[26] = 2;
        let data = message(codec, &[sent(codec, 1, 0, 1), shifted, sent(codec, 3, 0, 1)]);
        assert_eq!(read(&data), (3, vec![Ok(1), rest(1, 3)]));
        let empty: [&[u8]; 3] = [&[], &[8], &[7, 1, 1]];
        for none in empty {
            assert_eq!(read(none), (0, vec![Err("the message has no records".to_owned())]));
        }
        assert_eq!(read(&[8, 0, 0]), (0, Vec::new()));
    }

    #[test]
    fn elements_of_any_length_are_counted_or_not() {
        // Behind the place: the event, the number of all elements, four empty groups, and one element of two bytes.
        for declared in [0, 1] {
            let mut bytes = vec![0, 0, 1, 0x8f, 0xdc, 0x4b, 0x27, 1, 0];
            bytes.extend(SEVEN_SATELLITES);
            bytes.extend([0, 0, 0, declared, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 0, 2, b'a', b'b']);
            let data = message(AvlCodec::Codec8Extended, &[bytes]);
            let (announced, records) = records(&data);
            let record = records[0].as_ref().unwrap();
            assert_eq!((announced, records.len()), (1, 1));
            assert_eq!(record.elements, [(257, IoValueView::Bytes(b"ab"))]);
        }
    }
}
