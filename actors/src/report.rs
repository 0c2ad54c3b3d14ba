//! A connection's way of reporting fixes to vehicles.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::future::poll_fn;
use std::iter;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxBuildHasher;

use crate::actor::runtime::core::Core;
use crate::actor::runtime::handles::VehicleHandle;
use crate::actor::runtime::workers::Affinity;
use crate::actor::vehicle::poison::is_same;
use crate::actor::vehicle::report_batch::Outcome;
use crate::actor::vehicle::report_batch::ReportBatch;
use crate::error::LiveError;
use crate::model::{AttributesByFix, Fix, VehicleId};
use crate::ports::{Cause, Counts, RefusedFix, StoreError};

/// Restarts of a vehicle's actor that lose the same report; then the tracker has to send it again later. The last of
/// them leaves out a fix on which the others panicked.
const MAX_RESTARTS: usize = 3;
/// The reason that is kept with a fix that the engine panics on.
const PANICS: &str = "the engine failed on it three times";

/// One connection's way to report fixes. Remembers the addresses of the vehicles it has reported to.
pub struct Reporter {
    core: Arc<Core>,
    handles: HashMap<VehicleId, VehicleHandle, FxBuildHasher>,
    /// Where the connection wants its vehicles to live.
    affinity: Affinity,
    /// The newest write generation it has reported in.
    generation: u64,
    /// Shared with every [`Pending`] that the caller still holds.
    outstanding: Arc<()>,
}

/// Fixes on their way to their commit.
pub struct Pending {
    core: Arc<Core>,
    batch: Arc<ReportBatch>,
    /// The vehicle of each part.
    vehicles: Vec<VehicleId>,
    /// Where each fix was in the report; `None` if the order is unchanged.
    indexes: Option<Vec<usize>>,
    _outstanding: Arc<()>,
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("vehicles", &self.vehicles).finish_non_exhaustive()
    }
}

/// The outcome of a report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportOutcome {
    /// How the fixes that are stored ended.
    pub counts: Counts,
    /// Fixes that never will be stored, by their index in the report, with the reason. They are kept apart
    /// ([`RefusedFix`]), and sending them again changes nothing.
    pub refused: Vec<(usize, String)>,
    /// Fixes of vehicles that are out of use, by their index in the report.
    pub out_of_use: Vec<usize>,
}

impl Pending {
    /// Waits for the commit. An error means that nothing is acknowledged and the fixes have to be sent again; one
    /// is returned for a vehicle that is out of use, too.
    pub async fn committed(self) -> Result<Counts, LiveError> {
        let outcome = self.outcome().await?;
        if outcome.out_of_use.is_empty() { Ok(outcome.counts) } else { Err(LiveError::UnknownVehicle) }
    }

    /// Waits for the commit; returns the fixes that are refused for good as well. After an error, none of the fixes
    /// is promised.
    pub async fn outcome(self) -> Result<ReportOutcome, LiveError> {
        let (outcomes, quarantined) = poll_fn(|cx| self.batch.poll_resolved(cx)).await;
        let mut total = ReportOutcome::default();
        let mut failed = None;
        for (part, outcome) in outcomes.into_iter().enumerate() {
            match outcome {
                Ok(Outcome { counts, refused, .. }) => {
                    total.counts += counts;
                    let out = quarantined.iter().find(|(of, _)| *of == part).map_or(&[][..], |(_, out)| out);
                    if (refused.is_some() || !out.is_empty())
                        && let Err(error) = self.sort_out(part, refused, out, &mut total).await
                    {
                        failed = Some(error);
                    }
                }
                Err(LiveError::UnknownVehicle) => {
                    total.out_of_use.extend(self.batch.range(part).map(|index| self.index_in_report(index)));
                }
                Err(error) => failed = Some(error),
            }
        }
        total.refused.sort_unstable();
        total.out_of_use.sort_unstable();
        failed.map_or(Ok(total), Err)
    }

