//! The bytes of a request body: how many may arrive, in what time, and how many they may unpack to.
//!
//! The route table says how large a route's bodies may be. A body beyond [`LARGE_FROM_BYTES`] takes its room from
//! what all such bodies share, and is unpacked and parsed off the async threads, one after another.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use actix_web::dev::Payload;
use actix_web::http::header::{self, HeaderMap};
use actix_web::web::{Bytes, BytesMut};
use actix_web::{HttpMessage, HttpRequest};
use futures_util::StreamExt;
use tokio::time::{Instant, timeout_at};

use super::code::Code;
use super::problem::Problem;
use super::refusal::RETRY_SECONDS;
use super::request::Shared;
use super::route::{Route, SMALL_BYTES};
use crate::connections::Peer;
use crate::large_bodies::{LargeBodies, PIECE_BYTES, Piece, Turn};

/// Time a body may take however slowly it arrives.
pub const BODY_GRACE: Duration = Duration::from_secs(10);
/// Average rate a body must have reached after [`BODY_GRACE`].
pub const LEAST_BYTES_PER_SECOND: f64 = 4096.0;
/// Longest time a body may take.
pub const BODY_WITHIN: Duration = Duration::from_secs(60);
/// Routes whose limit is above this treat bodies as large.
pub const LARGE_FROM_BYTES: usize = 256 * 1024;
/// The largest window of br and zstd, as a power of two: 8 MiB, which RFC 8878 recommends every decoder to support.
const MOST_WINDOW_BITS: u8 = 23;

/// Spare buffer needed to see the end of a stream when reading to it.
const SPARE_BYTES: usize = 64;

/// A body as received.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) bytes: Bytes,
    coding: Coding,
    limit: usize,
    shared: LargeBodies,
    _room: Vec<Piece>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Identity,
    Gzip,
    Brotli,
    Zstd,
}

/// Receives the body of a request, unless it was received before.
pub(super) async fn receive(request: &HttpRequest, payload: Payload) -> Result<Received, Problem> {
    if let Some(received) = request.extensions_mut().remove::<Received>() {
        return Ok(received);
    }
    let limit = request.app_data::<Route>().map_or(SMALL_BYTES, |route| route.body_bytes);
    let coding = coding(request.headers(), limit)?;
    let announced = request.headers().get(header::CONTENT_LENGTH);
    let announced = announced.and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|bytes| bytes > limit) {
        return Err(too_large(limit));
    }
    let context = request.app_data::<Shared>().ok_or_else(|| Problem::new(Code::Internal))?;
    let shared = context.large_bodies.clone();
    let peer = request.conn_data::<Arc<Peer>>().cloned();
    let awaited = peer.as_ref().map(Peer::awaited);
    let (bytes, room) = whole(payload, limit, &shared, peer.as_deref()).await?;
    drop(awaited);
    Ok(Received { bytes, coding, limit, shared, _room: room })
}

async fn whole(
    mut payload: Payload,
    limit: usize,
    shared: &LargeBodies,
    peer: Option<&Peer>,
) -> Result<(Bytes, Vec<Piece>), Problem> {
    let (began, mut body, mut room) = (Instant::now(), BytesMut::new(), Vec::new());
    loop {
        let earned = Duration::from_secs_f64(body.len() as f64 / LEAST_BYTES_PER_SECOND);
        let until = began + (BODY_GRACE + earned).min(BODY_WITHIN);
        let Ok(chunk) = timeout_at(until, payload.next()).await else { return Err(too_slow()) };
        let Some(chunk) = chunk else { return Ok((body.freeze(), room)) };
        let chunk = chunk.map_err(|_| Problem::new(Code::MalformedRequest).detail("the body ends early"))?;
        if let Some(peer) = peer {
            peer.moved();
        }
        let length = body.len() + chunk.len();
        if length > limit {
            return Err(too_large(limit));
        }
        while length > LARGE_FROM_BYTES + room.len() * PIECE_BYTES {
            room.push(shared.piece().await.ok_or_else(|| busy("large bodies are coming in"))?);
        }
        body.extend_from_slice(&chunk);
    }
}

