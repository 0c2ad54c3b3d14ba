//! Items → fixes → vehicles: what the socket and `POST /v1/positions` share.

use serde::Serialize;
use utoipa::ToSchema;
use waypost_actors::live::{Live, LiveError};
use waypost_actors::model::{Fix, VehicleId};
use waypost_actors::ports::Counts;
use waypost_actors::report::{Pending, Reporter};
use waypost_actors::tracking;

use super::decode::{BadItem, Item};
use crate::auth::TrackerCredential;

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
    credential: TrackerCredential,
}

/// Items on their way to their commit.
pub struct Batch {
    pending: Vec<Pending>,
    /// What was refused.
    pub rejected: Vec<Rejected>,
}

impl Batch {
    /// Waits for the commit of all of them. After an error none is promised.
    pub async fn committed(self) -> Result<(Counts, Vec<Rejected>), LiveError> {
        let mut total = Counts::default();
        let mut failed = None;
        for pending in self.pending {
            match pending.committed().await {
                Ok(counts) => {
                    total.stored += counts.stored;
                    total.duplicates += counts.duplicates;
                }
                Err(error) => failed = Some(error),
            }
        }
        failed.map_or(Ok((total, self.rejected)), Err)
    }
}

impl Intake {
    /// For one connection of a tracker.
    #[must_use]
    pub fn new(live: Live, credential: TrackerCredential) -> Self {
        Self { reporter: live.reporter(), live, credential }
    }

    /// Whose connection this is.
    #[must_use]
    pub const fn credential(&self) -> &TrackerCredential {
        &self.credential
    }

    /// Hands the items to their vehicles, in order. Waits until they are applied.
    pub async fn take(&mut self, items: Vec<Result<Item, BadItem>>) -> Result<Batch, LiveError> {
        let mut rejected = Vec::new();
        let mut groups: Vec<(VehicleId, Vec<Fix>)> = Vec::new();
        for (index, item) in items.into_iter().enumerate() {
            let seq = match &item {
                Ok(item) => item.seq,
                Err(bad) => bad.seq,
            };
            match item.map_err(|bad| ("invalidItem", bad.detail)).and_then(|item| self.fix(&item)) {
                // A tracker sits in one vehicle, but for the day it is moved.
                Ok((vehicle, fix)) => match groups.iter_mut().find(|(known, _)| *known == vehicle) {
                    Some((_, fixes)) => fixes.push(fix),
                    None => groups.push((vehicle, vec![fix])),
                },
                Err((code, detail)) => rejected.push(Rejected { seq, index, code, detail }),
            }
        }
        let mut pending = Vec::with_capacity(groups.len());
        for (vehicle, fixes) in groups {
            pending.push(self.reporter.report(vehicle, fixes).await?);
        }
        Ok(Batch { pending, rejected })
    }

    fn fix(&self, item: &Item) -> Result<(VehicleId, Fix), (&'static str, String)> {
        let own =
            |name: &str| name == self.credential.unique_id || name == self.credential.tracker_id.to_string();
        if let Some(other) = item.tracker.as_deref().filter(|name| !own(name)) {
            return Err(("unknownTracker", format!("{other:?} is not the tracker this token belongs to")));
        }
        let recorded_at = item.recorded_at.clone().map_err(|detail| ("invalidTime", detail))?;
        let keep_from =
            self.credential.keep_days.map(|days| self.live.now().plus_seconds(-86_400.0 * days as f64));
        let fix = tracking::accept(&item.reported, recorded_at, self.live.now(), keep_from)
            .map_err(|refusal| (refusal.code(), refusal.to_string()))?;
        let vehicle = self
            .credential
            .vehicle_at(recorded_at)
            .ok_or_else(|| ("notInstalled", format!("the tracker was in no vehicle at {recorded_at}")))?;
        Ok((vehicle, fix))
    }
}
