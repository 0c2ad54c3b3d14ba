//! Cards of drivers: whose they are, and who is assigned while a vehicle reports one, whenever that comes.

use serde_json::{Value, json};
use uuid::Uuid;
use waypost_test_support::eventually;

use crate::drivers::{driver, made};
use crate::harness::{
    ANSWER_WITHIN, App, Org, START, circle, on_each_engine, on_postgres, text, waits_for_first, with_app,
};
use crate::sockets::{Socket, hear, opened, say};

fn with_cards(last_name: &str, cards: &Value) -> Value {
    let mut body = driver(last_name, None);
    body["cards"] = cards.clone();
    body
}

#[test]
fn a_card_is_one_drivers_in_its_organization() {
    on_each_engine(async |app| {
        let (org, other) = (app.org("fleet").await, app.org("other").await);
        let cards = json!(["01-ab 23", "CD4"]);
        let one = made(&app, &org.org_admin, with_cards("One", &cards)).await;
        assert_eq!(app.get(&one, &org.viewer).await.ok(200)["cards"], cards);
        let again = with_cards("Two", &json!(["01AB23"]));
        app.post("/v1/drivers", &org.org_admin, again.clone()).await.problem(409, "cardTaken");
        app.post("/v1/drivers", &other.org_admin, again.clone()).await.ok(201);
        let two = made(&app, &org.org_admin, with_cards("Two", &json!(["EF5"]))).await;
        let taken = app.put(&two, &org.org_admin, json!({ "cards": ["EF5", "cd-4"] })).await;
        taken.problem(409, "cardTaken");
        assert_eq!(app.get(&two, &org.viewer).await.ok(200)["cards"], json!(["EF5"]));
        // What was given back, or belonged to somebody who is gone, may be given anew.
        app.put(&one, &org.org_admin, json!({ "cards": ["CD4"] })).await.ok(200);
        app.put(&two, &org.org_admin, json!({ "cards": ["EF5", "01 ab 23"] })).await.ok(200);
        app.delete(&two, &org.org_admin).await.ok(204);
        app.put(&one, &org.org_admin, json!({ "cards": ["EF5", "CD4"] })).await.ok(200);
        for (cards, pointer) in [
            (json!(["a", "-"]), "/cards/1"),
            (json!(["a", "A"]), "/cards/1"),
            (json!(["x".repeat(65)]), "/cards/0"),
            (json!((0..11).map(|n| n.to_string()).collect::<Vec<_>>()), "/cards"),
            (json!("a"), "/cards"),
        ] {
            let said = app.put(&one, &org.org_admin, json!({ "cards": cards })).await;
            said.problem(422, "validationFailed");
            assert_eq!(said.pointers(), [pointer]);
        }
        // No other organization learns of them.
        app.post(&format!("{one}/unlock"), &org.org_admin, json!({})).await.ok(200);
        let locked = app.post(&format!("{one}/lock"), &other.org_admin, json!({})).await.ok(200);
        assert_eq!(locked["cards"], json!([]));
        app
    });
}

/// A fix, by seconds after the start and metres north of the depot's middle.
fn fix(seconds: i64, meters: f64, card: Option<&str>) -> Value {
    let speed = if meters > 0.0 && seconds < 600 { 36.0 } else { 0.0 };
    let mut fix = json!({ "seq": seconds, "recordedAt": at(seconds).0, "latitude": 30.27 + meters / 110_850.0,
        "longitude": -97.74, "speedKmh": speed, "ignition": true });
    if let Some(card) = card {
        fix["attributes"] = json!({ "driverCard": card });
    }
    fix
}

/// An instant in milliseconds, and as it is told.
pub(crate) fn at(seconds: i64) -> (i64, Value) {
    let at = START.plus_seconds(seconds as f64);
    (at.as_millis(), json!(at))
}

pub(crate) async fn list(app: &App, org: &Org, path: &str) -> Vec<Value> {
    app.get(path, &org.viewer).await.ok(200)["data"].as_array().unwrap().clone()
}

/// A vehicle's drivers: who, since when, until when, why not longer, and by what.
async fn drivers_of(app: &App, org: &Org, vehicle: &str) -> Vec<Value> {
    let found = list(app, org, &format!("/v1/vehicles/{vehicle}/drivers?sort=startedAt")).await;
    let told = |one: &Value| {
        json!([one["driver"]["lastName"], one["startedAt"], one["endedAt"], one["endReason"], one["origin"]])
    };
    found.iter().map(told).collect()
}

/// Two drivers with a card each (`A-1` and `b2`), and a bus.
pub(crate) struct Stand {
    pub(crate) org: Org,
    pub(crate) one: String,
    pub(crate) two: String,
    bus: String,
    token: String,
}