    /// Finds which fixes of a part cannot be stored.
    async fn sort_out(
        &self,
        part: usize,
        refused: Option<Cause>,
        quarantined: &[Fix],
        total: &mut ReportOutcome,
    ) -> Result<(), LiveError> {
        let Some(vehicle) = self.vehicles.get(part).copied() else { return Ok(()) };
        let indexes = self.batch.range(part).map(|index| self.index_in_report(index));
        let mut report: Vec<(usize, Fix)> = indexes.zip(self.batch.fixes(part).iter().copied()).collect();
        set_aside(&self.core, vehicle, &mut report, quarantined, total).await?;
        match refused {
            Some(why) => {
                let attributes = self.batch.attributes();
                isolate(&self.core, vehicle, (report, attributes), why.to_string(), total).await
            }
            None => Ok(()),
        }
    }

    fn index_in_report(&self, index: usize) -> usize {
        self.indexes.as_ref().and_then(|indexes| indexes.get(index)).copied().unwrap_or(index)
    }
}

/// Finds the fixes that the store refuses, by reporting halves of what contains some, in order.
async fn isolate(
    core: &Arc<Core>,
    vehicle: VehicleId,
    (refused, attributes): (Vec<(usize, Fix)>, AttributesByFix),
    why: String,
    total: &mut ReportOutcome,
) -> Result<(), LiveError> {
    let mut refused = vec![(refused, why)];
    let mut halves: Vec<Vec<(usize, Fix)>> = Vec::new();
    loop {
        if let Some((mut part, why)) = refused.pop() {
            if part.len() > 1 {
                let second = part.split_off(part.len() / 2);
                halves.extend([second, part]);
            } else if let Some((index, fix)) = part.pop() {
                core.meters.refused_by_store.add(1);
                keep_refused(core, RefusedFix { vehicle_id: vehicle, fix, reason: why.clone() }).await?;
                total.refused.push((index, why));
            }
        }
        let Some(mut half) = halves.pop() else { return Ok(()) };
        let fixes = half.iter().map(|(_, fix)| *fix).collect();
        let sorted = Sorted::of(vehicle, fixes).with(attributes.clone());
        let (pending, is_unknown) = Reporter::new(Arc::clone(core)).hand_over(sorted).await?;
        if is_unknown {
            return Err(LiveError::UnknownVehicle);
        }
        let (outcomes, quarantined) = poll_fn(|cx| pending.batch.poll_resolved(cx)).await;
        let outcome = outcomes.into_iter().next().unwrap_or(Err(LiveError::Unavailable))?;
        for (_, quarantined) in quarantined {
            set_aside(core, vehicle, &mut half, &quarantined, total).await?;
        }
        total.counts += outcome.counts;
        if let Some(why) = outcome.refused {
            refused.push((half, why.to_string()));
        }
    }
}

/// Quarantines the fixes that the engine panicked on, and removes them from the report.
async fn set_aside(
    core: &Arc<Core>,
    vehicle: VehicleId,
    report: &mut Vec<(usize, Fix)>,
    quarantined: &[Fix],
    total: &mut ReportOutcome,
) -> Result<(), LiveError> {
    let is_out = |(_, fix): &(usize, Fix)| quarantined.iter().any(|out| is_same(out, fix));
    let (out, stay) = std::mem::take(report).into_iter().partition(is_out);
    *report = stay;
    let out: Vec<(usize, Fix)> = out;
    for (index, fix) in out {
        core.meters.panicked_on.add(1);
        keep_refused(core, RefusedFix { vehicle_id: vehicle, fix, reason: PANICS.to_owned() }).await?;
        total.refused.push((index, PANICS.to_owned()));
    }
    Ok(())
}

