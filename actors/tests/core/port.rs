//! What the store in memory answers the core, and how it fails.

use futures_util::future::BoxFuture;
use uuid::Uuid;
use waypost_actors::geofence::FenceTimeline;
use waypost_actors::model::{Change, ChangeKind, ChangedResource, GeofenceId, Timestamp, VehicleId};
use waypost_actors::ports::{Batch, Committed, RefusedFix, Reread, Seeds, Slice, StoreError, TrackStore};
use waypost_actors::tracking::{NearSpan, Record};

use crate::fault::Fault;
use crate::store::{Store, away};

impl TrackStore for Store {
    fn seeds(&self) -> BoxFuture<'_, Result<Seeds, StoreError>> {
        Box::pin(async move { Ok(self.books().seeds()) })
    }

    fn commit<'a>(&'a self, batch: &'a Batch) -> BoxFuture<'a, Result<Vec<Committed>, StoreError>> {
        Box::pin(async move {
            self.books().note(batch);
            let takes = self.books().takes;
            if !takes.is_zero() {
                tokio::time::sleep(takes).await;
            }
            self.open.subscribe().wait_for(|open| *open).await.expect("the store keeps the sender");
            let fault = {
                let mut books = self.books();
                books.answers()?;
                books.takes(batch)?;
                books.plan.pop_front().unwrap_or(Fault::None)
            };
            match fault {
                Fault::None => Ok(self.books().write(batch)),
                Fault::Refuse => Err(away("refused")),
                Fault::Doubt => {
                    self.books().write(batch);
                    Err(away("stored, and the answer is lost"))
                }
                Fault::Vanish => {
                    let mut books = self.books();
                    books.away = true;
                    books.write(batch);
                    Err(away("stored, and gone"))
                }
                Fault::HangStored => {
                    self.books().write(batch);
                    std::future::pending().await
                }
                Fault::Hang => std::future::pending().await,
                Fault::Panic => panic!("the store panics, as it was told"),
                Fault::Miscount => {
                    let mut committed = self.books().write(batch);
                    committed[0].counts.stored -= 1;
                    Ok(committed)
                }
                Fault::Misnumber => {
                    let mut committed = self.books().write(batch);
                    committed
                        .iter_mut()
                        .flat_map(|told| &mut told.records)
                        .for_each(|record| record.sequence += 1);
                    Ok(committed)
                }
                Fault::TakenOver => {
                    self.books().taken_over = true;
                    Err(StoreError::TakenOver)
                }
            }
        })
    }

    fn reread<'a>(
        &'a self,
        vehicles: &'a [VehicleId],
        sequence: i64,
    ) -> BoxFuture<'a, Result<Reread, StoreError>> {
        Box::pin(async move {
            let books = self.books();
            books.answers()?;
            let stored = |id: &VehicleId| books.ledgers.get(id);
            let dirty = |id: &VehicleId| Some((*id, stored(id)?.mark?.from));
            let of_ledgers = books.ledgers.values().flat_map(|ledger| ledger.records.values());
            let mut records: Vec<Record> = of_ledgers.chain(&books.connections).cloned().collect();
            records.retain(|record| record.sequence >= sequence);
            records.sort_by_key(|record| record.sequence);
            let changes = books.changes.iter().copied().filter(|number| *number >= sequence);
            Ok(Reread {
                states: vehicles
                    .iter()
                    .map(|id| (*id, stored(id).map(|ledger| ledger.state.clone()).unwrap_or_default()))
                    .collect(),
                dirty: vehicles.iter().filter_map(dirty).collect(),
                records,
                changes: changes.map(change).collect(),
                next_sequence: books.next_sequence(),
            })
        })
    }

    fn number_changes(&self) -> BoxFuture<'_, Result<Vec<Change>, StoreError>> {
        let mut books = self.books();
        let fault = books.numbering_faults.pop_front().unwrap_or(Fault::None);
        if fault == Fault::Refuse {
            return Box::pin(std::future::ready(Err(away("a row cannot be read"))));
        }
        if fault == Fault::Hang {
            return Box::pin(std::future::pending());
        }
        let first = books.next_sequence();
        let numbers = first..first + std::mem::take(&mut books.waiting_changes) as i64;
        books.changes.extend(numbers.clone());
        let answer = match fault {
            Fault::Doubt => Err(away("stored, and the answer is lost")),
            _ => Ok(numbers.map(change).collect()),
        };
        Box::pin(std::future::ready(answer))
    }

    fn revise_drivers(&self) -> BoxFuture<'_, Result<(Vec<Record>, bool), StoreError>> {
        let mut books = self.books();
        books.numberings += 1;
        let revised = match std::mem::take(&mut books.refuses_drivers) {
            true => Err(StoreError::refused("never")),
            false => Ok((Vec::new(), false)),
        };
        Box::pin(std::future::ready(revised))
    }

    fn log_connections<'a>(
        &'a self,
        records: &'a [Record],
    ) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        Box::pin(async move {
            self.open.subscribe().wait_for(|open| *open).await.expect("the store keeps the sender");
            let mut books = self.books();
            books.answers()?;
            match books.connection_faults.pop_front().unwrap_or(Fault::None) {
                Fault::Refuse => Err(StoreError::refused("never")),
                Fault::Doubt => {
                    books.log_connections(records);
                    Err(away("stored, and the answer is lost"))
                }
                _ => Ok(books.log_connections(records)),
            }
        })
    }

    fn slice(&self, vehicle: VehicleId) -> BoxFuture<'_, Result<Option<Slice>, StoreError>> {
        Box::pin(async move {
            self.books().slices += 1;
            // The slice is read now; the answer comes late.
            let slice = {
                let books = self.books();
                books.answers()?;
                books.ledgers.get(&vehicle).and_then(|ledger| ledger.slice(books.slice_fixes))
            };
            self.slices_open.subscribe().wait_for(|open| *open).await.expect("the store keeps the sender");
            Ok(slice)
        })
    }

    fn came_near<'a>(
        &'a self,
        fence: &'a FenceTimeline,
        from: Timestamp,
        vehicles: &'a [VehicleId],
    ) -> BoxFuture<'a, Result<Vec<(VehicleId, NearSpan)>, StoreError>> {
        Box::pin(async move {
            let mut books = self.books();
            books.answers()?;
            let span = |vehicle: &VehicleId| {
                let span = books.ledgers.get(vehicle)?.near_span(fence, from)?;
                Some((*vehicle, span))
            };
            let spans: Vec<_> = vehicles.iter().filter_map(span).collect();
            books.near.push((vehicles.len(), spans.len()));
            Ok(spans)
        })
    }

    fn keep_refused_fix<'a>(&'a self, refused: &'a RefusedFix) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let mut books = self.books();
            books.answers()?;
            books.quarantined.push(refused.clone());
            Ok(())
        })
    }

    fn mark_settled(&self, fence: GeofenceId, version: i64) -> BoxFuture<'_, Result<(), StoreError>> {
        let mut books = self.books();
        let answer = books.answers().map(|()| books.settled.push((fence, version)));
        Box::pin(std::future::ready(answer))
    }

    fn mark_calibrated(&self, _: VehicleId, _: i64) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(std::future::ready(self.books().answers()))
    }
}

/// A change of master data by its number.
fn change(sequence: i64) -> Change {
    Change {
        sequence,
        organization_id: None,
        resource: ChangedResource::Vehicle,
        resource_id: Uuid::nil(),
        kind: ChangeKind::Updated,
        changed_at: Timestamp::from_micros(0),
    }
}
