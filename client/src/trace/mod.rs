//! Recorded traces: bytes in, points out. CSV, GPX and NMEA 0183, plain or gzip.
//!
//! Owns what those formats mean and how real files deviate from them. Knows no network, no server and no clock. An
//! error in a file is one `Err(Skip)` in the sequence, never a panic and never the end of the file.

mod csv;
pub mod fences;
mod gpx;
mod nmea;
mod point;

use std::borrow::Cow;
use std::io::Read;

use flate2::read::MultiGzDecoder;

pub use point::{Point, Reading, Skip, TracePoint};

/// Why a file as a whole is no trace.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// Its gzip layer is damaged.
    #[error("the gzip data is damaged: {0}")]
    Gzip(#[from] std::io::Error),
    /// It unpacks to more than a trace is.
    #[error("unpacked it has more than {} MiB; split it", MAX_BYTES >> 20)]
    TooLarge,
    /// It is none of the known formats.
    #[error("neither CSV with the columns recorded_at, lat and lon, nor GPX, nor NMEA 0183")]
    UnknownFormat,
}

/// Bytes that a packed file may unpack to: weeks of fixes each second.
const MAX_BYTES: u64 = 256 << 20;

/// The formats of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Rows under a line of column names.
    Csv,
    /// GPS Exchange Format 1.0 or 1.1.
    Gpx,
    /// NMEA 0183 sentences, one a line.
    Nmea,
}

/// The content of a file, unpacked if it is gzip (by its first bytes, not its name).
pub fn inflate(bytes: &[u8]) -> Result<Cow<'_, [u8]>, TraceError> {
    inflate_to(bytes, MAX_BYTES)
}

fn inflate_to(bytes: &[u8], most: u64) -> Result<Cow<'_, [u8]>, TraceError> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(Cow::Borrowed(bytes));
    }
    let mut content = Vec::new();
    MultiGzDecoder::new(bytes).take(most + 1).read_to_end(&mut content)?;
    if content.len() as u64 > most {
        return Err(TraceError::TooLarge);
    }
    Ok(Cow::Owned(content))
}

/// The format that a file's content looks like; its name does not matter.
#[must_use]
pub fn detect(content: &[u8]) -> Option<Format> {
    let start = &content[..content.len().min(4096)];
    let text = String::from_utf8_lossy(start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start));
    let text = text.trim_start();
    if text.starts_with('<') {
        return text.contains("<gpx").then_some(Format::Gpx);
    }
    if csv::has_columns(text.lines().next().unwrap_or_default()) {
        return Some(Format::Csv);
    }
    nmea::looks_alike(content).then_some(Format::Nmea)
}

/// Reads the points of a trace in the order of the file. `content` comes from [`inflate`].
pub fn read<'a>(content: &'a [u8]) -> Result<Box<dyn Iterator<Item = Reading> + 'a>, TraceError> {
    match detect(content).ok_or(TraceError::UnknownFormat)? {
        Format::Csv => Ok(Box::new(csv::read(content).ok_or(TraceError::UnknownFormat)?)),
        Format::Gpx => Ok(Box::new(gpx::read(content))),
        Format::Nmea => Ok(Box::new(nmea::read(content))),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_content_decides_the_format() {
        let cases: [(&[u8], Option<Format>); 6] = [
            (b"vehicle,recorded_at,lat,lon\n", Some(Format::Csv)),
            (b"\xef\xbb\xbf<?xml version=\"1.0\"?>\n<gpx></gpx>", Some(Format::Gpx)),
            (b"<html></html>", None),
            (b"# a comment\n\xa0\xb1$GPRMC,,V,,,,,,,,,,N*53\r\n", Some(Format::Nmea)),
            (b"", None),
            (b"name,price\nx,1\n", None),
        ];
        for (content, want) in cases {
            assert_eq!(detect(content), want, "{}", String::from_utf8_lossy(content));
        }
    }

    #[test]
    fn gzip_is_told_by_its_first_bytes() {
        let plain = b"vehicle,recorded_at,lat,lon\na,2026-01-01T00:00:00Z,1,2\n";
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(plain).unwrap();
        let packed = encoder.finish().unwrap();
        assert_eq!(inflate(&packed).unwrap().as_ref(), plain);
        assert_eq!(inflate(plain).unwrap().as_ref(), plain);
        assert!(inflate(&packed[..packed.len() - 9]).is_err());
        let most = plain.len() as u64;
        assert_eq!(inflate_to(&packed, most).unwrap().as_ref(), plain);
        assert!(matches!(inflate_to(&packed, most - 1), Err(TraceError::TooLarge)));
    }
}
