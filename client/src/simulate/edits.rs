//! Edits fences while vehicles move, and checks that each event is explained by the version it names.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use awc::http::Method;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval};
use waypost_actors::geofence::Shape;
use waypost_actors::model::{Circle, MultiPolygon, Place, Polygon, Ring, ShapeSpec, Timestamp};

use super::records::CrossingRecord;
use super::setup::Fleet;
use super::stage::micros;
use crate::Api;
use crate::Quantiles;
use crate::trace::fences::NamedShape;

/// Edits under way at a time.
const AT_A_TIME: usize = 32;
/// The most a fence moves, in degrees either way.
const SHIFT_DEGREES: f64 = 0.002;
const SHOWN: usize = 20;

/// The outcome of the edits.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EditsReport {
    /// Edits answered.
    pub made: usize,
    /// Edits refused or not answered, and why (the first twenty).
    pub failures: Vec<String>,
    /// From the request to the answer, which comes once every vehicle is settled.
    pub latency: Option<Quantiles>,
    /// Active events checked.
    pub explained: usize,
    /// Active events that the version they name does not explain.
    pub unexplained: usize,
    /// The first of them.
    pub examples: Vec<String>,
}

/// A version as the server returned it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Answered {
    version: i64,
    effective_from: Option<Timestamp>,
    enabled: bool,
    shape: ShapeSpec,
}

struct Version {
    effective_from: Option<Timestamp>,
    enabled: bool,
    shape: Shape,
}

/// Edits under way, and their outcome.
pub(super) struct Edits {
    api: Rc<Api>,
    organization_id: String,
    /// Name, id and first shape of each fence.
    fences: Vec<(String, String, ShapeSpec)>,
    rng: RefCell<StdRng>,
    versions: RefCell<HashMap<String, HashMap<i64, Version>>>,
    latencies_micros: RefCell<Vec<u32>>,
    failures: RefCell<Vec<String>>,
    stopped: Cell<bool>,
}

impl Edits {
    /// Edits of a fleet's fences, whose shapes are in the same order.
    pub(super) fn new(api: Rc<Api>, shapes: &[NamedShape], fleet: &Fleet, seed: u64) -> Result<Rc<Self>> {
        if shapes.is_empty() {
            bail!("there is no fence to edit: give --fences or --circles");
        }
        let fences = shapes
            .iter()
            .zip(&fleet.fences)
            .map(|(fence, (name, id))| (name.clone(), id.clone(), fence.shape.clone()));
        let first = |(name, _, shape): &(String, String, ShapeSpec)| {
            let version = Version { effective_from: None, enabled: true, shape: Shape::prepare(shape) };
            (name.clone(), HashMap::from([(1, version)]))
        };
        let fences: Vec<_> = fences.collect();
        Ok(Rc::new(Self {
            api,
            versions: RefCell::new(fences.iter().map(first).collect()),
            fences,
            organization_id: fleet.organization_id.clone(),
            rng: RefCell::new(StdRng::seed_from_u64(seed)),
            latencies_micros: RefCell::default(),
            failures: RefCell::default(),
            stopped: Cell::new(false),
        }))
    }

    /// Ends [`Self::run`] once the edits under way are answered.
    pub(super) fn stop(&self) {
        self.stopped.set(true);
    }

    /// Makes `per_second` edits per second until it is stopped.
    pub(super) async fn run(self: Rc<Self>, per_second: f64) {
        let mut tick = interval(Duration::from_secs_f64(1.0 / per_second));
        tick.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let room = Arc::new(Semaphore::new(AT_A_TIME));
        let mut under_way = JoinSet::new();
        while !self.stopped.get() {
            tick.tick().await;
            let Ok(turn) = Arc::clone(&room).acquire_owned().await else { return };
            while under_way.try_join_next().is_some() {}
            let edits = Rc::clone(&self);
            under_way.spawn_local(async move {
                let _turn = turn;
                if let Err(error) = edits.edit().await {
                    edits.failures.borrow_mut().push(format!("{error:#}"));
                }
            });
        }
        under_way.join_all().await;
    }

    async fn edit(&self) -> Result<()> {
        let (name, path, body) = self.draw();
        let begun = Instant::now();
        let answer = self.api.send(Method::PUT, &path, &body).await?;
        self.latencies_micros.borrow_mut().push(micros(begun.elapsed()));
        let answered: Answered = serde_json::from_value(answer).context("a geofence")?;
        let version = Version {
            effective_from: answered.effective_from,
            enabled: answered.enabled,
            shape: Shape::prepare(&answered.shape),
        };
        self.versions.borrow_mut().entry(name).or_default().insert(answered.version, version);
        Ok(())
    }

    /// Moves a fence, switches it off or on, or puts it back.
    fn draw(&self) -> (String, String, Value) {
        let mut rng = self.rng.borrow_mut();
        let (name, id, shape) = &self.fences[rng.random_range(0..self.fences.len())];
        let body = match rng.random_range(0..10) {
            0..=5 => {
                let mut by = || rng.random_range(-SHIFT_DEGREES..SHIFT_DEGREES);
                json!({ "shape": moved(shape, by(), by()), "enabled": true })
            }
            6 | 7 => json!({ "enabled": false }),
            _ => json!({ "shape": shape, "enabled": true }),
        };
        (name.clone(), format!("/v1/geofences/{id}?organizationId={}", self.organization_id), body)
    }

