//! Visits as the store keeps them: begun and ended by the writer, put right by corrections.

use std::collections::HashMap;

use uuid::Uuid;
use waypost_actors::model::{EventId, VisitId};
use waypost_actors::ports::VehicleWrite;
use waypost_actors::tracking::VisitRow;

use super::rows::{Column, Insert};
use super::sql::{Result, Tx};
use super::time::Time;

/// Ids in one statement.
const TOGETHER: usize = 500;

/// The insert of stays begun or ended, each as it stands after the last of these writes. One that goes on
/// leaves an exit alone that is stored: it may be of a part of the timeline that stands.
pub(super) fn insert_visits<'a>(
    visits: impl Iterator<Item = (&'a VehicleWrite, &'a VisitRow)>,
) -> Insert<'static> {
    let newest: HashMap<_, _> = visits.map(|(write, visit)| (visit.id, (write, visit))).collect();
    let rows: Vec<_> = newest.into_values().collect();
    Insert {
        into: "insert into visit \
            (id, organization_id, vehicle_id, geofence_id, entry_event_id, entered_at, exit_event_id, exited_at)",
        columns: vec![
            Column::Uuid(rows.iter().map(|(_, v)| v.id.0).collect()),
            Column::Uuid(rows.iter().map(|(w, _)| w.organization_id.0).collect()),
            Column::Uuid(rows.iter().map(|(w, _)| w.vehicle_id.0).collect()),
            Column::Uuid(rows.iter().map(|(_, v)| v.geofence_id.0).collect()),
            Column::Uuid(rows.iter().map(|(_, v)| v.entry_event_id.0).collect()),
            Column::Time(rows.iter().map(|(_, v)| Time(v.entered_at)).collect()),
            Column::MaybeUuid(rows.iter().map(|(_, v)| v.exit.map(|(event, _)| event.0)).collect()),
            Column::MaybeTime(rows.iter().map(|(_, v)| v.exit.map(|(_, at)| Time(at))).collect()),
        ],
        after: "on conflict (id) do update set entry_event_id = excluded.entry_event_id, \
            entered_at = excluded.entered_at, \
            exit_event_id = coalesce(excluded.exit_event_id, visit.exit_event_id), \
            exited_at = coalesce(excluded.exited_at, visit.exited_at)",
    }
}

/// Undoes visits by records that began or ended them and do so no more: an exit that is such a record is
/// none, and a visit whose entry does not hold is none. Call when the records are written.
pub(super) async fn undo_visits(tx: &mut Tx, undone: &[(VisitId, EventId)]) -> Result<()> {
    for some in undone.chunks(TOGETHER) {
        tx.on()
            .sql("update visit set exit_event_id = null, exited_at = null where id in (")
            .push_each(some, |stmt, (visit, _)| stmt.push_bind(Uuid::from(*visit)))
            .push(") and exit_event_id in (")
            .push_each(some, |stmt, (_, event)| stmt.push_bind(Uuid::from(*event)))
            .push(")")
            .run()
            .await?;
        tx.on()
            .sql("delete from visit where id in (")
            .push_each(some, |stmt, (visit, _)| stmt.push_bind(Uuid::from(*visit)))
            .push(
                ") and not exists (select 1 from geofence_event e \
                where e.id = visit.entry_event_id and e.status = 'active')",
            )
            .run()
            .await?;
    }
    Ok(())
}