impl Received {
    /// Unpacks the body and runs `make` on it; for a large body in its turn, on a thread that may block.
    pub(super) async fn make<T: Send + 'static>(
        self,
        made: impl FnOnce(Bytes) -> Result<T, Problem> + Send + 'static,
    ) -> Result<(T, Option<Turn>), Problem> {
        let is_small = self.bytes.len() <= SMALL_BYTES && self.coding == Coding::Identity;
        if is_small || self.limit <= LARGE_FROM_BYTES {
            return Ok((made(self.unpacked()?)?, None));
        }
        let shared = self.shared.clone();
        let turn = shared.turn().await.ok_or_else(|| busy("large bodies are being worked on"))?;
        let made = shared.run(move || self.unpacked().and_then(made)).await;
        made.ok_or_else(|| Problem::new(Code::Internal))?.map(|made| (made, Some(turn)))
    }

    fn unpacked(self) -> Result<Bytes, Problem> {
        let (packed, limit) = (&self.bytes[..], self.limit);
        let read = match self.coding {
            Coding::Identity => return Ok(self.bytes),
            Coding::Gzip => read_past(limit, flate2::read::MultiGzDecoder::new(packed)),
            Coding::Brotli if brotli_window_bits(packed) > MOST_WINDOW_BITS => {
                Err(std::io::Error::other("its window is larger than 8 MiB"))
            }
            Coding::Brotli => read_past(limit, brotli::Decompressor::new(packed, 4096)),
            Coding::Zstd => zstd::Decoder::new(packed).and_then(|mut reader| {
                reader.window_log_max(MOST_WINDOW_BITS.into())?;
                read_past(limit, reader)
            }),
        };
        match read {
            Ok(unpacked) if unpacked.len() > limit => Err(too_large(limit)),
            Ok(unpacked) => Ok(unpacked.into()),
            Err(error) => {
                let detail = format!("the body cannot be unpacked as its Content-Encoding says: {error}");
                Err(Problem::new(Code::MalformedRequest).detail(detail))
            }
        }
    }
}

/// Reads up to one byte more than the limit.
fn read_past(limit: usize, reader: impl Read) -> std::io::Result<Vec<u8>> {
    // The full capacity up front costs nothing, because memory is committed only as it is written; growing would
    // copy, and take up to twice the size.
    let mut unpacked = Vec::with_capacity(limit + SPARE_BYTES);
    reader.take(limit as u64 + 1).read_to_end(&mut unpacked)?;
    Ok(unpacked)
}

/// The window that the head of a Brotli stream asks for (RFC 7932, 9.1); windows below 18 bits are reported as 17.
fn brotli_window_bits(packed: &[u8]) -> u8 {
    let first = packed.first().copied().unwrap_or_default();
    if first & 1 == 0 { 16 } else { 17 + (first >> 1 & 7) }
}

/// The coding of a body. One that needs a window of megabytes to unpack is accepted only where bodies are large.
fn coding(headers: &HeaderMap, limit: usize) -> Result<Coding, Problem> {
    let given = headers.get(header::CONTENT_ENCODING).map(|value| value.to_str().unwrap_or_default());
    let is_large = limit > LARGE_FROM_BYTES;
    match given.unwrap_or("identity").trim().to_ascii_lowercase().as_str() {
        "identity" => Ok(Coding::Identity),
        "gzip" | "x-gzip" => Ok(Coding::Gzip),
        "br" if is_large => Ok(Coding::Brotli),
        "zstd" if is_large => Ok(Coding::Zstd),
        _ => {
            let taken = if is_large { "gzip, br or zstd" } else { "gzip" };
            let detail = format!("Content-Encoding must be {taken} on this route, or absent");
            Err(Problem::new(Code::UnsupportedMediaType).detail(detail))
        }
    }
}

