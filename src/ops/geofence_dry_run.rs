//! Dry runs: which visits a geofence would have made of what is stored. Nothing is written.

use std::collections::HashSet;
use std::mem::take;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::timeout;
use uuid::Uuid;
use waypost_actors::geofence::{FenceSet, FenceTimeline};
use waypost_actors::model::{
    Fence, FenceVersion, Fix, GeofenceId, Rules, ShapeSpec, Timestamp, Vehicle, VehicleId,
};
use waypost_actors::ports::TrackStore;
use waypost_actors::tracking::{self, DryRun};

use super::error::OpError;
use super::geofence_shape;
use super::own_organization::settings_of;
use super::scoped::Scoped;
use crate::auth::{Action, OrgScope};
use crate::context::Context;
use crate::domain::body::Params;
use crate::domain::dry_run::{
    DryRunGeofence, DryRunResult, DryRunVisit, MAX_DRY_RUN_SECONDS, MAX_DRY_RUN_VISITS,
};
use crate::domain::field::FieldError;
use crate::store::dry_run as store;
use crate::store::vehicle;

/// Most fixes that are judged: some seconds of one processor.
const MOST_FIXES: usize = 2_000_000;
/// The longest that may be read.
const MOST_TIME: Duration = Duration::from_secs(10);
/// Fixes of a vehicle that are read and judged at once.
const PIECE: usize = 10_000;
/// So few fixes are judged where they were read: a fraction of a millisecond.
const SHORT: usize = 100;
/// The first part of the time that is read of all vehicles. Seconds.
const FIRST_PART_SECONDS: f64 = 3_600.0;
/// Each further part is this many times as long as the one before.
const LONGER: f64 = 4.0;

/// Tries out a geofence on what is stored: as if it had been there always.
pub async fn dry_run(
    context: &Context,
    by: &Scoped,
    body: Params<DryRunGeofence>,
) -> Result<DryRunResult, OpError> {
    by.caller.may(Action::ReadPositions)?;
    let organization = body.organization()?.or(by.organization);
    let scope = by.caller.scope(&context.db, Action::TryGeofences, organization).await?;
    let settings = settings_of(context, &scope).await?;
    let asked = body.or("rules", settings.geofence_defaults).made()?;
    refuse_wrong(context, &scope, &asked).await?;
    let turn = context.dry_runs.begin(scope.organization_id().into()).ok_or(OpError::Busy)?;
    let now = context.clock.now();
    let (fence, fences) = fence(&scope, asked.shape, asked.rules, now).await?;
    let vehicles = store::vehicles(&context.db, &scope, &asked.vehicle_ids).await?;
    let mut trial = Trial {
        context,
        fences: Arc::new(fences),
        now,
        left: MOST_FIXES,
        vehicles: vehicles.into_iter().map(Tried::from).collect(),
        result: DryRunResult {
            visit_count: 0,
            vehicle_count: 0,
            visits: Vec::new(),
            read_through: asked.from.min(now),
            is_complete: false,
        },
    };
    // What was read whole by then is told.
    if let Ok(read) = timeout(MOST_TIME, trial.read(&fence, asked.to.min(now))).await {
        read?;
    }
    drop(turn);
    Ok(trial.result)
}

async fn refuse_wrong(context: &Context, scope: &OrgScope, asked: &DryRunGeofence) -> Result<(), OpError> {
    let seconds = asked.to.seconds_since(asked.from);
    let mut problems = Vec::new();
    if seconds <= 0.0 {
        problems.push(FieldError::new("/to", "range", "must be after from"));
    }
    if seconds > MAX_DRY_RUN_SECONDS {
        problems.push(FieldError::new("/from", "range", "must be at most 31 days before to"));
    }
    let known = vehicle::existing(context.db.read(), scope, &asked.vehicle_ids).await?;
    problems.extend(FieldError::strangers("vehicleIds", "vehicle", &asked.vehicle_ids, &known));
    if problems.is_empty() { Ok(()) } else { Err(OpError::Invalid(problems)) }
}

/// The fence, in force always; checked and prepared on a thread that may block, because 30,000 vertices take a while.
async fn fence(
    scope: &OrgScope,
    shape: ShapeSpec,
    rules: Rules,
    now: Timestamp,
) -> Result<(Arc<FenceTimeline>, FenceSet), OpError> {
    let organization_id = scope.organization_id();
    let prepared = spawn_blocking(move || {
        let shape = geofence_shape::checked(shape)?.shape;
        let version = FenceVersion {
            version: 1,
            effective_from: None,
            changed_at: now,
            active: true,
            deleted: false,
            shape,
            rules,
        };
        let id = GeofenceId(Uuid::nil());
        let fence = Fence { id, organization_id, name: String::new(), versions: vec![version] };
        let fence = Arc::new(FenceTimeline::prepare(&fence));
        let set = FenceSet::new(vec![Arc::clone(&fence)]);
        Ok::<_, Vec<FieldError>>((fence, set))
    });
    Ok(prepared.await.map_err(|error| OpError::Internal(error.into()))??)
}

/// A vehicle, and how far it was read.
struct Tried {
    vehicle: Arc<Vehicle>,
    run: DryRun,
    last: Option<Fix>,
    /// Where the next fix is, behind a part without one.
    silent_until: Option<Timestamp>,
}

