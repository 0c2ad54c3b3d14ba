//! Alerts: the records of the log, and what dispatchers do with them.

use waypost_actors::model::{EventId, EventStatus, Timestamp};
use waypost_actors::tracking::{AlertEvent, AlertRule, Record, RecordKind, RecordView};

use super::change::Change;
use super::error::OpError;
use super::events::records_in;
use super::scoped::Scoped;
use crate::auth::{Action, OrgScope};
use crate::context::Context;
use crate::domain::alert::{Alert, MAX_SNOOZE_SECONDS, SnoozeAlert};
use crate::domain::audit::AuditAction;
use crate::domain::body::Params;
use crate::domain::event::{EventFilter, EventOrder};
use crate::domain::field::FieldError;
use crate::domain::fuel_verdict::FuelVerdict;
use crate::domain::paging::{Slice, SliceRequest};
use crate::store::{alert, fuel_verdict, record_history};

/// The alerts that the caller may read, from a place in the list on. `open`: whether they ask for attention now.
pub async fn list_alerts(
    context: &Context,
    by: &Scoped,
    (filter, open): (EventFilter, Option<bool>),
    order: EventOrder,
    request: &SliceRequest,
) -> Result<Slice<Alert>, OpError> {
    let mut scope = by.scope(context, Action::ReadEvents).await?;
    if filter.rules.contains(&AlertRule::Drain) {
        scope = by.scope(context, Action::ReadFuel).await?;
    }
    let (sees, now) = (by.caller.sees(), context.clock.now());
    let filter = EventFilter {
        kinds: vec![RecordKind::Alert],
        attention: open.map(|open| (open, now)),
        without_fuel: !sees.fuel,
        ..filter
    };
    let purpose = format!("alerts {} {}", order.as_str(), if sees.fuel { "all" } else { "withoutFuel" });
    let found = records_in(context, &scope, &purpose, &filter, order, request).await?;
    let ids: Vec<EventId> = found.items.iter().map(|record| record.id).collect();
    let mut handled = alert::handled(context.db.lists(), &scope, &ids).await?;
    let drains: Vec<EventId> = found.items.iter().filter_map(drain).collect();
    let mut verdicts = fuel_verdict::of_events(context.db.lists(), &scope, &drains).await?;
    Ok(found.filter_map(|record| {
        let handling = handled.remove(&record.id).unwrap_or_default();
        let verdict = drain(&record).and_then(|drain| verdicts.remove(&drain));
        Some(Alert::new(event(&record)?, handling, verdict, now))
    }))
}

/// An alert.
pub async fn find_alert(context: &Context, by: &Scoped, id: EventId) -> Result<Alert, OpError> {
    let scope = by.scope(context, Action::ReadEvents).await?;
    let event = find(context, by, &scope, id).await?;
    let handling = alert::handled(context.db.read(), &scope, &[id]).await?.remove(&id).unwrap_or_default();
    let verdict = verdict(context, &scope, &event).await?;
    Ok(Alert::new(event, handling, verdict, context.clock.now()))
}

/// Says that an alert is seen. If somebody said so before, nothing changes.
pub async fn acknowledge_alert(context: &Context, by: &Scoped, id: EventId) -> Result<Alert, OpError> {
    let (mut change, scope, before) = begin(context, by, id).await?;
    if before.handling.acknowledged_at.is_some() {
        let recorded = change.as_before();
        return change.commit(recorded, before).await;
    }
    let now = change.now();
    alert::acknowledge(change.on(), &scope, id, by.caller.id, now).await?;
    done(change, &scope, &before, AuditAction::Acknowledge).await
}

/// Puts an alert off until an instant; one that has passed ends that.
pub async fn snooze_alert(
    context: &Context,
    by: &Scoped,
    id: EventId,
    body: Params<SnoozeAlert>,
) -> Result<Alert, OpError> {
    let (mut change, scope, before) = begin(context, by, id).await?;
    let SnoozeAlert { until } = body.made()?;
    let now = change.now();
    if until.seconds_since(now) > MAX_SNOOZE_SECONDS {
        let must = "must not be more than 30 days ahead";
        return Err(OpError::Invalid(vec![FieldError::new("/until", "range", must)]));
    }
    if before.handling.snoozed_until == Some(until) {
        let recorded = change.as_before();
        return change.commit(recorded, before).await;
    }
    alert::snooze(change.on(), &scope, id, (by.caller.id, until), now).await?;
    done(change, &scope, &before, AuditAction::Snooze).await
}

/// Begins to change what is done with an alert, which is held from then on.
async fn begin<'a>(
    context: &'a Context,
    by: &'a Scoped,
    id: EventId,
) -> Result<(Change<'a>, OrgScope, Alert), OpError> {
    let scope = by.scope(context, Action::HandleAlerts).await?;
    let event = find(context, by, &scope, id).await?;
    if event.status == EventStatus::Retracted {
        return Err(OpError::Transition("an alert that was retracted is none any more".to_owned()));
    }
    let verdict = verdict(context, &scope, &event).await?;
    let mut change = Change::within(context, Some(&by.caller), Some(scope)).await?;
    let now: Timestamp = change.now();
    let handling = alert::hold(change.tx(), &scope, id, now).await?;
    Ok((change, scope, Alert::new(event, handling, verdict, now)))
}

/// Audits what was done, and commits it with the alert as it is then.
async fn done(
    mut change: Change<'_>,
    scope: &OrgScope,
    before: &Alert,
    action: AuditAction,
) -> Result<Alert, OpError> {
    let (id, now) = (before.event.id, change.now());
    let handling = alert::handled(change.on(), scope, &[id]).await?.remove(&id).unwrap_or_default();
    let after = Alert::new(before.event.clone(), handling, before.verdict.clone(), now);
    let recorded = change.done(&after, action, before, &after).await?;
    change.commit(recorded, after).await
}

async fn find(context: &Context, by: &Scoped, scope: &OrgScope, id: EventId) -> Result<AlertEvent, OpError> {
    let record = record_history::find(&context.db, scope, id).await?;
    let may = |record: &Record| !record.is_fuel() || by.caller.sees().fuel;
    record.filter(may).as_ref().and_then(event).ok_or(OpError::NotFound)
}

/// What was found of the drain that an alert is of.
async fn verdict(
    context: &Context,
    scope: &OrgScope,
    alert: &AlertEvent,
) -> Result<Option<FuelVerdict>, OpError> {
    if alert.rule != AlertRule::Drain {
        return Ok(None);
    }
    let id = EventId(alert.cause_id);
    Ok(fuel_verdict::of_events(context.db.read(), scope, &[id]).await?.remove(&id))
}

/// The drain that an alert is of.
fn drain(record: &Record) -> Option<EventId> {
    let detail = record.as_alert().filter(|detail| detail.rule == AlertRule::Drain)?;
    Some(EventId(detail.cause_id))
}

fn event(record: &Record) -> Option<AlertEvent> {
    match RecordView::from(record) {
        RecordView::Alert(event) => Some(event),
        _ => None,
    }
}
