//! From items to fixes to vehicles: shared by the socket and `POST /v1/positions`.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;
use waypost_actors::live::{Live, LiveError};
use waypost_actors::model::{Fix, Timestamp, VehicleId};
use waypost_actors::ports::Counts;
use waypost_actors::report::{Pending, Reporter, Settled};
use waypost_actors::tracking;

use super::decode::{BadItem, Item};
use crate::auth::{Configured, Named, Reports, TrackerCredential};
use crate::domain::tracker::TrackerConfig;

/// An item that was refused. Its batch went on without it; sending it again changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rejected {
    /// The item's number, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<i64>,
    /// The item's place in the request, from 0.
    pub index: usize,
    /// Why, for programs.
    pub code: &'static str,
    /// Why, for people.
    pub detail: String,
}

/// The path of one connection's items to their vehicles.
pub struct Intake {
    live: Live,
    reporter: Reporter,
    reports: Reports,
}

/// Items that wait for their commit.
pub struct Batch {
    /// The fixes that were not refused at once.
    pending: Option<Pending>,
    /// The index in the request and the number of each of them.
    places: Vec<(usize, Option<i64>)>,
    /// Whether a vehicle that is out of use costs only its own items, not the connection.
    is_fleet: bool,
    /// The refused items.
    pub rejected: Vec<Rejected>,
}

impl Batch {
    /// Waits for the commit of all fixes. After an error, none of them is promised.
    pub async fn committed(self) -> Result<(Counts, Vec<Rejected>), LiveError> {
        let Self { pending, places, is_fleet, mut rejected } = self;
        let Some(pending) = pending else { return Ok((Counts::default(), rejected)) };
        let Settled { counts, refused, out_of_use } = pending.settled().await?;
        if !out_of_use.is_empty() && !is_fleet {
            return Err(LiveError::UnknownVehicle);
        }
        let mut reject = |place: usize, code, detail: &str| {
            let Some((index, seq)) = places.get(place).copied() else { return };
            rejected.push(Rejected { seq, index, code, detail: detail.to_owned() });
        };
        for place in out_of_use {
            reject(place, "notInstalled", "the tracker's vehicle is out of use");
        }
        for (place, _) in refused {
            // The reason is for operators only, because it may quote the database.
            reject(
                place,
                "quarantined",
                "it cannot be processed, and is kept for the operator of the server",
            );
        }
        rejected.sort_unstable_by_key(|rejected| rejected.index);
        Ok((counts, rejected))
    }
}

impl Intake {
    /// The intake of one connection.
    #[must_use]
    pub fn new(live: Live, reports: Reports) -> Self {
        Self { reporter: live.reporter(), live, reports }
    }

    /// For a long-lived connection: moves its vehicles to the calling thread.
    #[must_use]
    pub fn for_long(self) -> Self {
        Self { reporter: self.reporter.for_long(), ..self }
    }

    /// The config of the connection's own tracker; those of a fleet come from [`Intake::take_configs`].
    #[must_use]
    pub fn config(&self, now: Timestamp) -> Option<TrackerConfig> {
        match &self.reports {
            Reports::Own(own) => Some(own.config_at(now)),
            Reports::Fleet(_) => None,
        }
    }

    /// Sets for how many days the organization of the connection's own tracker keeps positions; fleets look it up
    /// anew.
    pub fn keep_positions(&mut self, days: Option<i64>) {
        if let Reports::Own(own) = &mut self.reports {
            Arc::make_mut(own).keep_days = days;
        }
    }

    /// Starts collecting configs for a fleet's trackers.
    pub fn tell_configs(&mut self) {
        if let Reports::Fleet(fleet) = &mut self.reports {
            fleet.tell_configs();
        }
    }

    /// Takes the configs to send to a fleet's trackers, collected as their items came in.
    pub fn take_configs(&mut self) -> Vec<Configured> {
        match &mut self.reports {
            Reports::Own(_) => Vec::new(),
            Reports::Fleet(fleet) => fleet.take_configs(),
        }
    }