pub(crate) async fn stand(app: &App) -> Stand {
    let org = app.org("fleet").await;
    let mut depot = circle("Depot");
    depot["effectiveFrom"] = Value::Null;
    app.post("/v1/geofences", &org.org_admin, depot).await.ok(201);
    let one = made(app, &org.org_admin, with_cards("One", &json!(["A-1"]))).await;
    let two = made(app, &org.org_admin, with_cards("Two", &json!(["b2"]))).await;
    let body = json!({ "name": "bus", "tracker": { "uniqueId": "bus" } });
    let bus = app.post("/v1/vehicles", &org.org_admin, body).await.ok(201);
    app.pass(850);
    Stand { org, one, two, bus: text(&bus["id"]), token: text(&bus["tracker"]["token"]) }
}

/// Says something over the tracker's socket, and hears that it is stored.
async fn report(socket: &mut Socket, items: Vec<Value>) {
    say(socket, &json!({ "type": "positions", "items": items })).await;
    assert_eq!(hear(socket).await["rejected"], json!([]));
}

/// Who drove: stops, trips, entries and exits, and visits.
async fn drove(app: &App, org: &Org) -> Vec<Vec<Value>> {
    let driver = |one: &Value| one.get("driverId").cloned().unwrap_or_default();
    let mut all = Vec::new();
    for path in ["stops", "trips", "geofence-events?sort=occurredAt", "visits"] {
        all.push(list(app, org, &format!("/v1/{path}")).await.iter().map(driver).collect());
    }
    all
}

#[test]
fn a_card_assigns_while_it_is_reported_also_when_it_comes_late() {
    on_each_engine(async |app| {
        let Stand { org, one, two, bus, token } = stand(&app).await;
        let id = |driver: &str| json!(driver.rsplit('/').next().unwrap());
        let (first, second) = (id(&one), id(&two));
        // It stands in the depot, and leaves; the reader says once who is there.
        let stands = (20..=400).step_by(20).map(|second| fix(second, 0.0, (second == 20).then_some("a1")));
        let drives = (420..600).step_by(20).map(|second| fix(second, (second - 400) as f64 * 10.0, None));
        let stops = (600..=640).step_by(20).map(|second| fix(second, 2_000.0, None));
        let mut socket = opened(&app, "/v1/ws/tracker", &token).await.unwrap();
        report(&mut socket, stands.chain(drives).chain(stops).collect()).await;
        let open = json!(["One", at(20).1, null, null, "card"]);
        assert_eq!(drivers_of(&app, &org, &bus).await, [open]);
        let vehicle = app.get(&format!("/v1/vehicles/{bus}"), &org.org_admin).await.ok(200);
        assert_eq!((&vehicle["driver"]["id"], &vehicle["driver"]["startedAt"]), (&first, &at(20).1));
        let assignment = list(&app, &org, &format!("{one}/vehicles")).await.remove(0);
        assert_eq!(assignment.get("assignedBy"), None, "a card did");
        let said = |trip: &Value| {
            let (stop, entry) = (vec![first.clone()], vec![first.clone()]);
            vec![stop, vec![trip.clone()], vec![first.clone(), trip.clone()], entry]
        };
        assert_eq!(drove(&app, &org).await, said(&first));
        // Another app's client brings late that somebody else had sat down before it left.
        let sent = format!(
            "/in/{token}?lat=30.27&lon=-97.74&speed=0&timestamp={}&driverUniqueId=B2",
            at(390).0 / 1_000
        );
        assert_eq!(app.send("GET", &sent, &[], "").await.status, 200);
        eventually(ANSWER_WITHIN, async || drove(&app, &org).await == said(&second)).await;
        let both = [
            json!(["One", at(20).1, at(390).1, "cardEnded", "card"]),
            json!(["Two", at(390).1, null, null, "card"]),
        ];
        assert_eq!(drivers_of(&app, &org, &bus).await, both);
        app
    });
}

