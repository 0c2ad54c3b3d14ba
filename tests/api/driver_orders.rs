//! Who drove, in whatever order it becomes known: a bus's day with cards, its assignments and their corrections, through the
//! server, drawn together.

use serde_json::{Value, json};
use waypost::domain::account::Role;
use waypost_test_support::eventually;

use crate::driver_cards::{Stand, at, list, stand};
use crate::harness::{ANSWER_WITHIN, App, on_each_engine, text};

/// Seconds between two fixes.
const EVERY: i64 = 20;
/// The day's end, by seconds after the start.
const END: i64 = 2_400;

/// What the reader says, by second. At 300 s the fix comes without its card, too.
const CARDS: [(i64, &str); 8] = [
    (20, "a1"),
    (240, ""),
    (300, "A-1"),
    (400, "B2"),
    (520, ""),
    (700, "A1"),
    (1_900, "b-2"),
    (2_100, "nobody's"),
];

/// What a dispatcher does, one after the other.
#[derive(Clone, Copy, Debug)]
enum Edit {
    /// A driver (0 or 1) from a second on.
    Assign(usize, i64),
    /// The last one ends.
    End(i64),
    /// The one of that number was from one second to another.
    Correct(usize, i64, i64),
    /// The one of that number never took place.
    Remove(usize),
}

const EDITS: [Edit; 9] = [
    Edit::Assign(1, 100),
    Edit::End(310),
    Edit::Correct(0, 150, 260),
    Edit::Assign(0, 560),
    Edit::End(720),
    Edit::Assign(1, 800),
    Edit::End(950),
    Edit::Remove(1),
    Edit::Correct(2, 760, 860),
];

/// Who was assigned in the end: the driver's last name, from which second to which, by what.
const ASSIGNED: [(&str, i64, i64, &str); 8] = [
    ("One", 20, 150, "card"),
    ("Two", 150, 260, "manual"),
    ("One", 300, 400, "card"),
    ("Two", 400, 520, "card"),
    ("One", 700, 760, "card"),
    ("Two", 760, 860, "manual"),
    ("One", 860, 1_900, "card"),
    ("Two", 1_900, 2_100, "card"),
];

/// What follows from the bus's id, and when and as what a record became known.
const UNLIKE: [&str; 11] = [
    "/id",
    "/visitId",
    "/vehicleId",
    "/causeId",
    "/vehicleIds",
    "/entry/eventId",
    "/exit/eventId",
    "/sequence",
    "/revision",
    "/detectedAt",
    "/origin",
];

/// A fix of the day: it stands in the depot, drives 2 km, refuels there, drives back and stands.
fn fix(second: i64, card: Option<&str>) -> Value {
    let (meters, is_driving) = match second {
        ..=400 => (0.0, false),
        401..=600 => ((second - 400) as f64 * 10.0, true),
        601..=1_800 => (2_000.0, false),
        1_801..=2_000 => ((2_000 - second) as f64 * 10.0, true),
        _ => (0.0, false),
    };
    let burnt = if second < 900 { 40.0 } else { 80.0 } - second as f64 / 100.0;
    let mut fix = json!({ "recordedAt": at(second).0, "latitude": 30.27 + meters / 110_850.0, "longitude": -97.74,
        "speedKmh": if is_driving { 36.0 } else { 0.0 }, "ignition": true, "fuel": { "liters": burnt } });
    if let Some(card) = card {
        fix["attributes"] = json!({ "driverCard": card });
    }
    fix
}

/// The day's fixes, in order.
fn day() -> Vec<Value> {
    let card = |second| CARDS.iter().find(|(at, _)| *at == second).map(|(_, card)| *card);
    let mut fixes: Vec<Value> =
        (EVERY..=END).step_by(EVERY as usize).map(|second| fix(second, card(second))).collect();
    fixes.push(fix(300, None));
    fixes
}

/// A bus of the round, and what was done to its assignments.
struct Round<'a> {
    app: &'a App,
    stand: &'a Stand,
    bus: String,
    token: String,
    assigned: Vec<(usize, Value)>,
}

impl<'a> Round<'a> {
    async fn begin(app: &'a App, stand: &'a Stand, number: usize) -> Self {
        let body = json!({ "name": "Bus", "tracker": { "uniqueId": format!("bus-{number}") },
            "fuel": { "kind": "diesel", "tankCapacityLiters": 100 }, "tracking": { "overspeedKmh": 30 } });
        let made = app.post("/v1/vehicles", &stand.org.org_admin, body).await.ok(201);
        let (bus, token) = (text(&made["id"]), text(&made["tracker"]["token"]));
        Self { app, stand, bus, token, assigned: Vec::new() }
    }

    async fn report(&self, fixes: &[Value]) {
        let said = self.app.post("/v1/positions", &self.token, json!({ "items": fixes })).await.ok(200);
        assert_eq!(said["rejected"], json!([]));
    }

    /// The path of a driver's assignments of the bus.
    fn driver(&self, which: usize) -> String {
        let driver = if which == 0 { &self.stand.one } else { &self.stand.two };
        format!("{driver}/vehicles/{}", self.bus)
    }