/// Keeps a refused fix before the refusal is reported. A fix that cannot be kept even there is only in the log.
async fn keep_refused(core: &Arc<Core>, refused: RefusedFix) -> Result<(), LiveError> {
    let vehicle = refused.vehicle_id;
    let recorded_at = refused.fix.recorded_at;
    tracing::error!(vehicle.id = %vehicle, %recorded_at, reason = refused.reason, "a fix is quarantined");
    match core.store.keep_refused_fix(&refused).await {
        Ok(()) => Ok(()),
        Err(StoreError::Refused(why)) => {
            tracing::error!(vehicle.id = %vehicle, %why, "a quarantined fix cannot be kept");
            Ok(())
        }
        Err(error) => {
            tracing::warn!(%error, "a fix cannot be quarantined now");
            Err(LiveError::Unavailable)
        }
    }
}

/// The fixes of a report by vehicle, in the order in which the vehicles first occur.
struct Sorted {
    vehicles: Vec<VehicleId>,
    fixes: Vec<Fix>,
    attributes: AttributesByFix,
    /// The range of each vehicle's fixes.
    parts: Vec<Range<usize>>,
    /// Where each fix was in the report; `None` if the order is unchanged.
    indexes: Option<Vec<usize>>,
}

impl Sorted {
    /// A report of one vehicle.
    fn of(vehicle: VehicleId, fixes: Vec<Fix>) -> Self {
        let (parts, attributes) = (iter::once(0..fixes.len()).collect(), AttributesByFix::default());
        Self { vehicles: vec![vehicle], fixes, attributes, parts, indexes: None }
    }

    /// The same, with what the fixes carry.
    fn with(self, attributes: AttributesByFix) -> Self {
        Self { attributes, ..self }
    }

    /// A report of several vehicles.
    fn by_vehicle(report: Vec<(VehicleId, Fix)>) -> Self {
        let mut known: HashMap<VehicleId, usize, FxBuildHasher> =
            HashMap::with_capacity_and_hasher(report.len(), FxBuildHasher);
        let mut vehicles = Vec::with_capacity(report.len());
        let mut part_of = Vec::with_capacity(report.len());
        for (vehicle, _) in &report {
            part_of.push(*known.entry(*vehicle).or_insert_with(|| {
                vehicles.push(*vehicle);
                vehicles.len() - 1
            }));
        }
        if part_of.is_sorted() {
            let ends = vehicles.iter().enumerate().map(|(part, _)| part_of.partition_point(|of| *of <= part));
            let parts = ends.scan(0, |begin, end| Some(std::mem::replace(begin, end)..end)).collect();
            let fixes = report.into_iter().map(|(_, fix)| fix).collect();
            return Self { vehicles, fixes, attributes: AttributesByFix::default(), parts, indexes: None };
        }
        let mut indexes: Vec<usize> = (0..report.len()).collect();
        indexes.sort_by_key(|index| part_of.get(*index));
        let sorted = indexes.iter().filter_map(|index| report.get(*index)).copied().collect();
        Self { indexes: Some(indexes), ..Self::by_vehicle(sorted) }
    }
}

impl Reporter {
    pub(crate) fn new(core: Arc<Core>) -> Self {
        let affinity = core.workers().here();
        Self { core, handles: HashMap::default(), affinity, generation: 0, outstanding: Arc::new(()) }
    }

    /// For a connection that stays for long: its vehicles move to its thread.
    #[must_use]
    pub fn for_long(self) -> Self {
        Self { affinity: self.affinity.for_long(), ..self }
    }

    /// Reports fixes of one vehicle; they are applied in the order of `recordedAt`. Waits for room, and until they
    /// are applied; the [`Pending`] it returns waits for their commit. After a failed commit it returns
    /// [`LiveError::Unavailable`] until the caller has awaited or dropped every earlier [`Pending`]: nothing may
    /// overtake fixes that have to be sent again.
    pub async fn report(&mut self, vehicle: VehicleId, fixes: Vec<Fix>) -> Result<Pending, LiveError> {
        match self.hand_over(Sorted::of(vehicle, fixes)).await? {
            (_, true) => Err(LiveError::UnknownVehicle),
            (pending, false) => Ok(pending),
        }
    }

