//! Devices that report for an organization and are no tracker of it yet: what they send is kept for the user who adds them. The
//! one way there, whatever they report by.

use waypost_actors::model::{OrganizationId, Timestamp};
use waypost_actors::tracking;

use super::decode::Item;
use crate::clock;
use crate::domain::pending_tracker::{KeptFix, may_be_name};
use crate::report_log::ReportLog;

/// Notes that such a device was heard, and keeps the fixes among what it said.
pub(super) fn keep<'i>(
    log: &ReportLog,
    organization: OrganizationId,
    (name, input): (&str, &'static str),
    items: impl Iterator<Item = &'i Item<'i>>,
    now: Timestamp,
) {
    if !may_be_name(name) {
        return;
    }
    let kept = |item: &Item<'_>| {
        let recorded_at = *item.recorded_at.as_ref().ok()?;
        let fix = tracking::accept(&item.reported, recorded_at, now, None).ok()?;
        KeptFix::of(clock::new_id(), fix, item.attributes.as_ref())
    };
    log.pending(organization, name, input, now, items.filter_map(kept));
}
