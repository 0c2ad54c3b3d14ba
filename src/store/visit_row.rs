//! Visits as the store keeps them: begun and ended by the writer, put right by corrections.

use std::collections::HashMap;

use uuid::Uuid;
use waypost_actors::model::{Event, EventKind};
use waypost_actors::ports::VehicleWrite;
use waypost_actors::tracking::VisitRow;

use super::rows::{Column, Insert};
use super::sql::{Result, Tx};
use super::time::Time;

/// Ids in one statement.
const TOGETHER: usize = 500;

/// The insert of stays begun or ended, each as it stands after the last of these writes.
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
            entered_at = excluded.entered_at, exit_event_id = excluded.exit_event_id, \
            exited_at = excluded.exited_at",
    }
}

/// Takes back what retracted records told: a visit without its entry is none, one without its exit
/// goes on.
pub(super) async fn take_back(tx: &mut Tx, retracted: &[&Event]) -> Result<()> {
    let of_kind = |kind: EventKind| -> Vec<&Event> {
        retracted.iter().copied().filter(|event| event.kind == kind).collect()
    };
    for some in of_kind(EventKind::Exit).chunks(TOGETHER) {
        tx.on()
            .sql("update visit set exit_event_id = null, exited_at = null where id in (")
            .push_each(some, |stmt, event| stmt.push_bind(Uuid::from(event.visit_id)))
            .push(") and exit_event_id in (")
            .push_each(some, |stmt, event| stmt.push_bind(Uuid::from(event.id)))
            .push(")")
            .run()
            .await?;
    }
    for some in of_kind(EventKind::Entry).chunks(TOGETHER) {
        tx.on()
            .sql("delete from visit where id in (")
            .push_each(some, |stmt, event| stmt.push_bind(Uuid::from(event.visit_id)))
            .push(")")
            .run()
            .await?;
    }
    Ok(())
}
