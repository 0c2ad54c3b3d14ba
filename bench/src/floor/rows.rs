//! Rows of positions, and how PostgreSQL's binary `copy` takes them.

/// The columns of a row; the others of the table are null.
pub(super) const COLUMNS: &str =
    "vehicle_id, recorded_at, latitude, longitude, received_at, speed_kmh, heading_degrees";
/// 2000-01-01T00:00:00Z in microseconds since 1970: where PostgreSQL counts from.
const POSTGRES_EPOCH_MICROS: i64 = 946_684_800_000_000;
/// Fields, with their lengths.
const ROW_BYTES: usize = 2 + 7 * 4 + 16 + 6 * 8;

/// A position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) vehicle: u32,
    pub(super) recorded_at_micros: i64,
    pub(super) latitude: f64,
    pub(super) longitude: f64,
    pub(super) received_at_micros: i64,
    pub(super) speed_kmh: f64,
    pub(super) heading_degrees: f64,
}

impl Row {
    /// The vehicle's number, spread as ids are.
    pub(super) const fn vehicle_id(&self) -> u128 {
        (self.vehicle as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
    }
}

/// A whole `copy`.
pub(super) fn copy_text(rows: &[Row]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(32 + rows.len() * ROW_BYTES);
    bytes.extend(b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0");
    rows.iter().for_each(|row| push_row(row, &mut bytes));
    bytes.extend((-1_i16).to_be_bytes());
    bytes
}

/// One row of it.
pub(super) fn push_row(row: &Row, bytes: &mut Vec<u8>) {
    bytes.extend(7_i16.to_be_bytes());
    let mut put = |field: &[u8]| {
        bytes.extend((field.len() as i32).to_be_bytes());
        bytes.extend(field);
    };
    let time = |micros: i64| (micros - POSTGRES_EPOCH_MICROS).to_be_bytes();
    put(&row.vehicle_id().to_be_bytes());
    put(&time(row.recorded_at_micros));
    put(&row.latitude.to_be_bytes());
    put(&row.longitude.to_be_bytes());
    put(&time(row.received_at_micros));
    put(&row.speed_kmh.to_be_bytes());
    put(&row.heading_degrees.to_be_bytes());
}