    /// Hands the items to their vehicles, in order, and waits until they are applied.
    pub async fn take(&mut self, items: Vec<Result<Item<'_>, BadItem>>) -> Result<Batch, LiveError> {
        self.learn(&items).await?;
        let is_fleet = matches!(self.reports, Reports::Fleet(_));
        let now = self.live.now();
        let mut rejected = Vec::new();
        let mut report = Vec::with_capacity(items.len());
        let mut places = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let seq = match &item {
                Ok(item) => item.seq,
                Err(bad) => bad.seq,
            };
            match item.map_err(|bad| ("invalidItem", bad.detail)).and_then(|item| self.fix(item, now)) {
                Ok(fix) => {
                    places.push((index, seq));
                    report.push(fix);
                }
                Err((code, detail)) => rejected.push(Rejected { seq, index, code, detail }),
            }
        }
        let pending = match report.is_empty() {
            true => None,
            false => Some(self.reporter.report_all(report).await?),
        };
        Ok(Batch { pending, places, is_fleet, rejected })
    }

    /// Shows provisional positions while the store is away, from items that are not taken now and will be sent again.
    pub async fn show_provisional(&self, items: Vec<Result<Item<'_>, BadItem>>) {
        if self.live.is_available() {
            return;
        }
        let now = self.live.now();
        let mut fixes: HashMap<VehicleId, Vec<Fix>> = HashMap::new();
        for (vehicle, fix) in items.into_iter().flatten().filter_map(|item| self.fix(item, now).ok()) {
            fixes.entry(vehicle).or_default().push(fix);
        }
        for (vehicle, fixes) in fixes {
            self.reporter.show_provisional(vehicle, fixes).await;
        }
    }

    /// Looks up the trackers named by a fleet's items that are not cached yet.
    async fn learn(&mut self, items: &[Result<Item<'_>, BadItem>]) -> Result<(), LiveError> {
        let Reports::Fleet(fleet) = &mut self.reports else { return Ok(()) };
        let names = items.iter().filter_map(|item| item.as_ref().ok()?.tracker.as_deref());
        fleet.learn(names, self.live.now()).await.map_err(|error| {
            tracing::warn!(%error, "trackers cannot be looked up");
            LiveError::Unavailable
        })
    }

    fn fix(&self, item: Item<'_>, now: Timestamp) -> Result<(VehicleId, Fix), (&'static str, String)> {
        let tracker = self.tracker(item.tracker.as_deref())?;
        let recorded_at = item.recorded_at.map_err(|detail| ("invalidTime", detail))?;
        let keep_from = tracker.keep_days.map(|days| now.plus_seconds(-86_400.0 * days as f64));
        let fix = tracking::accept(&item.reported, recorded_at, now, keep_from)
            .map_err(|refusal| (refusal.code(), refusal.to_string()))?;
        let vehicle = tracker
            .vehicle_at(recorded_at)
            .ok_or_else(|| ("notInstalled", format!("the tracker was in no vehicle at {recorded_at}")))?;
        Ok((vehicle, fix))
    }

    /// The tracker that an item comes from: the connection's own, or the one that a fleet's item names.
    fn tracker<'s>(&'s self, named: Option<&str>) -> Result<&'s TrackerCredential, (&'static str, String)> {
        match (&self.reports, named) {
            (Reports::Own(own), None) => Ok(own),
            (Reports::Own(own), Some(name)) if own.is_called(name) => Ok(own),
            (Reports::Own(_), Some(other)) => {
                Err(("unknownTracker", format!("{other:?} is not the tracker this token belongs to")))
            }
            (Reports::Fleet(_), None) => {
                Err(("trackerRequired", "trackerId or uniqueId must say whose position this is".to_owned()))
            }
            (Reports::Fleet(fleet), Some(name)) => match fleet.find(name) {
                Named::Tracker(tracker) => Ok(tracker),
                Named::Disabled => Err(("trackerDisabled", format!("the tracker {name:?} is disabled"))),
                Named::Unknown => Err(("unknownTracker", format!("there is no tracker {name:?}"))),
            },
        }
    }
}