    /// Compares events with the versions they name.
    pub(super) fn report<'a>(&self, crossings: impl Iterator<Item = &'a CrossingRecord>) -> EditsReport {
        let mut failures = self.failures.borrow().clone();
        let mut latencies_micros = self.latencies_micros.borrow_mut();
        let mut report = EditsReport {
            made: latencies_micros.len(),
            latency: Quantiles::of_micros(&mut latencies_micros),
            ..EditsReport::default()
        };
        failures.truncate(SHOWN);
        report.failures = failures;
        let versions = self.versions.borrow();
        for event in crossings {
            report.explained += 1;
            let why_not = match versions.get(&event.fence) {
                None => Some("no such fence".to_owned()),
                Some(versions) => why_not(event, versions).err(),
            };
            if let Some(why_not) = why_not {
                report.unexplained += 1;
                if report.examples.len() < SHOWN {
                    report
                        .examples
                        .push(format!("{} of {}: {why_not}: {event:?}", event.fence, event.vehicle));
                }
            }
        }
        report.explained -= report.unexplained;
        report
    }
}

impl EditsReport {
    /// Whether every edit was answered and every event is explained.
    #[must_use]
    pub const fn agrees(&self) -> bool {
        self.failures.is_empty() && self.unexplained == 0
    }
}

/// Whether the version an event names explains the event, by the exact rules.
fn why_not(event: &CrossingRecord, versions: &HashMap<i64, Version>) -> Result<(), String> {
    let version = versions.get(&event.version).ok_or("no such version")?;
    let holds = |place: Place| version.enabled && version.shape.covers(place);
    let by_edit = event.cause.starts_with("geofence");
    let (at, place) =
        if by_edit { (event.occurred_at, event.location) } else { (event.recorded_at, event.place) };
    let newest_at = |at: Timestamp| {
        let in_force =
            versions.iter().filter(|(_, version)| version.effective_from.is_none_or(|from| from <= at));
        in_force.map(|(number, _)| *number).max()
    };
    if newest_at(at) != Some(event.version) {
        return Err(format!("version {:?} was in force", newest_at(at)));
    }
    if holds(place) != event.entry {
        return Err(format!(
            "by its version the place is {}",
            if event.entry { "outside" } else { "inside" }
        ));
    }
    Ok(())
}

fn moved(shape: &ShapeSpec, north: f64, east: f64) -> ShapeSpec {
    // Six decimals, so that a value reads back as it was sent.
    let add = |degrees: f64, by: f64| ((degrees + by) * 1e6).round() / 1e6;
    let place = |place: &Place| Place::new(add(place.latitude, north), add(place.longitude, east));
    let ring = |ring: &Ring| ring.iter().map(place).collect::<Ring>();
    let polygon = |polygon: &Polygon| Polygon {
        vertices: ring(&polygon.vertices),
        holes: polygon.holes.iter().map(ring).collect(),
    };
    match shape {
        ShapeSpec::Circle(circle) => {
            ShapeSpec::Circle(Circle { center: place(&circle.center), radius_meters: circle.radius_meters })
        }
        ShapeSpec::Polygon(one) => ShapeSpec::Polygon(polygon(one)),
        ShapeSpec::MultiPolygon(many) => {
            ShapeSpec::MultiPolygon(MultiPolygon { polygons: many.polygons.iter().map(polygon).collect() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(second * 1_000_000)
    }

    fn version(effective_from: Option<i64>, enabled: bool, radius_meters: f64) -> Version {
        let circle = Circle { center: Place::new(30.0, -97.0), radius_meters };
        let shape = Shape::prepare(&ShapeSpec::Circle(circle));
        Version { effective_from: effective_from.map(at), enabled, shape }
    }

    fn crossing(entry: bool, cause: &str, number: i64, second: i64, latitude: f64) -> CrossingRecord {
        let place = Place::new(latitude, -97.0);
        CrossingRecord {
            vehicle: "v".to_owned(),
            fence: "f".to_owned(),
            entry,
            cause: cause.to_owned(),
            version: number,
            occurred_at: at(second),
            location: place,
            recorded_at: at(second),
            place,
        }
    }

    #[test]
    fn an_event_is_explained_by_the_version_in_force_and_by_no_other() {
        let versions = HashMap::from([
            (1, version(None, true, 1_000.0)),
            (2, version(Some(100), true, 10.0)),
            (3, version(Some(200), false, 10.0)),
        ]);
        let is_explained = |event: CrossingRecord| why_not(&event, &versions).is_ok();
        let (inside, outside) = (30.001, 30.1);
        assert!(is_explained(crossing(true, "crossing", 1, 50, inside)));
        assert!(!is_explained(crossing(true, "crossing", 1, 50, outside)));
        assert!(!is_explained(crossing(true, "crossing", 2, 50, inside)));
        assert!(!is_explained(crossing(true, "crossing", 1, 150, inside)));
        assert!(is_explained(crossing(false, "geofenceChanged", 2, 100, inside)));
        assert!(is_explained(crossing(false, "geofenceDeleted", 3, 200, 30.0)));
        assert!(!is_explained(crossing(true, "geofenceCreated", 3, 200, 30.0)));
        assert!(!is_explained(crossing(true, "crossing", 9, 50, inside)));
    }
}
