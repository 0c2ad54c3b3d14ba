//! Who drove when: parts of a history, ends dated back, and corrections of what was entered wrongly.

use serde_json::{Value, json};
use waypost_test_support::eventually;

use crate::drivers::{driver, made};
use crate::harness::{ANSWER_WITHIN, App, Org, START, circle, on_each_engine, text};

/// A driver's path, a vehicle's id, and three times that they drove it: two days each, from the 1st, 5th and 9th of
/// April.
struct Past {
    org: Org,
    driver: String,
    bus: String,
    assignments: Vec<Value>,
}

fn day(day: u32) -> String {
    format!("2026-04-{day:02}T00:00:00Z")
}

async fn past(app: &App) -> Past {
    let org = app.org("fleet").await;
    let driver = made(app, &org.org_admin, driver("Ruiz", None)).await;
    let bus = text(&app.post("/v1/vehicles", &org.org_admin, json!({ "name": "bus" })).await.ok(201)["id"]);
    for start in [1, 5, 9] {
        let wish = json!({ "vehicleId": bus, "startedAt": day(start) });
        app.post(&format!("{driver}/assign-vehicle"), &org.dispatcher, wish).await.ok(200);
        let end = format!("{driver}/vehicles/{bus}?endedAt={}", day(start + 2));
        app.delete(&end, &org.dispatcher).await.ok(204);
    }
    let assignments = listed(app, &org, &format!("{driver}/vehicles?sort=startedAt")).await;
    Past { org, driver, bus, assignments }
}

async fn listed(app: &App, org: &Org, path: &str) -> Vec<Value> {
    app.get(path, &org.viewer).await.ok(200)["data"].as_array().unwrap().clone()
}

#[test]
fn an_end_may_lie_back_as_far_as_the_start() {
    on_each_engine(async |app| {
        let Past { org, driver, bus, assignments } = past(&app).await;
        assert_eq!(assignments[0]["endedAt"], "2026-04-03T00:00:00.000Z");
        assert_eq!(assignments[0]["endReason"], "unassigned");
        let wish = json!({ "vehicleId": bus, "startedAt": day(20) });
        app.post(&format!("{driver}/assign-vehicle"), &org.dispatcher, wish).await.ok(200);
        for end in [day(19), "2026-05-02T00:00:00Z".to_owned()] {
            let said = app.delete(&format!("{driver}/vehicles/{bus}?endedAt={end}"), &org.dispatcher).await;
            said.problem(422, "validationFailed");
            assert_eq!(said.pointers(), ["?endedAt"]);
        }
        let path = format!("{driver}/vehicles/{bus}?endedAt=soon");
        app.delete(&path, &org.dispatcher).await.problem(400, "invalidParameter");
        // From the given end on, the vehicle is free.
        app.delete(&format!("{driver}/vehicles/{bus}?endedAt={}", day(21)), &org.dispatcher).await.ok(204);
        let wish = json!({ "vehicleId": bus, "startedAt": day(21) });
        app.post(&format!("{driver}/assign-vehicle"), &org.dispatcher, wish).await.ok(200);
        app
    });
}

#[test]
fn a_history_is_cut_by_time_from_either_side() {
    on_each_engine(async |app| {
        let Past { org, driver, bus, assignments } = past(&app).await;
        for (query, expected) in [
            (String::new(), vec![2, 1, 0]),
            (format!("from={}", day(5)), vec![2, 1]),
            (format!("from={}", day(3)), vec![2, 1]), // the end is exclusive
            (format!("to={}", day(5)), vec![0]),
            (format!("from={}&to={}&state=past", day(2), day(6)), vec![1, 0]),
            (format!("from={}", day(12)), vec![]),
            ("state=current".to_owned(), vec![]),
        ] {
            let of_driver = listed(&app, &org, &format!("{driver}/vehicles?{query}")).await;
            let of_vehicle = listed(&app, &org, &format!("/v1/vehicles/{bus}/drivers?{query}")).await;
            let ids = |list: &[Value]| -> Vec<Value> { list.iter().map(|one| one["id"].clone()).collect() };
            let expected: Vec<Value> =
                expected.into_iter().map(|n: usize| assignments[n]["id"].clone()).collect();
            assert_eq!((ids(&of_driver), ids(&of_vehicle)), (expected.clone(), expected), "{query}");
        }
        let who = &listed(&app, &org, &format!("/v1/vehicles/{bus}/drivers")).await[0]["driver"];
        let id = driver.rsplit('/').next().unwrap();
        assert_eq!(who, &json!({ "id": id, "firstName": "Ana", "lastName": "Ruiz" }));
        app
    });
}

