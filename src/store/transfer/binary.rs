//! Rows in PostgreSQL's binary `copy` format, written from SQLite's values and read back.
//!
//! Owns the format (PostgreSQL's documentation, "COPY", "Binary Format"). Values are transferred bit by bit, so that
//! no textual form can round them.

use sqlx::error::BoxDynError;
use sqlx::sqlite::{SqliteRow, SqliteValueRef};
use sqlx::{Decode, Row, Sqlite, ValueRef};

use super::table::{Kind, Table};
use crate::store::sql::{Result, SqlError};
use crate::store::time::POSTGRES_EPOCH_MICROS;

const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0";
/// Signature, flags, and length of the header extension.
const HEADER_BYTES: usize = 11 + 4 + 4;
/// The byte before the text of every `jsonb`.
const JSONB_VERSION: u8 = 1;

/// Assembles rows.
pub(super) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    pub(super) fn new() -> Self {
        let mut bytes = SIGNATURE.to_vec();
        bytes.extend([0; HEADER_BYTES - SIGNATURE.len()]);
        Self { bytes }
    }

    /// Adds a row; returns its fields, as [`Reader::row`] would.
    pub(super) fn row(&mut self, table: &Table, row: &SqliteRow) -> Result<&[u8]> {
        self.bytes.extend((table.columns.len() as i16).to_be_bytes());
        let begin = self.bytes.len();
        for (index, (column, kind)) in table.columns.iter().enumerate() {
            let wrong = |source| SqlError::ColumnDecode { index: column.clone(), source };
            self.field(*kind, row.try_get_raw(index)?).map_err(wrong)?;
        }
        Ok(&self.bytes[begin..])
    }

    fn field(&mut self, kind: Kind, value: SqliteValueRef<'_>) -> std::result::Result<(), BoxDynError> {
        if value.is_null() {
            self.bytes.extend((-1_i32).to_be_bytes());
            return Ok(());
        }
        match kind {
            Kind::Bytes => self.put(<&[u8] as Decode<Sqlite>>::decode(value)?),
            Kind::Text => self.put(<&str as Decode<Sqlite>>::decode(value)?.as_bytes()),
            Kind::Json => {
                let text = <&str as Decode<Sqlite>>::decode(value)?;
                self.put(&[&[JSONB_VERSION], text.as_bytes()].concat());
            }
            Kind::Float => self.put(&<f64 as Decode<Sqlite>>::decode(value)?.to_be_bytes()),
            Kind::Small => self.put(&<i16 as Decode<Sqlite>>::decode(value)?.to_be_bytes()),
            Kind::Integer => self.put(&<i64 as Decode<Sqlite>>::decode(value)?.to_be_bytes()),
            Kind::Boolean => self.put(&[u8::from(<i64 as Decode<Sqlite>>::decode(value)? != 0)]),
            Kind::Time => {
                let micros = <i64 as Decode<Sqlite>>::decode(value)?;
                self.put(&micros.saturating_sub(POSTGRES_EPOCH_MICROS).to_be_bytes());
            }
        }
        Ok(())
    }

    fn put(&mut self, value: &[u8]) {
        self.bytes.extend((value.len() as i32).to_be_bytes());
        self.bytes.extend(value);
    }

    /// Adds the trailer after the last row.
    pub(super) fn end(&mut self) {
        self.bytes.extend((-1_i16).to_be_bytes());
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }
}

/// Splits off the next field of a row: its bytes, or `None` for null, and the rest of the row.
pub(super) fn field(row: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    let (length, rest) = row.split_first_chunk::<4>()?;
    match usize::try_from(i32::from_be_bytes(*length)) {
        Ok(length) => Some((Some(rest.get(..length)?), &rest[length..])),
        Err(_) => Some((None, rest)),
    }
}

/// The text of a `jsonb` field.
pub(super) fn json(field: &[u8]) -> &[u8] {
    field.strip_prefix(&[JSONB_VERSION]).unwrap_or(field)
}

/// Splits rows, in whatever pieces they arrive.
#[derive(Default)]
pub(super) struct Reader {
    bytes: Vec<u8>,
    /// How far they were read.
    at: usize,
    is_begun: bool,
}

impl Reader {
    pub(super) fn take(&mut self, chunk: &[u8]) {
        self.bytes.drain(..self.at);
        self.at = 0;
        self.bytes.extend(chunk);
    }

    /// The fields of the next row, if it is complete.
    pub(super) fn row(&mut self) -> Option<&[u8]> {
        if !self.is_begun {
            let extension = self.bytes.get(HEADER_BYTES - 4..HEADER_BYTES)?.first_chunk::<4>()?;
            self.at = HEADER_BYTES + u32::from_be_bytes(*extension) as usize;
            self.is_begun = true;
        }
        let (count, fields) = self.bytes.get(self.at..)?.split_first_chunk::<2>()?;
        // Negative in the trailer.
        let count = u16::try_from(i16::from_be_bytes(*count)).ok()?;
        let mut rest = fields;
        for _ in 0..count {
            rest = field(rest)?.1;
        }
        let length = fields.len() - rest.len();
        let begin = self.at + 2;
        self.at = begin + length;
        self.bytes.get(begin..self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_out_whatever_the_pieces() {
        let mut all = Writer::new();
        for text in ["one", "", "three"] {
            all.bytes.extend(2_i16.to_be_bytes());
            all.put(text.as_bytes());
            all.bytes.extend((-1_i32).to_be_bytes());
        }
        all.end();
        for size in 1..=all.bytes.len() {
            let (mut reader, mut found) = (Reader::default(), Vec::new());
            for piece in all.bytes.chunks(size) {
                reader.take(piece);
                while let Some(row) = reader.row() {
                    let (first, rest) = field(row).unwrap();
                    assert_eq!(field(rest).unwrap(), (None, &[][..]));
                    found.push(String::from_utf8(first.unwrap().to_vec()).unwrap());
                }
            }
            assert_eq!(found, ["one", "", "three"], "in pieces of {size}");
        }
    }
}
