//! A vehicle's fixes, wherever they are: in chunks, in the tail that is in none yet, and in the table of those that came
//! late or were changed since, whose rows stand above the others.

use std::collections::BTreeMap;

use waypost_actors::model::Timestamp;

use super::fix_row::{FixRow, SELECT_FIXES};
use super::packed_chunk::ChunkFix;
use super::position_chunk::{Span, chunked_fixes};
use super::sql::{On, Reader, Result};
use super::time::Time;

/// Fixes that are read at once: some 3 MB.
const PAGE_FIXES: usize = 10_000;

/// Which of a vehicle's fixes, in the order of instant, latitude, longitude.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    span: Span,
    /// Behind this one, in the wanted order; the span begins there.
    after: Option<Key>,
}

impl From<Span> for Range {
    fn from(span: Span) -> Self {
        Self { span, after: None }
    }
}

/// Instant, latitude and longitude. Doubles that are no NaN order as their numbers do, with one zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Key(pub(super) Timestamp, pub(super) f64, pub(super) f64);

impl Eq for Key {}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let Self(at, latitude, longitude) = *self;
        at.cmp(&other.0)
            .then((latitude + 0.0).total_cmp(&(other.1 + 0.0)))
            .then((longitude + 0.0).total_cmp(&(other.2 + 0.0)))
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Range {
    fn holds(&self, key: &Key) -> bool {
        let is_behind = |after: &Key| if self.span.is_newest_first { key < after } else { key > after };
        self.span.holds(key.0) && self.after.as_ref().is_none_or(is_behind)
    }

    /// What is left of it behind a fix.
    pub(super) fn behind(self, key: Key) -> Self {
        let Span { from, to, .. } = self.span;
        let (from, to) = if self.span.is_newest_first {
            (from, Some(to.map_or(key.0, |to| to.min(key.0))))
        } else {
            (Some(from.map_or(key.0, |from| from.max(key.0))), to)
        };
        Self { span: Span { from, to, ..self.span }, after: Some(key) }
    }
}

impl From<&ChunkFix> for Key {
    fn from(ChunkFix { fix, .. }: &ChunkFix) -> Self {
        Self(fix.recorded_at, fix.place.latitude, fix.place.longitude)
    }
}

impl From<&FixRow> for Key {
    fn from(row: &FixRow) -> Self {
        Self(row.recorded_at.into(), row.latitude, row.longitude)
    }
}

/// The first `limit` fixes of a range that `keep` wants. `tail`: the vehicle's fixes that are in no chunk, read before.
pub(super) async fn read_fixes(
    reader: Reader<'_>,
    tail: &[ChunkFix],
    range: Range,
    limit: usize,
    keep: impl Fn(&FixRow) -> bool,
) -> Result<Vec<FixRow>> {
    Ok(read_some(reader, tail, range, (limit, usize::MAX), keep).await?.0)
}

/// As [`read_fixes`], but gives up once it has read `most` fixes or a page more, and then tells the one behind which to go on.
pub(super) async fn read_some(
    mut reader: Reader<'_>,
    tail: &[ChunkFix],
    mut range: Range,
    (limit, most): (usize, usize),
    keep: impl Fn(&FixRow) -> bool,
) -> Result<(Vec<FixRow>, Option<Key>)> {
    let (mut found, mut read) = (Vec::new(), 0);
    // Of many that nobody wants few pages are read.
    let mut least = 1;
    while found.len() < limit {
        let wanted = (limit - found.len()).max(least).min(PAGE_FIXES);
        least = PAGE_FIXES;
        let mut rows: BTreeMap<Key, FixRow> = BTreeMap::new();
        // One more, because the first in a chunk may be the one that the range is behind.
        let chunked = chunked_fixes(&mut reader, &range.span, wanted + 1).await?;
        let in_order = chunked.iter().chain(tail).map(|fix| (Key::from(fix), fix));
        let in_range = in_order.filter(|(key, _)| range.holds(key));
        rows.extend(in_range.map(|(key, fix)| (key, FixRow::from(fix))));
        let changed = changed_rows(reader.on(), &range, wanted).await?;
        rows.extend(changed.into_iter().map(|row| (Key::from(&row), row)));
        let is_last = rows.len() < wanted;
        let first: Vec<(Key, FixRow)> = if range.span.is_newest_first {
            rows.into_iter().rev().take(wanted).collect()
        } else {
            rows.into_iter().take(wanted).collect()
        };
        let Some(last) = first.last().map(|(key, _)| *key) else { break };
        read += first.len();
        range = range.behind(last);
        found.extend(first.into_iter().map(|(_, row)| row).filter(|row| keep(row)));
        if is_last {
            break;
        }
        if read >= most && found.len() < limit {
            return Ok((found, Some(last)));
        }
    }
    found.truncate(limit);
    Ok((found, None))
}

/// The first rows of the range in the table of late and changed fixes.
async fn changed_rows(on: On<'_>, range: &Range, limit: usize) -> Result<Vec<FixRow>> {
    let mut stmt = on.sql(SELECT_FIXES).push(" where p.vehicle_id = ").push_bind(range.span.vehicle.0);
    if let Some(from) = range.span.from {
        stmt = stmt.push(" and p.recorded_at >= ").push_bind(Time(from));
    }
    if let Some(to) = range.span.to {
        stmt = stmt.push(" and p.recorded_at <= ").push_bind(Time(to));
    }
    if let Some(Key(at, latitude, longitude)) = range.after {
        stmt = stmt.push(" and (p.recorded_at, p.latitude, p.longitude) ");
        stmt =
            stmt.push(if range.span.is_newest_first { "< (" } else { "> (" }).push_bind(Time(at)).push(", ");
        stmt = stmt.push_bind(latitude).push(", ").push_bind(longitude).push(")");
    }
    let stmt = stmt.push(if range.span.is_newest_first {
        " order by p.recorded_at desc, p.latitude desc, p.longitude desc limit "
    } else {
        " order by p.recorded_at, p.latitude, p.longitude limit "
    });
    stmt.push_bind(limit as i64).all().await
}