#[test]
fn an_org_admin_corrects_and_removes_a_past_assignment() {
    on_each_engine(async |app| {
        let Past { org, driver, bus, assignments } = past(&app).await;
        let path = |n: usize| format!("{driver}/vehicles/{bus}/assignments/{}", text(&assignments[n]["id"]));
        app.put(&path(1), &org.dispatcher, json!({})).await.problem(403, "forbidden");
        app.delete(&path(1), &org.dispatcher).await.problem(403, "forbidden");
        let mut read = assignments[1].clone();
        read.as_object_mut().unwrap().remove("vehicle");
        let said = app.put(&path(1), &org.org_admin, read).await;
        assert_eq!(said.ok(200)["updatedAt"], assignments[1]["updatedAt"], "what was read may be sent back");
        let corrected = app.put(&path(1), &org.org_admin, json!({ "startedAt": day(3) })).await.ok(200);
        assert_eq!(
            (&corrected["startedAt"], &corrected["endedAt"], &corrected["endReason"]),
            (&json!("2026-04-03T00:00:00.000Z"), &assignments[1]["endedAt"], &json!("unassigned"))
        );
        for (change, overlapped) in [
            (json!({ "startedAt": "2026-04-02T23:59:59.999Z" }), "2026-04-03T00:00:00"),
            (json!({ "endedAt": day(10) }), "2026-04-09T00:00:00"),
        ] {
            let said = app.put(&path(1), &org.org_admin, change).await.problem(409, "assignmentOverlaps");
            assert!(text(&said["detail"]).contains(overlapped), "{said}");
        }
        for (change, pointer) in [
            (json!({ "endedAt": day(2) }), "/endedAt"),
            (json!({ "endedAt": null }), "/endedAt"),
            (json!({ "startedAt": null }), "/startedAt"),
            (json!({ "endedAt": "2027-01-01T00:00:00Z" }), "/endedAt"),
            (json!({ "driverId": bus }), "/driverId"),
            (json!({ "ended": day(7) }), "/ended"),
        ] {
            let said = app.put(&path(1), &org.org_admin, change).await;
            said.problem(422, "validationFailed");
            assert_eq!(said.pointers(), [pointer]);
        }
        let bearer = format!("Bearer {}", org.org_admin);
        let headers = [("authorization", bearer.as_str()), ("if-match", "\"other\"")];
        app.send("DELETE", &path(2), &headers, "").await.problem(412, "preconditionFailed");
        app.delete(&path(2), &org.org_admin).await.ok(204);
        app.delete(&path(2), &org.org_admin).await.problem(404, "notFound");
        assert_eq!(listed(&app, &org, &format!("{driver}/vehicles")).await.len(), 2);
        // A removed assignment no longer conflicts with any other.
        app.put(&path(1), &org.org_admin, json!({ "endedAt": day(10) })).await.ok(200);
        let id = driver.rsplit('/').next().unwrap();
        let query = format!("/v1/audit?resourceId={id}&action=correctAssignment,removeAssignment");
        let told = app.get(&query, &org.org_admin).await.ok(200)["data"].as_array().unwrap().clone();
        let actions: Vec<&str> = told.iter().map(|entry| entry["action"].as_str().unwrap()).collect();
        assert_eq!(actions, ["correctAssignment", "removeAssignment", "correctAssignment"]);
        assert_eq!(
            (&told[2]["before"]["startedAt"], &told[2]["after"]["startedAt"]),
            (&assignments[1]["startedAt"], &corrected["startedAt"])
        );
        assert_eq!(told[1]["before"]["id"], assignments[2]["id"]);
        app
    });
}

