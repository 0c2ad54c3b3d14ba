//! The engine's state in its column (docs/store.md): JSON, compressed beside a sample of one, because most of each is names
//! of members.

use std::cell::RefCell;
use std::sync::LazyLock;

use sqlx::error::BoxDynError;
use sqlx::{Database, Decode, Type};
use waypost_actors::model::Timestamp;
use waypost_actors::tracking::{MAX_CLOCK_AHEAD_SECONDS, VehicleState};
use zstd::bulk::{Compressor, Decompressor};
use zstd::dict::{DecoderDictionary, EncoderDictionary};

use super::sql::{Result, SqlError, damaged, is_damaged, of_newer_version};

/// What compressed states refer to. Part of the format: another sample needs another first byte.
const SAMPLE: &[u8] = include_bytes!("state_sample.json");
/// The first byte of a state that is compressed beside the sample.
const COMPRESSED: u8 = 1;
/// The first byte of one from before states were compressed: plain JSON.
const PLAIN: u8 = b'{';
/// Higher levels take twice the time for 4 % less.
const LEVEL: i32 = 3;
/// A larger one is not read: bytes that claim more were not written here.
const MAX_BYTES: usize = 16 * 1024 * 1024;

static ENCODER: LazyLock<EncoderDictionary<'static>> =
    LazyLock::new(|| EncoderDictionary::copy(SAMPLE, LEVEL));
static DECODER: LazyLock<DecoderDictionary<'static>> = LazyLock::new(|| DecoderDictionary::copy(SAMPLE));

thread_local! {
    /// Each has tables of its own, which take longer to make than a state to compress.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// A state as its column has it, or how it is damaged: that costs one vehicle, and no other that is read with it. One of a newer
/// version is an error of the whole: another server can read it, and this one must not write over it.
#[derive(Debug)]
pub struct PackedState(pub Result<VehicleState>);

impl PackedState {
    /// The state, or one that tells that it is lost. `now`: the server's clock.
    pub(super) fn or_lost(self, now: Timestamp) -> VehicleState {
        self.0.unwrap_or_else(|error| {
            tracing::error!(%error, "a stored state of a vehicle cannot be read");
            VehicleState::lost(now.plus_seconds(MAX_CLOCK_AHEAD_SECONDS))
        })
    }
}

/// The bytes of a state.
pub(super) fn pack_state(state: &VehicleState) -> Result<Vec<u8>> {
    let text = serde_json::to_vec(state).map_err(|error| SqlError::Encode(error.into()))?;
    let compressed = COMPRESSOR.with_borrow_mut(|kept| {
        let compressor = match kept {
            Some(compressor) => compressor,
            None => kept.insert(Compressor::with_prepared_dictionary(&ENCODER)?),
        };
        compressor.compress(&text)
    });
    let mut bytes = compressed.map_err(|error| SqlError::Encode(error.into()))?;
    bytes.insert(0, COMPRESSED);
    Ok(bytes)
}

fn unpack_state(bytes: &[u8]) -> Result<VehicleState> {
    match bytes.first() {
        Some(&COMPRESSED) => {
            let text = decompress(&bytes[1..]).map_err(|error| damaged(format!("a state: {error}")))?;
            read(&text)
        }
        Some(&PLAIN) => read(bytes),
        Some(form) => Err(of_newer_version("a state", *form)),
        None => Err(damaged("a state: no bytes".to_owned())),
    }
}

fn read(text: &[u8]) -> Result<VehicleState> {
    serde_json::from_slice(text).map_err(|error| {
        // JSON that says something else was written by another version.
        if error.is_data() { SqlError::Decode(error.into()) } else { damaged(format!("a state: {error}")) }
    })
}

fn decompress(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let length = Decompressor::upper_bound(bytes).unwrap_or(MAX_BYTES).min(MAX_BYTES);
    DECOMPRESSOR.with_borrow_mut(|kept| {
        let decompressor = match kept {
            Some(decompressor) => decompressor,
            None => kept.insert(Decompressor::with_prepared_dictionary(&DECODER)?),
        };
        decompressor.decompress(bytes, length)
    })
}

impl<DB: Database> Type<DB> for PackedState
where
    [u8]: Type<DB>,
{
    fn type_info() -> DB::TypeInfo {
        <[u8] as Type<DB>>::type_info()
    }

    fn compatible(ty: &DB::TypeInfo) -> bool {
        <[u8] as Type<DB>>::compatible(ty)
    }
}

impl<'r, DB: Database> Decode<'r, DB> for PackedState
where
    &'r [u8]: Decode<'r, DB>,
{
    fn decode(value: DB::ValueRef<'r>) -> std::result::Result<Self, BoxDynError> {
        match unpack_state(<&[u8] as Decode<'r, DB>>::decode(value)?) {
            Err(error) if !is_damaged(&error) => Err(error.into()),
            state => Ok(Self(state)),
        }
    }
}

#[cfg(test)]
mod tests {
    use waypost_actors::model::{Fix, Place};

    use super::*;

    fn state() -> VehicleState {
        let at = Timestamp::FIRST.plus_seconds(1.5);
        let last = Fix::new(at, at.plus_seconds(0.25), Place::new(30.214_733, -97.710_57));
        VehicleState { last: Some(last), newest_entry: at, unsaved: 7, ..VehicleState::default() }
    }

    #[test]
    fn a_state_comes_back_from_few_bytes() {
        let bytes = pack_state(&state()).expect("packed");
        let text = serde_json::to_vec(&state()).expect("written");
        assert!(bytes.len() < text.len() / 2, "{} of {} bytes", bytes.len(), text.len());
        assert_eq!(unpack_state(&bytes).expect("unpacked"), state());
    }

    #[test]
    fn a_state_of_before_is_read() {
        let text = serde_json::to_vec(&state()).expect("written");
        assert_eq!(unpack_state(&text).expect("unpacked"), state());
    }

    #[test]
    fn what_is_no_state_is_refused() {
        let mut cut = pack_state(&state()).expect("packed");
        cut.truncate(cut.len() / 2);
        let is_damage = |bytes| is_damaged(&unpack_state(bytes).expect_err("no state"));
        assert_eq!([&cut[..], &[], &[COMPRESSED], b"{"].map(is_damage), [true; 4]);
        assert_eq!([&[2, 3][..], b"{}"].map(is_damage), [false; 2], "another version may read them");
    }
}
