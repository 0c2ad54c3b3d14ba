//! An edit that was answered counts, though the node that answered it dies at once.

use serde_json::{Value, json};
use tokio::time::Instant;
use waypost_actors::clock;
use waypost_actors::model::Timestamp;
use waypost_client::{Api, Method};
use waypost_test_support::{Engine, Launch, PASSWORD, Program, ROOT, eventually};

use crate::figures::{figure, spread};
use crate::ground::{DEADLINE, bus, launch, on};

const NODES: usize = 3;
/// So that each node dies twice, of which one has the organization.
const ROUNDS: usize = 6;
const RADIUS_METERS: f64 = 200.0;

#[test]
fn an_edit_counts_whose_node_dies_once_it_has_answered() {
    on(Engine::Postgres, async |ground| {
        let place = ground.copy().await;
        let mut launches: Vec<Launch> = (0..NODES).map(|_| launch(place.clone())).collect();
        launches.iter_mut().for_each(Launch::make_node);
        let mut programs: Vec<Program> = launches.iter().map(Program::spawn).collect();
        let mut apis = Vec::new();
        for program in &programs {
            program.ready().await;
            apis.push(Api::sign_in(&program.url(), ROOT, PASSWORD, DEADLINE).await.unwrap());
        }
        let organization = ground.fleet.organization.clone();
        // One for each edit: a bus that drives from one place to the next within a second is not believed.
        let mut buses = Vec::new();
        for number in 0..ROUNDS {
            buses.push(bus(&apis[0], &organization, &format!("edited-{number}"), Vec::new()).await);
        }
        let fence = json!({ "organizationId": organization, "name": "moved", "shape": shape(0) });
        let fence = apis[0].send(Method::POST, "/v1/geofences", &fence).await.unwrap();
        let path = format!("/v1/geofences/{}?organizationId={organization}", fence["id"].as_str().unwrap());
        let mut settled = Vec::new();
        for (bus, round) in buses.iter().zip(1..) {
            let (dying, other) = (round % NODES, (round + 1) % NODES);
            apis[dying].send(Method::PUT, &path, &json!({ "shape": shape(round) })).await.unwrap();
            programs[dying].kill();
            let since = Instant::now();
            let at = clock::now();
            let fix = json!({ "items": [{ "recordedAt": at.as_millis(), "latitude": latitude(round),
                "longitude": -97.74, "accuracyMeters": 5 }] });
            // Refused with 503 for as long as the dead one is still the owner.
            eventually(DEADLINE, || apis[other].send_as(&bus.token, "/v1/positions", &fix)).await;
            let entered = async || entered(&apis[other], &organization, &fence["id"], at.as_millis()).await;
            eventually(DEADLINE, entered).await;
            settled.push(since.elapsed());
            programs[dying] = Program::start(&launches[dying]).await;
        }
        figure("edit and kill to the event by the edit", &spread(&settled), "3 s");
        Program::stop_all(&mut programs).await;
        ground.drop_copy(&place).await;
    });
}

/// Whether the newest event is that the bus entered the fence then.
async fn entered(api: &Api, organization: &str, fence: &Value, at: i64) -> Result<(), String> {
    let path = format!(
        "/v1/geofence-events?organizationId={organization}&geofenceId={}&type=entry&sort=-occurredAt&limit=1",
        fence.as_str().unwrap()
    );
    let found = api.get(&path).await.map_err(|error| error.to_string())?;
    let found: Value = serde_json::from_slice(&found).map_err(|error| error.to_string())?;
    let newest = found["data"][0]["occurredAt"].as_str().map(Timestamp::parse);
    match newest {
        Some(Ok(newest)) if newest.as_millis() == at => Ok(()),
        _ => Err(format!("not entered at {at}: {found}")),
    }
}

/// Where the fence is after so many edits: each is far from the one before.
fn shape(round: usize) -> Value {
    json!({ "type": "circle", "radiusMeters": RADIUS_METERS,
        "center": { "latitude": latitude(round), "longitude": -97.74 } })
}

fn latitude(round: usize) -> f64 {
    30.2 + 0.05 * round as f64
}
