//! Which vehicles are inside which fence at a pause of the replay, by the server and by the expected events.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};
use waypost_actors::model::Timestamp;

use super::expected::{Key, Names};
use super::records::Pagination;
use crate::Api;

const AT_A_TIME: usize = 4;
const SHOWN: usize = 20;

/// Vehicles by fence.
type Occupants = BTreeMap<u32, BTreeSet<u32>>;

#[derive(Deserialize)]
struct Page {
    data: Vec<Row>,
    pagination: Pagination,
}

#[derive(Deserialize)]
struct Row {
    vehicle: VehicleRow,
}

#[derive(Deserialize)]
struct VehicleRow {
    name: String,
}

/// What the pauses showed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct InsideReport {
    /// Pauses made.
    pub pauses: u32,
    /// Vehicles that both say are inside, summed over fences and pauses.
    pub agreed: usize,
    /// Vehicles that only one of the two says are inside.
    pub differing: usize,
    /// The first differences.
    pub differences: Vec<String>,
}

/// The vehicles inside by the expected events, each up to the newest fix it has sent. `newest` is in the order of
/// the numbers of `vehicles`.
fn by_expectation(expected: &[Key], newest: &BTreeMap<u32, Timestamp>) -> Occupants {
    let mut past: Vec<&Key> = expected
        .iter()
        .filter(|key| {
            newest.get(&key.vehicle).is_some_and(|newest| key.recorded_millis <= newest.as_millis())
        })
        .collect();
    past.sort_unstable();
    let mut inside = Occupants::new();
    for key in past {
        let vehicles = inside.entry(key.fence).or_default();
        if key.entry {
            vehicles.insert(key.vehicle);
        } else {
            vehicles.remove(&key.vehicle);
        }
    }
    inside.retain(|_, vehicles| !vehicles.is_empty());
    inside
}

/// The vehicles inside by the server.
async fn by_server(
    api: &Api,
    organization_id: &str,
    fences: &[(String, String)],
    names: &mut Names,
) -> Result<Occupants> {
    let asked = fences.iter().map(|(name, id)| async move {
        anyhow::Ok((name, occupants(api, organization_id, id).await.with_context(|| name.clone())?))
    });
    let answers: Vec<_> = stream::iter(asked).buffered(AT_A_TIME).try_collect().await?;
    let mut inside = Occupants::new();
    for (fence, vehicles) in answers.into_iter().filter(|(_, vehicles)| !vehicles.is_empty()) {
        let vehicles = vehicles.iter().map(|vehicle| names.number(vehicle)).collect();
        inside.insert(names.number(fence), vehicles);
    }
    Ok(inside)
}

async fn occupants(api: &Api, organization_id: &str, fence_id: &str) -> Result<Vec<String>> {
    let base = format!(
        "/v1/geofence-events/geofence/{fence_id}/vehicles?organizationId={organization_id}&limit=200"
    );
    let mut path = base.clone();
    let mut vehicles = Vec::new();
    loop {
        let page: Page = serde_json::from_slice(&api.get(&path).await?)?;
        vehicles.extend(page.data.into_iter().map(|row| row.vehicle.name));
        match page.pagination.end_cursor.filter(|_| page.pagination.has_next_page) {
            Some(cursor) => path = format!("{base}&after={cursor}"),
            None => return Ok(vehicles),
        }
    }
}

/// Asks the server and adds what differs to the report.
pub(super) async fn check(
    api: &Api,
    (organization_id, fences): (&str, &[(String, String)]),
    expected: &[Key],
    newest: &BTreeMap<u32, Timestamp>,
    names: &mut Names,
    report: &mut InsideReport,
) -> Result<()> {
    let have = by_server(api, organization_id, fences, names).await?;
    add(report, &by_expectation(expected, newest), &have, names);
    Ok(())
}

fn add(report: &mut InsideReport, want: &Occupants, have: &Occupants, names: &Names) {
    let none = BTreeSet::new();
    let fences: BTreeSet<u32> = want.keys().chain(have.keys()).copied().collect();
    report.pauses += 1;
    for fence in fences {
        let (want, have) = (want.get(&fence).unwrap_or(&none), have.get(&fence).unwrap_or(&none));
        report.agreed += want.intersection(have).count();
        for vehicle in want.symmetric_difference(have) {
            report.differing += 1;
            if report.differences.len() < SHOWN {
                let who = if want.contains(vehicle) { "only expected" } else { "only found" };
                let line = format!(
                    "pause {}: {} in {}: {who}",
                    report.pauses,
                    names.name(*vehicle),
                    names.name(fence)
                );
                report.differences.push(line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expected_occupants_go_by_what_each_vehicle_has_sent() {
        let mut names = Names::default();
        let [bus, car, fence] = ["bus", "car", "fence"].map(|name| names.number(name));
        let at = |second: i64| Timestamp::from_micros(second * 1_000_000);
        let event = |vehicle, entry, second| Key::new(vehicle, fence, entry, at(second), (1.0, 2.0));
        let expected = [event(bus, true, 10), event(bus, false, 20), event(car, true, 5)];
        let inside = |newest: &[(u32, i64)]| {
            let newest = newest.iter().map(|(vehicle, second)| (*vehicle, at(*second))).collect();
            by_expectation(&expected, &newest).remove(&fence).unwrap_or_default()
        };
        assert_eq!(inside(&[(bus, 9), (car, 4)]), BTreeSet::new());
        assert_eq!(inside(&[(bus, 10)]), BTreeSet::from([bus]));
        assert_eq!(inside(&[(bus, 20), (car, 5)]), BTreeSet::from([car]));
    }

    #[test]
    fn differences_are_told_apart() {
        let mut names = Names::default();
        let [bus, car, fence] = ["bus", "car", "fence"].map(|name| names.number(name));
        let mut report = InsideReport::default();
        let want = Occupants::from([(fence, BTreeSet::from([bus]))]);
        add(&mut report, &want, &want.clone(), &names);
        assert_eq!((report.pauses, report.agreed, report.differing), (1, 1, 0));
        add(&mut report, &want, &Occupants::from([(fence, BTreeSet::from([car]))]), &names);
        assert_eq!(report.differing, 2);
        assert_eq!(
            report.differences,
            ["pause 2: bus in fence: only expected", "pause 2: car in fence: only found"]
        );
    }
}
