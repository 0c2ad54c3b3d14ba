//! How a start finds what the writer knew beyond what is stored, and how a stop leaves nothing of it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use waypost_actors::geofence::FenceSet;
use waypost_actors::model::{OrganizationId, Origin, Timestamp, VehicleId};
use waypost_actors::ports::{Seeds, VehicleSeed, VehicleWrite};
use waypost_actors::prepare::fences_by_organization;
use waypost_actors::tracking::{Effects, Mark, VehicleState};

use super::memory::Memory;
use super::unsaved::Unsaved;
use super::{Held, Numbers, Track, connections, fix_log};
use crate::store::calibration;
use crate::store::organization;
use crate::store::position_chunk::insert_chunks;
use crate::store::seeds::{read_fences, read_unsettled, read_vehicles, read_vehicles_of};
use crate::store::sql::{Db, Result, beside};
use crate::store::state_row::{MarkChange, NewState, store_states};
use crate::store::time::{Time, just_after};

/// States that are written together, beside the commits.
const SAVED_TOGETHER: usize = 500;

/// What is stored of all vehicles, and the fences of each organization that has any.
struct Stored {
    vehicles: Vec<VehicleSeed>,
    fences: HashMap<OrganizationId, FenceSet>,
}

impl Track {
    /// Writes every state that is newer than its row by now, so that a start has nothing to replay. Commits go on beside.
    pub async fn save_states(&self) -> Result<()> {
        let lagging = self.memory.lock().await.unsaved.vehicles();
        for some in lagging.chunks(SAVED_TOGETHER) {
            self.save(|unsaved| some.iter().filter_map(|one| unsaved.lagging_state(*one)).collect()).await?;
        }
        // Cuts the log behind the last of them.
        self.save(|_| Vec::new()).await
    }

    /// Writes a vehicle's state, if it is newer than its row: what it is judged by has changed, and what the log tells was
    /// judged by what that was before.
    pub async fn save_state(&self, vehicle: VehicleId) -> Result<()> {
        self.save(|unsaved| unsaved.lagging_state(vehicle).into_iter().collect()).await
    }

    /// Writes some states that are newer than their rows, and cuts the log; nothing, if another server is the writer now.
    async fn save(&self, of: impl FnOnce(&Unsaved) -> Vec<NewState>) -> Result<()> {
        let Some(Held { mut tx, mut memory, log_number }) = self.hold_commits().await? else {
            return Ok(());
        };
        if !memory.is_recovered {
            return tx.rollback().await;
        }
        let states = of(&memory.unsaved);
        let whole = |new: &NewState| Ok((new.vehicle, self.tails.of(new.vehicle)?));
        let chunks: Vec<_> = states.iter().map(whole).collect::<Result<_>>()?;
        insert_chunks(&mut tx, &chunks).await?;
        store_states(&mut tx, &states, log_number, false).await?;
        let log_from = memory.unsaved.log_from_without(&states).unwrap_or(log_number + 1);
        fix_log::trim(&mut tx, log_from).await?;
        tx.commit().await?;
        memory.saved(&states);
        memory.log_from = log_from;
        Ok(())
    }

    /// Finds what the log tells, before the first commit of who did not ask for the seeds.
    pub(super) async fn recover(&self, memory: &mut Memory) -> Result<()> {
        self.read_stored(memory).await.map(|_| ())
    }

    /// Reads all that the live core starts from.
    pub(in crate::store) async fn read_seeds(&self) -> Result<Seeds> {
        let Stored { mut vehicles, fences } = self.read_stored(&mut *self.memory.lock().await).await?;
        let mut tx = self.writer.begin(self.db.shard()).await?;
        let Numbers { next_sequence, .. } = self.is_writer(&mut tx).await?.ok_or(sqlx::Error::RowNotFound)?;
        tx.commit().await?;
        let silences = organization::silences(&self.db, None).await?;
        let connections = connections::newest(&self.db).await?;
        for seed in &mut vehicles {
            seed.connection = connections.get(&seed.vehicle.id).copied();
        }
        Ok(Seeds {
            vehicles,
            fences,
            unsettled: read_unsettled(&self.db).await?,
            uncalibrated: calibration::read_unsettled(&self.db).await?,
            silences,
            next_sequence,
        })
    }

