//! Visits in the store: begun and ended by the writer, corrected by corrections.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;
use waypost_actors::model::{EventId, Timestamp, VisitId};
use waypost_actors::ports::VehicleWrite;
use waypost_actors::tracking::VisitRow;

use super::rows::{Column, Insert};
use super::sql::{Result, Stmt, Tx};
use super::time::Time;

/// Ids in one statement.
const TOGETHER: usize = 500;

/// The insert of begun or ended stays, each as of the last of these writes. A stay still open does not overwrite a
/// stored exit, which may belong to a part of the timeline that remains valid.
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

/// Writes the stays that a correction found, where they are not stored so.
pub(super) async fn correct_visits(tx: &mut Tx, write: &VehicleWrite, visits: &[VisitRow]) -> Result<()> {
    let newest: HashMap<_, _> = visits.iter().map(|visit| (visit.id, visit)).collect();
    let mut different: Vec<_> = newest.values().copied().collect();
    let ids_of_all: Vec<VisitId> = newest.keys().copied().collect();
    for some in ids_of_all.chunks(TOGETHER) {
        let select =
            "select id, entry_event_id, entered_at, exit_event_id, exited_at from visit where id in (";
        let stored: Vec<Stored> = ids(tx.on().sql(select), some).all().await?;
        let same: HashSet<_> = stored
            .iter()
            .filter(|row| newest.get(&VisitId(row.id)).is_some_and(|visit| row.is(visit)))
            .map(|row| row.id)
            .collect();
        different.retain(|visit| !same.contains(&visit.id.0));
    }
    insert_visits(different.into_iter().map(|visit| (write, visit))).run(tx).await?;
    Ok(())
}

#[derive(sqlx::FromRow)]
struct Stored {
    id: Uuid,
    entry_event_id: Uuid,
    entered_at: Time,
    exit_event_id: Option<Uuid>,
    exited_at: Option<Time>,
}

impl Stored {
    /// Whether writing this stay would leave the row as it is.
    fn is(&self, visit: &VisitRow) -> bool {
        let has = |(event, at): (EventId, Timestamp)| {
            self.exit_event_id == Some(event.0) && self.exited_at == Some(Time(at))
        };
        self.entry_event_id == visit.entry_event_id.0
            && self.entered_at == Time(visit.entered_at)
            && visit.exit.is_none_or(has)
    }
}

/// Restores visits from their active records after some of their records were retracted. A visit whose entry is not
/// active is deleted. An exit that is not active is replaced by the newest active one up to `after`, the start of the
/// corrected part: the part's own exits are written later. Call after the records are written.
pub(super) async fn undo_visits(tx: &mut Tx, undone: &[VisitId], after: Option<Timestamp>) -> Result<()> {
    let after = Time(after.unwrap_or(Timestamp::FIRST));
    for some in undone.chunks(TOGETHER) {
        let gone = "delete from visit where not exists (select 1 from records e \
            where e.id = visit.entry_event_id and e.status = 'active') and id in (";
        ids(tx.on().sql(gone), some).run().await?;
        let entered = "update visit set entered_at = \
            (select e.occurred_at from records e where e.id = visit.entry_event_id) where id in (";
        ids(tx.on().sql(entered), some).run().await?;
        let stmt =
            tx.on().sql("update visit set exit_event_id = (select x.id").push(EXIT_UNTIL).push_bind(after);
        let stmt =
            stmt.push(NEWEST).push(", exited_at = (select x.occurred_at").push(EXIT_UNTIL).push_bind(after);
        let stmt = stmt.push(NEWEST).push(
            " where not exists (select 1 from records x where x.id = visit.exit_event_id \
            and x.visit_id = visit.id and x.status = 'active') and id in (",
        );
        ids(stmt, some).run().await?;
    }
    Ok(())
}

fn ids<'c>(stmt: Stmt<'c>, visits: &[VisitId]) -> Stmt<'c> {
    stmt.push_each(visits, |stmt, visit| stmt.push_bind(Uuid::from(*visit))).push(")")
}

const EXIT_UNTIL: &str = " from records x where x.visit_id = visit.id and x.kind = 'exit' \
    and x.status = 'active' and x.vehicle_id = visit.vehicle_id and x.occurred_at >= visit.entered_at \
    and x.occurred_at <= ";
const NEWEST: &str = " order by x.occurred_at desc limit 1)";
