//! Who receives what on the live feed: every principal × each way to sign in × each topic × own and foreign
//! organization.

use serde_json::{Value, json};

use crate::harness::{App, Org, circle, on_each_engine, text};
use crate::matrix::{Principal, principals, world};
use crate::sockets::{self, Socket, opened, say};

/// Each topic with the scope that it takes.
const TOPICS: [(&str, &str); 4] = [
    ("positions", "positions:read"),
    ("occupancy", "events:read"),
    ("events", "events:read"),
    ("fuel", "fuel:read"),
];
/// How a socket is signed in.
const WAYS: [&str; 2] = ["header", "ticket"];

/// A socket that is signed in by a ticket, which is issued without checking its owner's permissions.
async fn by_ticket(app: &App, token: &str) -> Socket {
    let caller = app.context.auth.caller(token).await.unwrap();
    let (ticket, _) = app.context.auth.tickets.issue(caller, None, app.context.clock.now()).unwrap();
    let mut socket = opened(app, "/v1/ws/live", "").await.unwrap();
    say(&mut socket, &json!({ "type": "authenticate", "ticket": ticket })).await;
    socket
}

/// The next message of one of some types.
pub(crate) async fn hear(socket: &mut Socket, types: &[&str]) -> Value {
    loop {
        let said = sockets::hear(socket).await;
        if types.contains(&said["type"].as_str().unwrap()) {
            return said;
        }
    }
}

pub(crate) async fn subscribe(socket: &mut Socket, topics: &[&str], filter: Value) -> Value {
    let asked =
        json!({ "type": "subscribe", "id": "a", "topics": topics, "filter": filter, "minIntervalMs": 0 });
    say(socket, &asked).await;
    hear(socket, &["subscribed", "error"]).await
}

/// Whether a role, or a system user's scope, opens the feed.
fn opens(principal: &Principal) -> bool {
    let of_changes = ["vehicles:read", "drivers:read", "geofences:read", "users:read"];
    let mut scopes = TOPICS.iter().map(|(_, scope)| *scope).chain(of_changes);
    principal.is.len() == 1 || scopes.any(|scope| scope == principal.is)
}