    /// Like [`Self::report`], for several vehicles: their fixes are applied in parallel, and the caller is woken
    /// once for all of them. `attributes`: what the fixes carry beside where the vehicles are.
    pub async fn report_all(
        &mut self,
        report: Vec<(VehicleId, Fix)>,
        attributes: AttributesByFix,
    ) -> Result<Pending, LiveError> {
        Ok(self.hand_over(Sorted::by_vehicle(report).with(attributes)).await?.0)
    }

    /// Shows subscribers where a vehicle is while nothing can be stored; the fixes have to be reported again.
    pub async fn show_provisional(&self, vehicle: VehicleId, fixes: Vec<Fix>, attributes: AttributesByFix) {
        self.core.router.show_provisional(vehicle, fixes, attributes).await;
    }

    /// Waits for room, puts the fixes into the vehicles' mailboxes, and waits until they are applied. Returns
    /// whether a vehicle is unknown.
    async fn hand_over(&mut self, sorted: Sorted) -> Result<(Pending, bool), LiveError> {
        let Sorted { vehicles, fixes, attributes, parts, indexes } = sorted;
        let permit = match self.core.router.permits.take(fixes.len()).await {
            Err(LiveError::Unavailable) => {
                for (vehicle, part) in vehicles.into_iter().zip(parts) {
                    let fixes = fixes.get(part).unwrap_or_default().to_vec();
                    self.show_provisional(vehicle, fixes, attributes.clone()).await;
                }
                return Err(LiveError::Unavailable);
            }
            taken => taken?,
        };
        if permit.ticket.generation > self.generation && Arc::strong_count(&self.outstanding) > 1 {
            return Err(LiveError::Unavailable);
        }
        self.generation = permit.ticket.generation;
        let outstanding = Arc::clone(&self.outstanding);
        let batch = ReportBatch::new(fixes, attributes, parts, permit);
        let is_unknown = self.send_all(&batch, &vehicles).await?;
        let core = Arc::clone(&self.core);
        Ok((Pending { core, batch, vehicles, indexes, _outstanding: outstanding }, is_unknown))
    }

    /// Sends each vehicle its part; returns whether a vehicle is unknown.
    async fn send_all(
        &mut self,
        batch: &Arc<ReportBatch>,
        vehicles: &[VehicleId],
    ) -> Result<bool, LiveError> {
        let (mut is_unknown, mut failed) = (false, None);
        let mut to_send: Vec<usize> = (0..batch.len()).collect();
        let (mut is_first, mut restarts) = (true, 0);
        while restarts < MAX_RESTARTS {
            let mut is_restart = false;
            for index in to_send {
                let Some(vehicle) = vehicles.get(index).copied() else { continue };
                let (part, stale) = match is_first {
                    true => (batch.part(index), None),
                    false => (batch.lost_part(index), self.handles.remove(&vehicle)),
                };
                match self.handle(vehicle, stale.map(|handle| handle.incarnation)).await {
                    Ok(handle) => {
                        is_restart |= !is_first && handle.restarted;
                        handle.report(part).await;
                    }
                    Err(error) => {
                        // The other parts are sent all the same.
                        if error == LiveError::UnknownVehicle {
                            is_unknown = true;
                        } else {
                            failed.get_or_insert_with(|| error.clone());
                        }
                        part.resolve(Err(error));
                    }
                }
            }
            to_send = poll_fn(|cx| batch.poll_applied(cx)).await;
            if to_send.is_empty() {
                return failed.map_or(Ok(is_unknown), Err);
            }
            // Their actors went idle or panicked: their successors get the same fixes. Going idle is no failure, however
            // often it comes first.
            restarts += usize::from(is_restart);
            is_first = false;
        }
        Err(LiveError::Unavailable)
    }

    async fn handle(&mut self, vehicle: VehicleId, stale: Option<u64>) -> Result<&VehicleHandle, LiveError> {
        Ok(match self.handles.entry(vehicle) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                new.insert(self.core.router.locate(vehicle, stale, self.affinity.clone()).await?)
            }
        })
    }
}