#[test]
fn only_what_is_over_is_corrected_also_of_a_driver_who_is_gone() {
    on_each_engine(async |app| {
        let Past { org, driver, bus, assignments } = past(&app).await;
        let path = |id: &Value| format!("{driver}/vehicles/{bus}/assignments/{}", text(id));
        let wish = json!({ "vehicleId": bus });
        let open = app.post(&format!("{driver}/assign-vehicle"), &org.dispatcher, wish).await.ok(200);
        app.put(&path(&open["id"]), &org.org_admin, json!({})).await.problem(409, "invalidTransition");
        app.delete(&path(&open["id"]), &org.org_admin).await.problem(409, "invalidTransition");
        app.delete(&driver, &org.org_admin).await.ok(204);
        app.delete(&path(&open["id"]), &org.org_admin).await.ok(204);
        app.put(&path(&assignments[0]["id"]), &org.org_admin, json!({ "endedAt": day(2) })).await.ok(200);
        // Only with the right driver and vehicle.
        let van = app.post("/v1/vehicles", &org.org_admin, json!({ "name": "van" })).await.ok(201);
        let wrong = path(&assignments[0]["id"]).replace(&bus, &text(&van["id"]));
        app.delete(&wrong, &org.org_admin).await.problem(404, "notFound");
        app
    });
}

#[test]
fn records_name_who_is_known_to_have_driven_whenever_that_is_known() {
    on_each_engine(async |app| {
        let org = app.org("fleet").await;
        let mut depot = circle("Depot");
        depot["effectiveFrom"] = Value::Null;
        app.post("/v1/geofences", &org.org_admin, depot).await.ok(201);
        let body = json!({ "name": "bus", "tracker": { "uniqueId": "bus" } });
        let made_bus = app.post("/v1/vehicles", &org.org_admin, body).await.ok(201);
        let (bus, token) = (text(&made_bus["id"]), text(&made_bus["tracker"]["token"]));
        let ago = |seconds: f64| START.plus_seconds(-seconds);
        for (seconds, latitude) in [(3_600.0, 30.27), (1_800.0, 30.4)] {
            let fix =
                json!({ "recordedAt": ago(seconds).as_millis(), "latitude": latitude, "longitude": -97.74 });
            app.post("/v1/positions", &token, json!({ "items": [fix] })).await.ok(200);
        }
        let events = async || {
            let found = app.get("/v1/geofence-events?sort=occurredAt", &org.viewer).await.ok(200);
            let of = |event: &Value| {
                // What is found anew is found now: who asks for what was found since an instant is told of it.
                let is_new = event["revision"] == 1 || text(&event["detectedAt"]) > START.to_string();
                assert!(is_new, "{event}");
                (text(&event["type"]), event["driverId"].clone(), event["revision"].clone())
            };
            found["data"].as_array().unwrap().iter().map(of).collect::<Vec<_>>()
        };
        let said = |entry: (&Value, i64), exit: (&Value, i64)| {
            let event = |kind: &str, (driver, revision): (&Value, i64)| {
                (kind.to_owned(), driver.clone(), json!(revision))
            };
            vec![event("entry", entry), event("exit", exit)]
        };
        let nobody = Value::Null;
        assert_eq!(events().await, said((&nobody, 1), (&nobody, 1)));
        // Assigned for the past.
        app.pass(60);
        let driver = made(&app, &org.org_admin, driver("Ruiz", None)).await;
        let id = json!(driver.rsplit('/').next().unwrap());
        let wish = json!({ "vehicleId": bus, "startedAt": ago(7_200.0) });
        app.post(&format!("{driver}/assign-vehicle"), &org.dispatcher, wish).await.ok(200);
        eventually(ANSWER_WITHIN, async || events().await == said((&id, 2), (&id, 2))).await;
        // Ended for the past, between the two.
        let end = format!("{driver}/vehicles/{bus}?endedAt={}", ago(2_700.0));
        app.delete(&end, &org.dispatcher).await.ok(204);
        eventually(ANSWER_WITHIN, async || events().await == said((&id, 2), (&nobody, 3))).await;
        // Corrected, and removed.
        let assignment = listed(&app, &org, &format!("{driver}/vehicles")).await.remove(0);
        let path = format!("{driver}/vehicles/{bus}/assignments/{}", text(&assignment["id"]));
        let correction = json!({ "startedAt": ago(3_000.0), "endedAt": ago(1.0) });
        app.put(&path, &org.org_admin, correction).await.ok(200);
        eventually(ANSWER_WITHIN, async || events().await == said((&nobody, 3), (&id, 4))).await;
        app.delete(&path, &org.org_admin).await.ok(204);
        eventually(ANSWER_WITHIN, async || events().await == said((&nobody, 3), (&nobody, 5))).await;
        // Whoever follows the log by number has heard of each.
        let followed = app.get("/v1/geofence-events?sort=sequence&status=active", &org.viewer).await.ok(200);
        assert_eq!(followed["data"].as_array().unwrap().last().unwrap()["revision"], 5);
        app
    });
}
