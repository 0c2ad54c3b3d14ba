//! Edits of fences while more late data comes in than corrections can keep up with: answered soon or refused, and
//! nothing in the server grows.

use std::cell::RefCell;
use std::f64::consts::TAU;
use std::rc::Rc;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, interval, timeout};
use tokio_tungstenite::tungstenite::Message;
use waypost_actors::clock;
use waypost_client::Method;
use waypost_client::socket::tracker;
use waypost_test_support::{Engine, Program};

use crate::figures::{figure, megabytes};
use crate::ground::{DEADLINE, Ground, bus, launch, on};
use crate::seed::number;
use crate::wire::connect;

/// Vehicles, each of which reports once a second.
const BUSES: usize = 100;
/// Fixes of each in a second.
const FIXES: i64 = 30;
/// One in this many fixes is late.
const LATE: i64 = 100;
/// Fences that take turns being edited.
const FENCES: usize = 20;
/// The time between two edits.
const EDIT_EVERY: Duration = Duration::from_millis(200);
/// The slowest of a hundred edits that are not refused.
const ANSWERED_WITHIN: Duration = Duration::from_secs(2);

#[test]
#[ignore = "a full run: ten minutes"]
fn full_edits_beside_late_data_sqlite() {
    on(Engine::Sqlite, run);
}

#[test]
#[ignore = "a full run: ten minutes"]
fn full_edits_beside_late_data_postgres() {
    on(Engine::Postgres, run);
}

/// How an edit ended, and how long it took.
type Answers = Rc<RefCell<Vec<(u16, Duration)>>>;

async fn run(ground: &mut Ground) {
    let long = Duration::from_secs(number("WAYPOST_TEST_EDIT_SECONDS", 540) as u64);
    let place = ground.copy().await;
    let mut server = Program::start(&launch(place.clone())).await;
    let api = Rc::new(server.operator().await);
    let organization = ground.fleet.organization.clone();
    let mut fences = Vec::new();
    for number in 0..FENCES {
        let body = json!({ "organizationId": organization, "name": format!("edited {number}"), "shape": shape(number, 400.0) });
        let made = api.send(Method::POST, "/v1/geofences", &body).await.unwrap();
        fences.push(made["id"].as_str().unwrap().to_owned());
    }
    let mut load = JoinSet::new();
    for number in 0..BUSES {
        let bus = bus(&api, &organization, &format!("edited-{number}"), Vec::new()).await;
        load.spawn_local(report(server.url(), bus.token, number));
    }
    let answers = Answers::default();
    let (mut edits, mut looks) = (interval(EDIT_EVERY), interval(Duration::from_secs(5)));
    let (began, mut seen, mut count) = (Instant::now(), Vec::new(), 0_usize);
    while began.elapsed() < long {
        tokio::select! {
            _ = edits.tick() => {
                count += 1;
                let (api, answers) = (Rc::clone(&api), Rc::clone(&answers));
                let path = format!("/v1/geofences/{}?organizationId={organization}", fences[count % FENCES]);
                let body = json!({ "shape": shape(count % FENCES, 300.0 + (count % 7) as f64 * 40.0) });
                load.spawn_local(async move {
                    let asked = Instant::now();
                    let answer = api.ask(Method::PUT, &path, Some(&body)).await;
                    let status = answer.map_or(0, |answer| answer.status);
                    answers.borrow_mut().push((status, asked.elapsed()));
                });
            }
            _ = looks.tick() => {
                api.renew().await.ok();
                seen.push((server.resident_bytes(), server.descriptors()));
            }
        }
    }
    load.abort_all();
    judge(&answers.borrow(), &seen, count);
    server.stop().await;
    ground.drop_copy(&place).await;
}

fn judge(answers: &[(u16, Duration)], seen: &[(u64, usize)], asked: usize) {
    let mut done: Vec<Duration> =
        answers.iter().filter(|(status, _)| *status == 200).map(|(_, took)| *took).collect();
    done.sort_unstable();
    let slow = done.get(done.len() * 99 / 100).copied().unwrap_or_default();
    let refused = answers.iter().filter(|(status, _)| *status == 503).count();
    figure("edits asked, done, refused with 503", &format!("{asked}, {}, {refused}", done.len()), "told");
    figure("edits done, p99", &format!("{slow:.1?}"), "2 s");
    // The first half fills up everything that has a bound.
    let (first, second) = seen.split_at(seen.len() / 2);
    let most = |some: &[(u64, usize)]| {
        let memory = some.iter().map(|(memory, _)| *memory).max().unwrap_or_default();
        (memory, some.iter().map(|(_, open)| *open).max().unwrap_or_default())
    };
    let ((memory, open), (later, open_later)) = (most(first), most(second));
    let told = format!(
        "{:.0} then {:.0} MB, {open} then {open_later} descriptors",
        megabytes(memory),
        megabytes(later)
    );
    figure("most of the first and of the second half", &told, "flat");
    assert_eq!(done.len() + refused, answers.len(), "some were answered otherwise: {answers:?}");
    assert!(answers.len() * 10 >= asked * 9, "{} of {asked} edits were answered", answers.len());
    assert!(!done.is_empty() && slow <= ANSWERED_WITHIN, "p99 {slow:?}");
    assert!(later <= memory * 5 / 4, "memory grows: {memory} to {later} bytes");
    assert!(open_later <= open + 50, "descriptors: {open} to {open_later}");
}

/// A fence on the ring along which the vehicles drive.
fn shape(number: usize, radius_meters: f64) -> Value {
    let angle = TAU * number as f64 / FENCES as f64;
    json!({ "type": "circle", "radiusMeters": radius_meters,
        "center": { "latitude": 30.27 + 0.02 * angle.sin(), "longitude": -97.74 + 0.02 * angle.cos() } })
}

/// Goes round and reports once a second, for as long as it is allowed to.
async fn report(server: String, token: String, bus: usize) {
    let (mut seq, mut second) = (0_i64, interval(Duration::from_secs(1)));
    loop {
        let Ok(socket) = connect(tracker(&server, &token)).await else { continue };
        let (mut out, mut heard) = socket.split();
        loop {
            second.tick().await;
            let now = clock::now().as_millis();
            let items: Vec<Value> = (0..FIXES)
                .map(|number| {
                    seq += 1;
                    let late = if seq % LATE == 0 { 5_000 + seq * 7 % 55_000 } else { 0 };
                    let at = now - 1_000 + number * 1_000 / FIXES - late;
                    let angle = at as f64 / 300_000.0 * TAU + bus as f64;
                    json!({ "seq": seq, "recordedAt": at, "latitude": 30.27 + 0.02 * angle.sin(),
                        "longitude": -97.74 + 0.02 * angle.cos(), "accuracyMeters": 5 })
                })
                .collect();
            let frame = json!({ "type": "positions", "items": items }).to_string();
            if out.send(Message::text(frame)).await.is_err() {
                break;
            }
            // Acks come in their own time; they are read and dropped.
            while let Ok(Some(said)) = timeout(Duration::from_millis(1), heard.next()).await {
                if said.is_err() {
                    break;
                }
            }
        }
        timeout(DEADLINE, out.close()).await.ok();
    }
}
