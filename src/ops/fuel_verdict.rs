//! What dispatchers find of refuels and drains.

use waypost_actors::fuel::FuelRecord;
use waypost_actors::model::{ChangedResource, EventId, EventStatus};
use waypost_actors::tracking::{AlertRule, RecordView, alert_id};

use super::change::Change;
use super::error::OpError;
use super::etag::IfMatch;
use super::scoped::Scoped;
use crate::auth::{Action, OrgScope};
use crate::context::Context;
use crate::domain::audit::AuditAction;
use crate::domain::body::Params;
use crate::domain::fuel_verdict::{FuelVerdict, FuelVerdictIn, JudgedFuelEvent};
use crate::store::{alert, fuel_verdict, record_history};

/// Refuels and drains with what was found of them.
pub(super) async fn judged(
    context: &Context,
    scope: &OrgScope,
    events: &[FuelRecord],
) -> Result<Vec<JudgedFuelEvent>, OpError> {
    let ids: Vec<EventId> = events.iter().map(|record| record.event.id).collect();
    let mut verdicts = fuel_verdict::of_events(context.db.lists(), scope, &ids).await?;
    let with_verdict = |event: &FuelRecord| {
        let verdict = verdicts.remove(&event.event.id);
        JudgedFuelEvent { event: event.clone(), verdict }
    };
    Ok(events.iter().map(with_verdict).collect())
}

/// A refuel or drain.
pub async fn find_fuel_event(
    context: &Context,
    by: &Scoped,
    id: EventId,
) -> Result<JudgedFuelEvent, OpError> {
    let scope = by.scope(context, Action::ReadFuel).await?;
    let event = find(context, &scope, id).await?;
    let verdict = fuel_verdict::of_events(context.db.read(), &scope, &[id]).await?.remove(&id);
    Ok(JudgedFuelEvent { event, verdict })
}

/// Says whether a refuel or drain was one. The alert of a drain is seen with that.
pub async fn judge_fuel_event(
    context: &Context,
    by: &Scoped,
    id: EventId,
    if_match: &IfMatch,
    body: Params<FuelVerdictIn>,
) -> Result<JudgedFuelEvent, OpError> {
    let scope = by.scope(context, Action::HandleAlerts).await?;
    let event = find(context, &scope, id).await?;
    if event.status == EventStatus::Retracted {
        return Err(OpError::Transition(
            "what was retracted never was, so nothing is to be found of it".to_owned(),
        ));
    }
    let mut change = Change::within(context, Some(&by.caller), Some(scope)).await?;
    let verdict = fuel_verdict::hold(change.tx(), &scope, id).await?;
    let before = JudgedFuelEvent { event, verdict };
    let said = before.verdict.as_ref();
    let found = body.changed(&said, &said.map(|verdict| &verdict.found))?;
    if said.is_some_and(|verdict| verdict.found == found) {
        let recorded = change.as_before();
        return change.commit(recorded, before).await;
    }
    if_match.check(&before)?;
    let now = change.now();
    fuel_verdict::update(change.on(), &scope, id, &found, (by.caller.id, now)).await?;
    see_alert(&mut change, &scope, by, id).await?;
    let verdict: Option<FuelVerdict> = fuel_verdict::of_events(change.on(), &scope, &[id]).await?.remove(&id);
    let after = JudgedFuelEvent { verdict, ..before.clone() };
    let recorded = change.done(&after, AuditAction::Judge, &before, &after).await?;
    change.commit(recorded, after).await
}

/// A user who judges a drain has seen its alert, which tells the verdict.
async fn see_alert(
    change: &mut Change<'_>,
    scope: &OrgScope,
    by: &Scoped,
    drain: EventId,
) -> Result<(), OpError> {
    let id = alert_id(AlertRule::Drain, drain.into());
    if !record_history::exists(change.on(), scope, id).await? {
        return Ok(());
    }
    let now = change.now();
    if alert::hold(change.tx(), scope, id, now).await?.acknowledged_at.is_none() {
        alert::acknowledge(change.on(), scope, id, by.caller.id, now).await?;
    }
    change.affects(ChangedResource::Alert, id.into());
    Ok(())
}

async fn find(context: &Context, scope: &OrgScope, id: EventId) -> Result<FuelRecord, OpError> {
    let record = record_history::find(&context.db, scope, id).await?;
    record.and_then(|record| RecordView::from(&record).fuel()).ok_or(OpError::NotFound)
}
