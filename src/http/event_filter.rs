//! The filters that all lists of events share: `/v1/events` and its views.

use waypost_actors::model::EventStatus;
use waypost_actors::tracking::RecordKind;

use super::query::{Query, id, word};
use crate::domain::event::{EventFilter, EventOrder};

/// Reads `type`, of the kinds in the list, `driverId` and `status`.
pub(super) fn event_filter<K: Copy + Into<RecordKind>>(
    query: &mut Query,
    order: EventOrder,
    kinds: &'static [(&'static str, K)],
) -> EventFilter {
    let mut statuses = query.many("status", word(EventStatus::WORDS));
    if statuses.is_empty() && order != EventOrder::Sequence {
        statuses = vec![EventStatus::Active]; // the feed tells of retractions too
    }
    EventFilter {
        driver_ids: query.many("driverId", id),
        kinds: query.many("type", word(kinds)).into_iter().map(Into::into).collect(),
        statuses,
        ..EventFilter::default()
    }
}
