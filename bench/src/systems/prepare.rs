//! Puts a world into a server by the product's own use cases: an organization, fences, vehicles with their
//! trackers, and a system user that reports for all of them.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use waypost::auth::{Caller, Peer};
use waypost::context::Context;
use waypost::mail::Mailbox;
use waypost::ops::scoped::Scoped;
use waypost::ops::{assignments, drivers, geofence_import, organizations, system_users, vehicles};

use super::child::Ready;
use super::history::FUEL_EVERY;
use crate::world::{Outline, World, make_fences};

pub(crate) const EMAIL: &str = "bench@example.com";
pub(crate) const PASSWORD: &str = "a password to measure with";
const PROGRAM: &str = "loader@example.com";
/// What was prepared, in the data directory, without what is good for one run only.
const KEPT: &str = "bench-ready.json";
/// Vertices of fences that are made in one go.
const VERTICES_TOGETHER: usize = 100_000;
const FENCES_TOGETHER: usize = 1_000;

/// A server to put a world into.
pub(super) struct Prepare<'a> {
    pub(super) context: &'a Context,
    pub(super) world: &'a World,
    pub(super) mailbox: &'a Mailbox,
    /// Whether a history follows: with tanks and drivers.
    pub(super) has_past: bool,
}

impl Prepare<'_> {
    /// Makes everything, unless an earlier run on the same data has; signs in.
    pub(super) async fn ready(&self, data_dir: &Path, address: &str) -> Result<Ready> {
        let known = match kept_ready(data_dir)? {
            Some(known) => known,
            None => {
                let made = self.make().await?;
                keep_ready(data_dir, &made)?;
                made
            }
        };
        let auth = &self.context.auth;
        let operator = auth.login(EMAIL, PASSWORD.to_owned(), &Peer::console()).await?.access_token;
        let fleet =
            auth.login_system_user(PROGRAM, PASSWORD.to_owned(), &Peer::console()).await?.access_token;
        Ok(Ready { address: address.to_owned(), operator, fleet, ..known })
    }

    async fn make(&self) -> Result<Ready> {
        let caller = Caller::console();
        let body = json!({
            "name": "Bench",
            "contactEmail": EMAIL,
            "admin": { "email": "dispatcher@example.com", "firstName": "Bench", "lastName": "Dispatcher" },
        });
        let organization =
            organizations::create_organization(self.context, Some(&caller), body.into()).await?.0.id;
        organizations::activate_organization(self.context, &caller, organization, false).await?;
        let by = Scoped { caller, organization: Some(organization) };
        self.make_program(&by).await?;
        let fences = self.make_fences(&by).await?;
        let mut ready = Ready { fences, organization: organization.to_string(), ..Ready::default() };
        for number in 0..self.world.vehicles {
            let mut body = json!({
                "name": format!("v{number}"),
                "category": "bus",
                "tracking": { "maxSpeedKmh": null, "maxAccuracyMeters": null },
                "tracker": { "uniqueId": format!("v{number}") },
            });
            if self.has_past && number.is_multiple_of(FUEL_EVERY) {
                body["fuel"] = json!({ "kind": "diesel", "tankCapacityLiters": 400 });
            }
            let made = vehicles::create_vehicle(self.context, &by, body.into()).await?;
            ready.vehicles.push(made.vehicle.id.to_string());
            ready.trackers.push(made.tracker.context("the vehicle has no tracker")?.token);
        }
        if self.has_past {
            self.make_drivers(&by, &mut ready).await?;
        }
        Ok(ready)
    }

    /// One for every second vehicle, assigned to it from now on, and one without a vehicle.
    async fn make_drivers(&self, by: &Scoped, ready: &mut Ready) -> Result<()> {
        for number in 0..=ready.vehicles.len() / 2 {
            let body = json!({ "firstName": "Driver", "lastName": format!("d{number}") });
            let driver = drivers::create_driver(self.context, by, body.into()).await?.driver.id;
            ready.drivers.push(driver.to_string());
            if let Some(vehicle) = ready.vehicles.get(2 * number + 1) {
                let body = json!({ "vehicleId": vehicle });
                assignments::assign_vehicle(self.context, by, driver, body.into()).await?;
            }
        }
        Ok(())
    }

    async fn make_program(&self, by: &Scoped) -> Result<()> {
        let body = json!({
            "name": "loader",
            "email": PROGRAM,
            "password": PASSWORD,
            "scopes": ["positions:ingest"],
        });
        system_users::create_system_user(self.context, Some(by), body.into()).await?;
        let letter = self.mailbox.nth(PROGRAM, 1).await;
        let token = letter.link.rsplit(['=', '/']).next().unwrap_or_default();
        self.context.auth.verify_system_user(token, None).await?;
        Ok(())
    }

    /// In force for all times, by the exact rules: inside is inside.
    async fn make_fences(&self, by: &Scoped) -> Result<Vec<String>> {
        let outlines = make_fences(self.world);
        let vertices = outlines.iter().map(vertices).max().unwrap_or(1);
        let together = (VERTICES_TOGETHER / vertices).clamp(1, FENCES_TOGETHER);
        let mut ids = Vec::with_capacity(outlines.len());
        for (some, first) in outlines.chunks(together).zip((0..).step_by(together)) {
            let body = |(outline, number): (&Outline, usize)| -> Value {
                json!({
                    "name": format!("f{number}"),
                    "shape": outline.to_json(),
                    "effectiveFrom": null,
                    "rules": { "exitMarginMeters": 0, "inferPassages": false, "holdWhileStanding": false },
                })
            };
            let features = geofence_import::Features {
                count: some.len(),
                feature: async |index| Ok(body((&some[index], first + index))),
                turn: (),
            };
            let place = |_, pointer: &str| pointer.to_owned();
            let made = geofence_import::import_geofences(self.context, by, features, place).await?;
            for result in made.results {
                match result.id {
                    Some(id) => ids.push(id.to_string()),
                    None => bail!("fence {}: {:?}", first + result.index, result.problem),
                }
            }
        }
        Ok(ids)
    }
}

/// What a server on this data directory prepared, if one did.
pub(crate) fn kept_ready(data_dir: &Path) -> Result<Option<Ready>> {
    let kept = std::fs::read(data_dir.join(KEPT)).ok();
    Ok(kept.map(|text| serde_json::from_slice(&text)).transpose()?)
}

/// Keeps it for the next server.
pub(crate) fn keep_ready(data_dir: &Path, ready: &Ready) -> Result<()> {
    Ok(std::fs::write(data_dir.join(KEPT), serde_json::to_vec(ready)?)?)
}

fn vertices(outline: &Outline) -> usize {
    outline.coordinates().map_or(1, |rings| rings.iter().map(Vec::len).sum())
}