fn busy(why: &str) -> Problem {
    let detail = format!("as many {why} as the server has room for; send it again");
    Problem::new(Code::Busy).detail(detail).retry_after(RETRY_SECONDS)
}

fn too_large(limit: usize) -> Problem {
    let detail = format!("this route takes {} KiB, as they come and unpacked", limit / 1024);
    Problem::new(Code::PayloadTooLarge).detail(detail)
}

fn too_slow() -> Problem {
    let (grace, within) = (BODY_GRACE.as_secs(), BODY_WITHIN.as_secs());
    Problem::new(Code::RequestTimeout).detail(format!(
        "after {grace} seconds a body must have brought {LEAST_BYTES_PER_SECOND} bytes for each second more, \
         and within {within} seconds all of it"
    ))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn received(bytes: Vec<u8>, coding: Coding, limit: usize) -> Received {
        Received { bytes: bytes.into(), coding, limit, shared: LargeBodies::default(), _room: Vec::new() }
    }

    fn gzip(plain: &[u8]) -> Vec<u8> {
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packed.write_all(plain).unwrap();
        packed.finish().unwrap()
    }

    fn br(plain: &[u8], lgwin: i32) -> Vec<u8> {
        let mut packed = Vec::new();
        let params = brotli::enc::BrotliEncoderParams { quality: 5, lgwin, ..Default::default() };
        brotli::BrotliCompress(&mut &plain[..], &mut packed, &params).unwrap();
        packed
    }

    #[test]
    fn what_is_packed_comes_out_as_it_was_up_to_the_limit() {
        let plain = b"0123456789abcdef".repeat(4096);
        let packed = [
            (Coding::Identity, plain.clone()),
            (Coding::Gzip, gzip(&plain)),
            (Coding::Brotli, br(&plain, 23)),
            (Coding::Zstd, zstd::encode_all(&plain[..], 19).unwrap()),
        ];
        for (coding, packed) in packed {
            let whole = received(packed.clone(), coding, plain.len()).unpacked().unwrap();
            assert!(whole == plain, "{coding:?}");
            if coding != Coding::Identity {
                let refused = received(packed.clone(), coding, plain.len() - 1).unpacked().unwrap_err();
                assert_eq!(refused.code(), Code::PayloadTooLarge, "{coding:?}");
                let cut = received(packed[..packed.len() / 2].to_vec(), coding, plain.len()).unpacked();
                assert_eq!(cut.unwrap_err().code(), Code::MalformedRequest, "{coding:?}");
            }
        }
    }

    #[test]
    fn a_window_beyond_what_every_decoder_has_is_refused() {
        let mut packed = zstd::Encoder::new(Vec::new(), 1).unwrap();
        packed.window_log(27).unwrap();
        packed.write_all(b"small").unwrap();
        for (coding, packed) in
            [(Coding::Zstd, packed.finish().unwrap()), (Coding::Brotli, br(&[b' '; 20 << 20], 24))]
        {
            let refused = received(packed, coding, 1024).unpacked().unwrap_err();
            assert_eq!(refused.code(), Code::MalformedRequest, "{coding:?}");
        }
    }

    #[test]
    fn large_windows_are_for_large_bodies() {
        let asked = |coding: &'static str, limit| {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_ENCODING, header::HeaderValue::from_static(coding));
            super::coding(&headers, limit).map_err(|problem| problem.code())
        };
        let (small, large) = (SMALL_BYTES, LARGE_FROM_BYTES + 1);
        assert_eq!(asked("gzip", small), Ok(Coding::Gzip));
        assert_eq!((asked("br", large), asked("zstd", large)), (Ok(Coding::Brotli), Ok(Coding::Zstd)));
        for refused in
            [asked("br", small), asked("zstd", small), asked("gzip, gzip", large), asked("", large)]
        {
            assert_eq!(refused, Err(Code::UnsupportedMediaType));
        }
    }
}