impl From<Vehicle> for Tried {
    fn from(vehicle: Vehicle) -> Self {
        Self { vehicle: Arc::new(vehicle), run: DryRun::default(), last: None, silent_until: None }
    }
}

impl Tried {
    /// Judges its next fixes, many of them on a thread that may block; `until`: they are all up to that instant.
    async fn judge(
        &mut self,
        fences: &Arc<FenceSet>,
        fixes: Vec<Fix>,
        (now, until): (Timestamp, Option<Timestamp>),
    ) -> Result<(), OpError> {
        let is_short = fixes.len() < SHORT;
        let (fences, vehicle, mut run) = (Arc::clone(fences), Arc::clone(&self.vehicle), take(&mut self.run));
        let judge = move || {
            let context = tracking::Context { vehicle: &vehicle, fences: &fences, detected_at: now };
            run.judge(fixes, &context);
            if let Some(until) = until {
                run.settle(until, &context);
            }
            run
        };
        self.run = match is_short {
            true => judge(),
            false => spawn_blocking(judge).await.map_err(|error| OpError::Internal(error.into()))?,
        };
        Ok(())
    }
}

struct Trial<'a> {
    context: &'a Context,
    fences: Arc<FenceSet>,
    now: Timestamp,
    /// Fixes that may still be judged.
    left: usize,
    vehicles: Vec<Tried>,
    /// By all parts of the time that were read whole.
    result: DryRunResult,
}

impl Trial<'_> {
    /// Reads from where it stands up to an instant, as far as it may: one part of the time after the other, of all vehicles, so that
    /// what is told is true of all of them. Those that never came near are not read.
    async fn read(&mut self, fence: &FenceTimeline, to: Timestamp) -> Result<(), OpError> {
        let all: Vec<VehicleId> = self.vehicles.iter().map(|tried| tried.vehicle.id).collect();
        let near = TrackStore::came_near(&*self.context.track, fence, self.result.read_through, &all);
        let near = near.await.map_err(|error| OpError::Unavailable(error.into()))?;
        let near: HashSet<VehicleId> = near.into_iter().map(|(vehicle, _)| vehicle).collect();
        self.vehicles.retain(|tried| near.contains(&tried.vehicle.id));
        let mut seconds = FIRST_PART_SECONDS;
        while self.result.read_through < to {
            let from = self.result.read_through;
            let until = from.plus_seconds(seconds).min(to);
            for index in 0..self.vehicles.len() {
                if !self.read_vehicle(index, (from, until), to).await? {
                    return Ok(());
                }
            }
            self.tell(until);
            seconds *= LONGER;
        }
        self.result.is_complete = true;
        Ok(())
    }

    /// Returns whether all of a part was read, of a time that ends at `to`.
    async fn read_vehicle(
        &mut self,
        index: usize,
        part: (Timestamp, Timestamp),
        to: Timestamp,
    ) -> Result<bool, OpError> {
        let Context { db, track, .. } = self.context;
        let tried = &mut self.vehicles[index];
        if tried.silent_until.is_some_and(|until| until >= part.1) {
            tried.judge(&self.fences, Vec::new(), (self.now, Some(part.1))).await?;
            return Ok(true);
        }
        let mut is_silent = true;
        loop {
            let limit = PIECE.min(self.left);
            let fixes = store::fixes(db, track, tried.vehicle.id, part, tried.last.as_ref(), limit).await?;
            let is_last = fixes.len() < limit;
            if fixes.is_empty() && !is_last {
                return Ok(false);
            }
            self.left -= fixes.len();
            is_silent &= fixes.is_empty();
            tried.last = fixes.last().copied().or(tried.last);
            tried.judge(&self.fences, fixes, (self.now, is_last.then_some(part.1))).await?;
            if is_last {
                break;
            }
        }
        if is_silent {
            let next = store::fixes(db, track, tried.vehicle.id, (part.1, to), None, 1).await?;
            tried.silent_until = Some(next.first().map_or(to, |fix| fix.recorded_at));
        }
        Ok(true)
    }

    /// All vehicles were read up to an instant.
    fn tell(&mut self, read_through: Timestamp) {
        let mut visits: Vec<(Timestamp, VehicleId, &str, Option<Timestamp>)> = Vec::new();
        let mut vehicles = HashSet::new();
        for Tried { vehicle, run, .. } in &self.vehicles {
            for (entered_at, exited_at) in run.stays() {
                vehicles.insert(vehicle.id);
                visits.push((*entered_at, vehicle.id, &vehicle.name, *exited_at));
            }
        }
        visits.sort_unstable();
        let shown =
            |(entered_at, vehicle_id, name, exited_at): &(Timestamp, VehicleId, &str, Option<Timestamp>)| {
                DryRunVisit {
                    vehicle_id: *vehicle_id,
                    vehicle_name: (*name).to_owned(),
                    entered_at: *entered_at,
                    exited_at: *exited_at,
                }
            };
        self.result = DryRunResult {
            visit_count: visits.len(),
            vehicle_count: vehicles.len(),
            visits: visits.iter().take(MAX_DRY_RUN_VISITS).map(shown).collect(),
            read_through,
            is_complete: false,
        };
    }
}