    fn past(&self, number: usize) -> String {
        let (driver, made) = &self.assigned[number];
        format!("{}/assignments/{}", self.driver(*driver), text(&made["id"]))
    }

    async fn edit(&mut self, edit: Edit) {
        let (app, token) = (self.app, &self.stand.org.org_admin);
        match edit {
            Edit::Assign(driver, from) => {
                let path = if driver == 0 { &self.stand.one } else { &self.stand.two };
                let wish = json!({ "vehicleId": self.bus, "startedAt": at(from).1 });
                let made = app.post(&format!("{path}/assign-vehicle"), token, wish).await.ok(200);
                self.assigned.push((driver, made));
            }
            Edit::End(second) => {
                let (driver, _) = self.assigned.last().expect("one was assigned");
                let path = format!("{}?endedAt={}", self.driver(*driver), text(&at(second).1));
                app.delete(&path, token).await.ok(204);
            }
            Edit::Correct(number, from, to) => {
                let body = json!({ "startedAt": at(from).1, "endedAt": at(to).1 });
                app.put(&self.past(number), token, body).await.ok(200);
            }
            Edit::Remove(number) => {
                app.delete(&self.past(number), token).await.ok(204);
            }
        }
    }

    /// Waits until nothing is left to be put right.
    async fn settled(&self) {
        let waiting = "select (select count(*) from change where driven_from is not null or sequence is null) \
            + (select count(*) from card_scan) + (select count(*) from card_holding where unsettled_from is not null) \
            + (select count(*) from vehicle_state where dirty_from is not null)";
        let db = &self.app.context.db;
        eventually(ANSWER_WITHIN, async || db.read().sql(waiting).scalar::<i64>().await.unwrap() == 0).await;
    }

    /// Every record of the bus, as far as two days must be equal.
    async fn records(&self) -> Vec<Value> {
        let mut found = Vec::new();
        for path in ["events", "visits"] {
            let path = format!("/v1/{path}?vehicleId={}&limit=200", self.bus);
            for mut record in list(self.app, &self.stand.org, &path).await {
                for member in UNLIKE {
                    record.pointer_mut(member).map(Value::take);
                }
                found.push(record);
            }
        }
        found.sort_by_key(ToString::to_string);
        found
    }

    /// The assignments of the bus, without why they ended, which says what ended them first.
    async fn assignments(&self) -> Vec<Value> {
        let path = format!("/v1/vehicles/{}/drivers?sort=startedAt", self.bus);
        let told =
            |one: &Value| json!([one["driver"]["lastName"], one["startedAt"], one["endedAt"], one["origin"]]);
        list(self.app, &self.stand.org, &path).await.iter().map(told).collect()
    }
}

#[test]
fn cards_and_assignments_in_any_order_among_the_fixes_make_equal_records() {
    let rounds: usize =
        std::env::var("WAYPOST_TEST_ORDERS").map_or(3, |text| text.parse().expect("a number"));
    on_each_engine(async |app| {
        let mut stand = stand(&app).await;
        app.pass(END);
        // Whoever was signed in is not any more.
        let admin = app.account(Role::OrgAdmin, Some(&stand.org.id)).await;
        stand.org.org_admin = app.sign_in(admin).await;
        stand.org.viewer.clone_from(&stand.org.org_admin);
        let mut random = 11_u64;
        let mut below = |bound: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as usize % bound
        };
        let assigned =
            ASSIGNED.map(|(driver, from, to, origin)| json!([driver, at(from).1, at(to).1, origin]));
        // The day in order, and then everything that is to be said of it.
        let mut round = Round::begin(&app, &stand, 0).await;
        round.report(&day()).await;
        for edit in EDITS {
            round.edit(edit).await;
        }
        round.settled().await;
        let expected = round.records().await;
        for kind in ["entry", "exit", "overspeed", "refuel", "stop", "trip"] {
            let is_driven = |record: &Value| record["type"] == kind && record["driverId"].is_string();
            assert!(expected.iter().any(is_driven), "{kind}: {expected:?}");
        }
        assert_eq!(round.assignments().await, assigned);
        for number in 1..=rounds {
            let mut round = Round::begin(&app, &stand, number).await;
            let (mut fixes, mut edits) = (day(), EDITS.into_iter());
            while !fixes.is_empty() || edits.len() > 0 {
                if below(fixes.len() / 4 + edits.len() + 1) < edits.len() {
                    round.edit(edits.next().expect("one is left")).await;
                } else if !fixes.is_empty() {
                    let mut some = Vec::new();
                    for _ in 0..=below(6).min(fixes.len() - 1) {
                        some.push(fixes.swap_remove(below(fixes.len())));
                    }
                    // Some come twice.
                    if below(4) == 0 {
                        fixes.push(some[0].clone());
                    }
                    round.report(&some).await;
                }
            }
            round.settled().await;
            assert_eq!(round.records().await, expected, "round {number}");
            assert_eq!(round.assignments().await, assigned, "round {number}");
        }
        println!("{rounds} orders: {} records each, equal to those of the day in order", expected.len());
        app
    });
}
