//! How long the disk takes to keep something, measured where the stores are.

use std::io::Write as _;
use std::time::Instant;

use anyhow::Result;

/// A page of PostgreSQL's log.
const BLOCK: [u8; 8192] = [7; 8192];

/// Milliseconds of some appends of a block, each made durable.
pub(crate) fn fdatasync_millis(times: usize) -> Result<Vec<f64>> {
    let mut file = tempfile::tempfile()?;
    let mut millis = Vec::with_capacity(times);
    for _ in 0..times {
        file.write_all(&BLOCK)?;
        let begun = Instant::now();
        file.sync_data()?;
        millis.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    Ok(millis)
}
