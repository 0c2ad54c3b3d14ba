//! Vehicles that are deleted with all that was recorded of them, while nodes are killed.

use uuid::Uuid;
use waypost_test_support::eventually;

use crate::cluster::report;
use crate::drill::Drill;
use crate::ground::{DEADLINE, Fleet, bus};
use crate::ledger::Transcript;
use crate::shelf::Shelf;

/// Vehicles of which nothing is to be left in the end.
#[derive(Default)]
pub(crate) struct Doomed {
    organization: String,
    vehicles: Vec<Uuid>,
    /// Those of which everything is still to go.
    kept: Vec<Uuid>,
    /// How often their records were numbered.
    pub(crate) numbers: i64,
}

impl Doomed {
    /// A transcript without what was told of them.
    pub(crate) fn left_out(&self, mut transcript: Transcript) -> Transcript {
        let ids: Vec<String> = self.vehicles.iter().map(ToString::to_string).collect();
        transcript.told.retain(|told| !ids.iter().any(|id| told.text.contains(id)));
        transcript
    }
}

impl Drill {
    /// Makes vehicles that drive as buses do, and deletes them; what was recorded of them is kept.
    pub(crate) async fn doom(&mut self, fleet: &Fleet, count: usize) {
        let organization = fleet.organization.clone();
        for (number, like) in fleet.buses.iter().cycle().take(count).enumerate() {
            let name = format!("doomed-{number}");
            let made = bus(&self.api, &organization, &name, like.points.clone()).await;
            report(&self.api, &made.token, &made.points).await;
            let path = format!("/v1/vehicles/{}?organizationId={organization}", made.vehicle);
            self.api.remove(&path).await.unwrap();
            self.doomed.vehicles.push(made.vehicle);
        }
        let shelf = Shelf::open(&self.launch.location).await;
        self.doomed.numbers = shelf.numbers_at_rest(&self.doomed.vehicles).await;
        shelf.close().await;
        assert!(self.doomed.numbers > 0, "nothing is recorded of them");
        self.doomed.kept = self.doomed.vehicles.clone();
        self.doomed.organization = organization;
    }

    /// Has all go that was recorded of one of them.
    pub(crate) async fn purge_one(&mut self) {
        let Some(vehicle) = self.doomed.kept.pop() else { return };
        let organization = &self.doomed.organization;
        let path = format!("/v1/vehicles/{vehicle}?purge=true&organizationId={organization}");
        eventually(DEADLINE, || self.api.remove(&path)).await;
    }
}
