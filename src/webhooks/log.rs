//! How the log is read by number: records and changes of master data, in their one order.

use std::ops::Range;
use std::sync::Arc;

use waypost_actors::ports::RecordLog;
use waypost_actors::watch::{Audience, CommittedRecord};

use crate::feed::Entry;

/// At most `most` entries of a range of numbers, and the number up to which the range was read.
pub async fn read_log(
    log: &dyn RecordLog,
    audience: Audience,
    Range { start, end }: Range<i64>,
    most: usize,
) -> Result<(Vec<Entry>, i64), String> {
    let limit = i64::try_from(most).unwrap_or(i64::MAX);
    let records = log.records_from(audience, start, limit).await.map_err(|error| error.to_string())?;
    let changes = log.changes_from(audience, start, limit).await.map_err(|error| error.to_string())?;
    // What lies beyond the last number of a full page is unknown.
    let known = |read: usize, last: Option<i64>| last.filter(|_| read >= most).map_or(end, |last| last + 1);
    let of_records = known(records.len(), records.last().map(|record| record.sequence));
    let of_changes = known(changes.len(), changes.last().map(|change| change.sequence));
    let records = records.into_iter().map(|record| Entry::Record(Arc::new(CommittedRecord::new(record))));
    let mut entries: Vec<Entry> = records.chain(changes.into_iter().map(Entry::Change)).collect();
    entries.sort_by_key(Entry::sequence);
    let next = of_records.min(of_changes).min(end);
    entries.retain(|entry| entry.sequence() < next);
    let next = if entries.len() > most { entries[most].sequence() } else { next };
    entries.truncate(most);
    Ok((entries, next))
}