#[test]
fn a_topic_takes_its_own_right_however_the_socket_was_signed_in() {
    on_each_engine(async |app| {
        let (own, foreign) = (world(&app, "own").await, world(&app, "foreign").await);
        let mut wrong = Vec::new();
        for principal in principals(&app, &own).await {
            let Principal { name, token, is, is_operator } = &principal;
            let ticket = app.post("/v1/auth/ws-ticket", token, json!(null)).await;
            if ["N", "T"].contains(&is.as_str()) {
                ticket.problem(401, "unauthenticated");
                continue;
            }
            if opens(&principal) {
                ticket.ok(201);
            } else {
                let detail = text(&ticket.problem(403, "forbidden")["detail"]);
                assert!(
                    detail.contains("positions:read or events:read or fuel:read or vehicles:read"),
                    "{detail}"
                );
                assert_eq!(opened(&app, "/v1/ws/live", token).await.err(), Some(403), "{name}");
            }
            for way in WAYS.into_iter().filter(|way| *way == "ticket" || opens(&principal)) {
                let mut socket = match way {
                    "header" => opened(&app, "/v1/ws/live", token).await.unwrap(),
                    _ => by_ticket(&app, token).await,
                };
                for (topic, scope) in TOPICS {
                    for (world, is_own) in [(&own, true), (&foreign, false)] {
                        let may = is.len() == 1 || is == scope;
                        let expected = match (may, is_own || *is_operator) {
                            (true, true) => "subscribed",
                            (true, false) => "notFound",
                            (false, _) => "forbidden",
                        };
                        let filter = json!({ "organizationId": world.organization });
                        let said = subscribe(&mut socket, &[topic], filter).await;
                        let answer = said["code"].as_str().unwrap_or("subscribed");
                        let names_it = expected != "forbidden"
                            || said["detail"].to_string().contains(&format!("scope {scope}"));
                        if answer != expected || !names_it {
                            wrong.push(format!(
                                "{name}, {way}, {topic}, own {is_own}: {said} and not {expected}"
                            ));
                        }
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
        app
    });
}

#[test]
fn a_refused_subscription_leaves_the_one_of_its_name_as_it_was() {
    on_each_engine(async |app| {
        let org = app.org("partly").await;
        let tracker = driven(&app, &org).await;
        let (_, token) = app.system_user(&org.org_admin, &["positions:read"]).await;
        let mut socket = by_ticket(&app, &token).await;
        assert_eq!(subscribe(&mut socket, &["positions"], json!({})).await["type"], "subscribed");
        let refused = subscribe(&mut socket, &["positions", "fuel"], json!({})).await;
        assert_eq!((&refused["code"], &refused["id"]), (&json!("forbidden"), &json!("a")), "{refused}");
        assert!(text(&refused["detail"]).starts_with("topics: fuel: this needs"), "{refused}");
        report(&app, &tracker, 2).await;
        let delta = hear(&mut socket, &["delta"]).await;
        assert_eq!(delta["vehicles"][0]["position"]["speedKmh"], 2.0, "{delta}");
        app
    });
}

/// A vehicle that reports fuel, in a fence; its tracker's token.
async fn driven(app: &App, org: &Org) -> String {
    app.post("/v1/geofences", &org.org_admin, circle("Depot")).await.ok(201);
    let body = json!({ "name": "Bus", "tracker": { "uniqueId": "imei-1" },
        "fuel": { "kind": "diesel", "tankCapacityLiters": 100 } });
    let made = app.post("/v1/vehicles", &org.org_admin, body).await.ok(201);
    let token = text(&made["tracker"]["token"]);
    report(app, &token, 1).await;
    token
}

/// Reports a fix in the middle of the fence, at `number` seconds and km/h.
async fn report(app: &App, token: &str, number: i64) {
    let center = &circle("Depot")["shape"]["center"];
    let item = json!({ "seq": number, "recordedAt": format!("2026-05-01T12:00:{number:02}Z"),
        "latitude": center["latitude"], "longitude": center["longitude"], "speedKmh": number,
        "ignition": true, "fuel": { "percent": 40, "cumulative": 7 } });
    let said = app.post("/v1/positions", token, json!({ "items": [item] })).await.ok(200);
    assert_eq!(said["stored"], 1, "{said}");
}

/// The parts of a vehicle that are present, by the scope that each requires.
fn parts(vehicle: &Value) -> Vec<&'static str> {
    let parts = [
        ("positions:read", vehicle.get("position").or(vehicle.get("motion"))),
        ("events:read", vehicle.get("geofenceIds").or(vehicle.get("geofences"))),
        ("fuel:read", vehicle.get("fuel").or(vehicle["position"].get("fuel"))),
        ("fuel:read", vehicle["position"].get("fuelCumulative")),
    ];
    let mut there: Vec<_> = parts.into_iter().filter_map(|(scope, part)| part.map(|_| scope)).collect();
    there.dedup();
    there
}

#[test]
fn of_a_vehicle_each_part_takes_its_own_right() {
    on_each_engine(async |app| {
        let org = app.org("parts").await;
        let tracker = driven(&app, &org).await;
        let listed = app.get("/v1/vehicles", &org.viewer).await.ok(200);
        let vehicle = text(&listed["data"][0]["id"]);
        let mut number = 1;
        for (scopes, topic) in [
            (vec!["positions:read"], "positions"),
            (vec!["positions:read", "events:read"], "positions"),
            (vec!["positions:read", "fuel:read"], "fuel"),
            (vec!["fuel:read"], "fuel"),
            (vec!["events:read", "fuel:read"], "fuel"),
            (vec!["positions:read", "events:read", "fuel:read"], "positions"),
        ] {
            let (_, token) = app.system_user(&org.org_admin, &scopes).await;
            let mut socket = opened(&app, "/v1/ws/live", &token).await.unwrap();
            assert_eq!(subscribe(&mut socket, &[topic], json!({})).await["type"], "subscribed");
            let snapshot = hear(&mut socket, &["snapshot"]).await;
            assert_eq!(parts(&snapshot["vehicles"][0]), scopes, "{snapshot}");
            number += 1;
            report(&app, &tracker, number).await;
            let delta = hear(&mut socket, &["delta"]).await;
            let mut seen = scopes.clone();
            if !delta["vehicles"][0].as_object().unwrap().contains_key("geofenceIds") {
                seen.retain(|scope| *scope != "events:read"); // told before
            }
            assert_eq!(parts(&delta["vehicles"][0]), seen, "{delta}");

            let boxed = subscribe(&mut socket, &[topic], json!({ "bbox": [-180, -90, 180, 90] })).await;
            let has_positions = scopes.contains(&"positions:read");
            assert_eq!(boxed["type"], if has_positions { "subscribed" } else { "error" }, "{boxed}");

            let (_, token) =
                app.system_user(&org.org_admin, &[&["vehicles:read"], &scopes[..]].concat()).await;
            let live = app.get(&format!("/v1/vehicles/{vehicle}"), &token).await.ok(200);
            let asked = app.get("/v1/vehicles?include=live", &token).await;
            if has_positions {
                assert_eq!(parts(&live["live"]), scopes, "{live}");
                assert_eq!(parts(&asked.ok(200)["data"][0]["live"]), scopes);
            } else {
                assert_eq!(live.get("live"), None, "{live}");
                let detail = text(&asked.problem(403, "forbidden")["detail"]);
                assert!(detail.ends_with("the scope positions:read"), "{detail}");
            }
            if scopes.iter().any(|scope| *scope != "fuel:read") {
                let history = app.get(&format!("/v1/vehicles/{vehicle}/positions"), &token).await.ok(200);
                let has_fuel = history["data"][0].get("fuel").is_some();
                assert_eq!(has_fuel, scopes.contains(&"fuel:read"), "{history}");
            }
        }
        app
    });
}