    /// Reads all vehicles and fences. What the log tells of a vehicle is in its state; the first time by applying it again.
    async fn read_stored(&self, memory: &mut Memory) -> Result<Stored> {
        let fences = async {
            let fences = read_fences(&self.db).await?;
            beside(move || Ok(fences_by_organization(&fences))).await
        };
        let now = self.clock.now();
        let (vehicles, fences) = tokio::try_join!(read_vehicles(&self.db, now), fences)?;
        let (mut vehicles, mut numbers): (Vec<VehicleSeed>, Vec<i64>) = vehicles.into_iter().unzip();
        if memory.is_recovered {
            for seed in &mut vehicles {
                if let Some(state) = memory.unsaved.state(seed.vehicle.id) {
                    (seed.state, seed.is_lost) = (VehicleState::clone(state), false);
                }
            }
            return Ok(Stored { vehicles, fences });
        }
        let log = fix_log::read(&self.db).await?;
        let (named, log) = beside(move || Ok((fix_log::named(&log)?, log))).await?;
        let in_use: HashSet<VehicleId> = vehicles.iter().map(|seed| seed.vehicle.id).collect();
        // Those that were taken out of use since are replayed too, for their fixes.
        let gone = named.iter().copied().filter(|vehicle| !in_use.contains(vehicle));
        for (seed, number) in read_vehicles_of(&self.db, &gone.collect::<Vec<_>>(), now).await? {
            vehicles.push(seed);
            numbers.push(number);
        }
        let (mut stored, mut replayed) = beside(move || {
            let numbers = vehicles.iter().map(|seed| seed.vehicle.id).zip(numbers).collect();
            let replayed = fix_log::replay_all(&mut vehicles, &numbers, &fences, &log, &named)?;
            Ok((Stored { vehicles, fences }, replayed))
        })
        .await?;
        for seed in stored.vehicles.iter().filter(|seed| seed.is_lost) {
            let mark = mark_of_lost(&self.db, seed.vehicle.id).await?;
            let known = replayed.marks.entry(seed.vehicle.id).or_insert(mark);
            *known = known.merge(mark);
        }
        let of_log = stored.vehicles.iter().filter_map(|seed| {
            let since = replayed.since.get(&seed.vehicle.id)?;
            Some((new_state(seed), *since))
        });
        memory.unsaved.resume(of_log);
        self.tails.replace(replayed.tails);
        for seed in &stored.vehicles {
            self.tails.reach(seed.vehicle.id, seed.state.newest_stored);
        }
        memory.is_recovered = true;
        stored.vehicles.retain(|seed| in_use.contains(&seed.vehicle.id));
        let doubtful = stored.vehicles.iter_mut().filter_map(|seed| {
            let mark = replayed.marks.get(&seed.vehicle.id)?;
            seed.dirty_from = Some(seed.dirty_from.map_or(mark.from, |from| from.min(mark.from)));
            Some(marking(seed, *mark))
        });
        let doubtful: Vec<VehicleWrite> = doubtful.collect();
        for some in doubtful.chunks(SAVED_TOGETHER) {
            tracing::warn!(
                vehicles = some.len(),
                "changed before they were judged by it: they await a correction"
            );
            self.commit_batch(memory, some).await?;
        }
        Ok(stored)
    }
}

/// What is to be found again of a vehicle whose state is lost: all behind its newest checkpoint, up to the present.
async fn mark_of_lost(db: &Db, vehicle: VehicleId) -> Result<Mark> {
    let newest = "select at from checkpoint where vehicle_id = $1 order by at desc limit 1";
    let newest: Option<(Time,)> = db.read().sql(newest).bind(vehicle.0).optional().await?;
    let from = newest.map_or(Timestamp::FIRST, |(at,)| just_after(at.into()));
    Ok(Mark { from, until: Timestamp::LAST, origin: Origin::Recompute })
}

fn new_state(seed: &VehicleSeed) -> NewState {
    NewState {
        vehicle: seed.vehicle.id,
        organization: seed.vehicle.organization_id,
        state: Arc::new(seed.state.clone()),
        change: MarkChange::default(),
    }
}

/// A write that does no more than store a state and a mark.
fn marking(seed: &VehicleSeed, mark: Mark) -> VehicleWrite {
    VehicleWrite {
        vehicle_id: seed.vehicle.id,
        organization_id: seed.vehicle.organization_id,
        effects: Box::new(Effects { late: Some(mark), ..Effects::default() }),
        state: Arc::new(seed.state.clone()),
        judged_at: Timestamp::FIRST,
    }
}