#[test]
fn who_assigns_by_hand_goes_before_a_card() {
    on_each_engine(async |app| {
        let Stand { org, one, two, bus, token } = stand(&app).await;
        let mut socket = opened(&app, "/v1/ws/tracker", &token).await.unwrap();
        report(&mut socket, vec![fix(20, 0.0, Some("A1")), fix(390, 0.0, Some("B2"))]).await;
        // What a card made is not ended or removed by hand.
        let unassign = format!("{two}/vehicles/{bus}");
        app.delete(&unassign, &org.dispatcher).await.problem(409, "assignedByCard");
        let past = list(&app, &org, &format!("{one}/vehicles")).await.remove(0);
        let past = format!("{one}/vehicles/{bus}/assignments/{}", text(&past["id"]));
        app.delete(&past, &org.org_admin).await.problem(409, "assignedByCard");
        app.put(&past, &org.org_admin, json!({ "endedAt": at(100).1 })).await.problem(409, "assignedByCard");
        // Nor is it in the way, however far back.
        let wish = json!({ "vehicleId": bus, "startedAt": at(300).1 });
        app.post(&format!("{one}/assign-vehicle"), &org.dispatcher, wish).await.ok(200);
        let before = json!(["One", at(20).1, at(300).1, "reassigned", "card"]);
        let hand = json!(["One", at(300).1, null, null, "manual"]);
        assert_eq!(drivers_of(&app, &org, &bus).await, [before.clone(), hand]);
        // When they are done, the card that is still there counts again.
        let end = format!("{one}/vehicles/{bus}?endedAt={}", text(&at(800).1));
        app.delete(&end, &org.dispatcher).await.ok(204);
        let hand = json!(["One", at(300).1, at(800).1, "unassigned", "manual"]);
        let rest = |to: Value, why: Value| {
            vec![before.clone(), hand.clone(), json!(["Two", at(800).1, to, why, "card"])]
        };
        let open = rest(Value::Null, Value::Null);
        eventually(ANSWER_WITHIN, async || drivers_of(&app, &org, &bus).await == open).await;
        // An empty card is none; one that nobody has assigns nobody, and is shown.
        report(&mut socket, vec![fix(900, 2_000.0, Some(""))]).await;
        let so_far = rest(at(900).1, json!("cardEnded"));
        assert_eq!(drivers_of(&app, &org, &bus).await, so_far);
        report(&mut socket, vec![fix(910, 2_000.0, Some("nobody's"))]).await;
        assert_eq!(drivers_of(&app, &org, &bus).await, so_far);
        let vehicle = app.get(&format!("/v1/vehicles/{bus}"), &org.org_admin).await.ok(200);
        assert_eq!(vehicle["live"]["attributes"]["driverCard"], "nobody's");
        app
    });
}

#[test]
fn a_card_counts_from_when_it_is_given_and_while_its_driver_may_drive() {
    with_app(async |app| {
        let org = app.org("fleet").await;
        let who = made(&app, &org.org_admin, driver("Ruiz", None)).await;
        let body = json!({ "name": "bus", "tracker": { "uniqueId": "bus" } });
        let bus = app.post("/v1/vehicles", &org.org_admin, body).await.ok(201);
        let (bus, token) = (text(&bus["id"]), text(&bus["tracker"]["token"]));
        app.pass(60);
        let reported = json!({ "items": [fix(30, 0.0, Some("A1"))] });
        app.post("/v1/positions", &token, reported).await.ok(200);
        assert_eq!(drivers_of(&app, &org, &bus).await, Vec::<Value>::new());
        let open = async |many: usize| {
            let found = drivers_of(&app, &org, &bus).await;
            found.len() == many && found.last().is_some_and(|last| last[2].is_null())
        };
        let ended = async |many: usize, why: &str| {
            let found = drivers_of(&app, &org, &bus).await;
            found.len() == many && found.last().is_some_and(|last| last[3] == why)
        };
        app.put(&who, &org.org_admin, json!({ "cards": ["A1"] })).await.ok(200);
        eventually(ANSWER_WITHIN, async || open(1).await).await;
        let given = drivers_of(&app, &org, &bus).await;
        assert!(text(&given[0][1]) > text(&at(30).1), "from then on: {given:?}");
        app.pass(10);
        app.put(&who, &org.org_admin, json!({ "status": "suspended" })).await.ok(200);
        eventually(ANSWER_WITHIN, async || ended(1, "cardEnded").await).await;
        app.pass(10);
        app.put(&who, &org.org_admin, json!({ "status": "active" })).await.ok(200);
        eventually(ANSWER_WITHIN, async || open(2).await).await;
        app.pass(10);
        app.post(&format!("{who}/unlock"), &org.org_admin, json!({})).await.ok(200);
        eventually(ANSWER_WITHIN, async || ended(2, "driverUnlocked").await).await;
        app.pass(10);
        app.post(&format!("{who}/lock"), &org.org_admin, json!({})).await.ok(200);
        eventually(ANSWER_WITHIN, async || open(3).await).await;
        app.pass(10);
        app.delete(&who, &org.org_admin).await.ok(204);
        eventually(ANSWER_WITHIN, async || ended(3, "driverDeleted").await).await;
        app
    });
}

#[test]
fn whoever_releases_a_driver_waits_for_the_rows_of_the_vehicles_first() {
    on_postgres(async |app| {
        let db = &app.context.db;
        let Stand { org, one, bus, token, .. } = stand(&app).await;
        let mut socket = opened(&app, "/v1/ws/tracker", &token).await.unwrap();
        report(&mut socket, vec![fix(20, 0.0, Some("A1"))]).await;
        let bus: Uuid = bus.parse().unwrap();
        let lock = "update vehicle set updated_at = updated_at where id = $1";
        let free =
            "select count(*) from (select id from assignment where vehicle_id = $1 for update nowait) as a";
        let unlock = format!("{one}/unlock");
        let release = app.post(&unlock, &org.org_admin, json!({}));
        waits_for_first(db, (lock, bus), (free, bus), release).await.ok(200);
        app
    });
}
