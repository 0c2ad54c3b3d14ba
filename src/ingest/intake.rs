//! Items → fixes → vehicles: what the socket and `POST /v1/positions` share.

use std::collections::HashMap;

use serde::Serialize;
use utoipa::ToSchema;
use waypost_actors::live::{Live, LiveError};
use waypost_actors::model::{Fix, Timestamp, VehicleId};
use waypost_actors::ports::Counts;
use waypost_actors::report::{Pending, Reporter, Settled};
use waypost_actors::tracking;

use super::decode::{BadItem, Item};
use crate::auth::{Named, Reports, TrackerCredential};

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

/// One connection's way from items to vehicles.
pub struct Intake {
    live: Live,
    reporter: Reporter,
    reports: Reports,
}

/// Items on their way to their commit.
pub struct Batch {
    pending: Vec<(Pending, Group)>,
    /// Whether a vehicle that is out of use costs only its own items, not the connection.
    is_fleet: bool,
    /// What was refused.
    pub rejected: Vec<Rejected>,
}

/// One vehicle's items of a batch.
struct Group {
    vehicle: VehicleId,
    /// Their places in the request, with their numbers.
    places: Vec<(usize, Option<i64>)>,
}

impl Group {
    /// The refusal of its so-many-th item. Why is for operators: it may quote the database.
    fn quarantined(&self, place: usize) -> Option<Rejected> {
        let (index, seq) = *self.places.get(place)?;
        let detail = "it cannot be processed, and is kept for the operator of the server".to_owned();
        Some(Rejected { seq, index, code: "quarantined", detail })
    }

    fn out_of_use(&self) -> impl Iterator<Item = Rejected> {
        self.places.iter().map(|(index, seq)| Rejected {
            seq: *seq,
            index: *index,
            code: "notInstalled",
            detail: "the tracker's vehicle is out of use".to_owned(),
        })
    }
}

impl Batch {
    /// Waits for the commit of all of them. After an error none is promised.
    pub async fn committed(mut self) -> Result<(Counts, Vec<Rejected>), LiveError> {
        let mut total = Counts::default();
        let mut failed = None;
        for (pending, group) in self.pending {
            match pending.settled().await {
                Ok(Settled { counts, refused }) => {
                    total.stored += counts.stored;
                    total.duplicates += counts.duplicates;
                    self.rejected
                        .extend(refused.into_iter().filter_map(|(place, _)| group.quarantined(place)));
                }
                Err(LiveError::UnknownVehicle) if self.is_fleet => self.rejected.extend(group.out_of_use()),
                Err(error) => failed = Some(error),
            }
        }
        self.rejected.sort_unstable_by_key(|rejected| rejected.index);
        failed.map_or(Ok((total, self.rejected)), Err)
    }
}

impl Intake {
    /// For one connection.
    #[must_use]
    pub fn new(live: Live, reports: Reports) -> Self {
        Self { reporter: live.reporter(), live, reports }
    }

    /// Of a connection that goes on for long, on whose thread it is made: its vehicles move there.
    #[must_use]
    pub fn for_long(self) -> Self {
        Self { reporter: self.reporter.for_long(), ..self }
    }

    /// Hands the items to their vehicles, in order. Waits until they are applied.
    pub async fn take(&mut self, items: Vec<Result<Item<'_>, BadItem>>) -> Result<Batch, LiveError> {
        self.learn(&items).await?;
        let is_fleet = matches!(self.reports, Reports::Fleet(_));
        let now = self.live.now();
        let mut rejected = Vec::new();
        let mut groups: Vec<(Group, Vec<Fix>)> = Vec::new();
        let mut known: HashMap<VehicleId, usize> = HashMap::new();
        for (index, item) in items.into_iter().enumerate() {
            let seq = match &item {
                Ok(item) => item.seq,
                Err(bad) => bad.seq,
            };
            match item.map_err(|bad| ("invalidItem", bad.detail)).and_then(|item| self.fix(item, now)) {
                Ok((vehicle, fix)) => {
                    let group = *known.entry(vehicle).or_insert_with(|| {
                        groups.push((Group { vehicle, places: Vec::new() }, Vec::new()));
                        groups.len() - 1
                    });
                    let (group, fixes) = &mut groups[group];
                    group.places.push((index, seq));
                    fixes.push(fix);
                }
                Err((code, detail)) => rejected.push(Rejected { seq, index, code, detail }),
            }
        }
        let (groups, reports): (Vec<Group>, Vec<_>) = groups
            .into_iter()
            .map(|(group, fixes)| {
                let vehicle = group.vehicle;
                (group, (vehicle, fixes))
            })
            .unzip();
        let mut pending = Vec::with_capacity(groups.len());
        for (group, report) in groups.into_iter().zip(self.reporter.report_all(reports).await) {
            match report {
                Ok(report) => pending.push((report, group)),
                Err(LiveError::UnknownVehicle) if is_fleet => rejected.extend(group.out_of_use()),
                Err(error) => return Err(error),
            }
        }
        Ok(Batch { pending, is_fleet, rejected })
    }

    /// Shows where vehicles are while the store is away, by items that are not taken now and come again.
    pub async fn glimpse(&self, items: Vec<Result<Item<'_>, BadItem>>) {
        if self.live.is_available() {
            return;
        }
        let now = self.live.now();
        let mut fixes: HashMap<VehicleId, Vec<Fix>> = HashMap::new();
        for (vehicle, fix) in items.into_iter().flatten().filter_map(|item| self.fix(item, now).ok()) {
            fixes.entry(vehicle).or_default().push(fix);
        }
        for (vehicle, fixes) in fixes {
            self.reporter.glimpse(vehicle, fixes).await;
        }
    }

    /// Looks up the trackers that a fleet's items name and that are not known yet.
    async fn learn(&mut self, items: &[Result<Item<'_>, BadItem>]) -> Result<(), LiveError> {
        let Reports::Fleet(fleet) = &mut self.reports else { return Ok(()) };
        let names = items.iter().filter_map(|item| item.as_ref().ok()?.tracker.as_deref());
        fleet.learn(names).await.map_err(|error| {
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

    /// The tracker an item is from: the connection's own, or the one a fleet's item names.
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
