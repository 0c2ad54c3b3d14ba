//! The bytes of what many fixes carry beside where the vehicles are (docs/store.md): each fix's attributes by its place
//! in a list, repeated ones once, compressed where that is worth it.

use std::cell::RefCell;

use postcard::{from_bytes, to_extend};
use waypost_actors::model::Attributes;
use zstd::bulk::{Compressor, Decompressor};

use super::sql::{Result, SqlError, damaged, of_newer_version};

/// The first byte of bytes that are not compressed.
const PLAIN: u8 = 0;
/// The first byte of a zstd frame.
const COMPRESSED: u8 = 1;
/// Fewer bytes stay as they are.
const WORTH_COMPRESSING: usize = 160;
const LEVEL: i32 = 3;
/// More is not read: bytes that claim more were not written here.
const MAX_BYTES: usize = 256 * 1024 * 1024;

thread_local! {
    /// Each has tables of its own, which take longer to make than a few texts to compress.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// How many fixes without attributes come first, and the text; an empty one is that of the fix before with one.
type Entry<'a> = (u32, &'a str);

/// Packs the attributes of a list of fixes; `None` if no fix has any.
pub(super) fn pack_attributes<'a>(
    all: impl Iterator<Item = Option<&'a Attributes>>,
) -> Result<Option<Vec<u8>>> {
    let mut entries: Vec<Entry<'a>> = Vec::new();
    let (mut without, mut last) = (0, "");
    for attributes in all {
        let Some(attributes) = attributes else {
            without += 1;
            continue;
        };
        let text = attributes.as_json();
        entries.push((std::mem::take(&mut without), if text == last { "" } else { text }));
        last = text;
    }
    if entries.is_empty() {
        return Ok(None);
    }
    let plain = to_extend(&entries, vec![PLAIN]).map_err(|error| SqlError::Encode(error.into()))?;
    if plain.len() < WORTH_COMPRESSING {
        return Ok(Some(plain));
    }
    let compressed = COMPRESSOR.with_borrow_mut(|kept| {
        let compressor = match kept {
            Some(compressor) => compressor,
            None => kept.insert(Compressor::new(LEVEL)?),
        };
        compressor.compress(&plain[1..])
    });
    let mut bytes = compressed.map_err(|error| SqlError::Encode(error.into()))?;
    bytes.insert(0, COMPRESSED);
    Ok(Some(bytes))
}

/// The attributes of a list of `count` fixes.
pub(super) fn unpack_attributes(bytes: &[u8], count: usize) -> Result<Vec<Option<Attributes>>> {
    let broken = |what: &str| damaged(format!("attributes of fixes: {what}"));
    let decompressed;
    let plain = match bytes.split_first() {
        Some((&PLAIN, plain)) => plain,
        Some((&COMPRESSED, frame)) => {
            decompressed = decompress(frame).map_err(|error| broken(&error.to_string()))?;
            &decompressed
        }
        Some((form, _)) => return Err(of_newer_version("attributes of fixes", *form)),
        None => return Err(broken("there are none")),
    };
    let entries: Vec<Entry<'_>> = from_bytes(plain).map_err(|error| broken(&error.to_string()))?;
    let mut all: Vec<Option<Attributes>> = Vec::with_capacity(count);
    let mut last: Option<Attributes> = None;
    for (without, text) in entries {
        let at = all.len().saturating_add(without as usize);
        if at >= count {
            return Err(broken("there are more than fixes"));
        }
        all.resize(at, None);
        if !text.is_empty() {
            last = Some(Attributes::from_json(text).map_err(|error| broken(&error.to_string()))?);
        }
        all.push(Some(last.clone().ok_or_else(|| broken("the first one is empty"))?));
    }
    all.resize(count, None);
    Ok(all)
}

fn decompress(frame: &[u8]) -> std::io::Result<Vec<u8>> {
    let length = Decompressor::upper_bound(frame).unwrap_or(MAX_BYTES).min(MAX_BYTES);
    DECOMPRESSOR.with_borrow_mut(|kept| {
        let decompressor = match kept {
            Some(decompressor) => decompressor,
            None => kept.insert(Decompressor::new()?),
        };
        decompressor.decompress(frame, length)
    })
}

#[cfg(test)]
mod tests {
    use waypost_actors::model::NewAttributes;

    use super::*;

    fn battery(percent: f64, more: usize) -> Attributes {
        let mut new = NewAttributes::default();
        new.put("batteryPercent", percent).unwrap();
        new.put("text", "x".repeat(more).as_str()).unwrap();
        new.seal().unwrap().unwrap()
    }

    #[test]
    fn each_comes_back_at_its_place() {
        let (one, two) = (battery(87.0, 3), battery(86.0, 200));
        let lists = [
            vec![Some(one.clone())],
            vec![None, Some(one.clone()), Some(one.clone()), None, Some(two.clone()), None, None],
            vec![Some(two.clone()), Some(one), Some(two)],
        ];
        for list in lists {
            let bytes = pack_attributes(list.iter().map(Option::as_ref)).unwrap().expect("some have some");
            assert_eq!(unpack_attributes(&bytes, list.len()).unwrap(), list);
            for length in 0..bytes.len() {
                unpack_attributes(&bytes[..length], list.len()).expect_err("cut");
            }
            unpack_attributes(&bytes, 0).expect_err("more than fixes");
        }
        assert_eq!(pack_attributes([None, None].into_iter()).unwrap(), None);
    }
}
