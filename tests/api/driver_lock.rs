//! The lock of a driver has one holder at a time, even if two come at the same instant.

use futures_util::future::join;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::drivers::{driver, made, offered};
use crate::harness::{App, Said, on_each_engine, on_postgres, text, waits_for_first};

/// The number of times that two requests come at once.
const ROUNDS: usize = 200;

/// The winner's place among two answers, of which one must be 200 and one a 409 with a code.
#[track_caller]
fn winner(said: &(Said, Said), codes: &[&str]) -> usize {
    let (won, lost, place) = if said.0.status == 200 { (&said.0, &said.1, 0) } else { (&said.1, &said.0, 1) };
    assert_eq!((won.status, lost.status), (200, 409), "{} {}", won.body, lost.body);
    let code = lost.body["code"].as_str().unwrap();
    assert!(codes.contains(&code), "{}", lost.body);
    place
}

async fn vehicle(app: &App, token: &str, name: &str) -> Value {
    json!({ "vehicleId": app.post("/v1/vehicles", token, json!({ "name": name })).await.ok(201)["id"] })
}

#[test]
fn of_two_organizations_that_lock_at_once_one_gets_the_driver() {
    on_each_engine(async |app| {
        let (maker, one, two) = (app.org("maker").await, app.org("one").await, app.org("two").await);
        let path = made(&app, &maker.org_admin, offered("Ruiz", Some("L1"))).await;
        let (lock, unlock) = (format!("{path}/lock"), format!("{path}/unlock"));
        let tokens = [&one.org_admin, &two.org_admin];
        let mut wins = [0, 0];
        for round in 0..ROUNDS {
            // Each begins as often as the other.
            let (first, second) = (tokens[round % 2], tokens[1 - round % 2]);
            let said = join(app.post(&lock, first, json!({})), app.post(&lock, second, json!({}))).await;
            let place = (winner(&said, &["driverLocked"]) + round) % 2;
            wins[place] += 1;
            app.post(&lock, tokens[place], json!({ "reason": "again" })).await.ok(200);
            let lost = app.get(&path, tokens[1 - place]).await;
            assert!(lost.status == 404 || lost.ok(200)["kept"] == false, "{}", lost.body);
            app.post(&unlock, tokens[place], json!({})).await.ok(200);
        }
        assert_eq!(wins[0] + wins[1], ROUNDS);
        app
    });
}

#[test]
fn a_lock_and_an_assignment_at_once_leave_one_of_them() {
    on_each_engine(async |app| {
        let (maker, other) = (app.org("maker").await, app.org("other").await);
        let path = made(&app, &maker.org_admin, offered("Ruiz", Some("L1"))).await;
        let wish = vehicle(&app, &maker.org_admin, "bus").await;
        let (lock, unlock, assign) =
            (format!("{path}/lock"), format!("{path}/unlock"), format!("{path}/assign-vehicle"));
        for _ in 0..ROUNDS / 4 {
            let said = join(
                app.post(&lock, &other.org_admin, json!({})),
                app.post(&assign, &maker.dispatcher, wish.clone()),
            )
            .await;
            if winner(&said, &["driverLocked", "driverAssignedElsewhere"]) == 0 {
                app.post(&unlock, &other.org_admin, json!({})).await.ok(200);
            } else {
                app.post(&lock, &other.org_admin, json!({})).await.problem(409, "driverAssignedElsewhere");
                let pair = format!("{path}/vehicles/{}", text(&wish["vehicleId"]));
                app.delete(&pair, &maker.dispatcher).await.ok(204);
            }
        }
        app
    });
}

#[test]
fn one_licence_entered_twice_at_once_makes_one_driver() {
    on_each_engine(async |app| {
        let (one, two) = (app.org("one").await, app.org("two").await);
        for round in 0..ROUNDS / 4 {
            let number = format!("L{round}");
            let body = || offered("Ruiz", Some(&number));
            let (a, b) = join(
                app.post("/v1/drivers", &one.org_admin, body()),
                app.post("/v1/drivers", &two.org_admin, body()),
            )
            .await;
            let mut statuses = [a.status, b.status];
            statuses.sort_unstable();
            assert_eq!(statuses, [201, 409], "{} {}", a.body, b.body);
        }
        app
    });
}

#[test]
fn a_lock_is_idempotent_and_unlocking_ends_what_the_driver_drives() {
    on_each_engine(async |app| {
        let (maker, other) = (app.org("maker").await, app.org("other").await);
        let path = made(&app, &maker.org_admin, offered("Ruiz", Some("L1"))).await;
        let (lock, unlock) = (format!("{path}/lock"), format!("{path}/unlock"));
        let free = app.post(&unlock, &maker.org_admin, json!({})).await.ok(200);
        assert_eq!(free["lock"], json!({ "locked": false }), "free already is as good");
        let bearer = format!("Bearer {}", other.org_admin);
        let held = app.send("POST", &lock, &[("authorization", bearer.as_str())], "").await.ok(200);
        let again = app.post(&lock, &other.org_admin, json!({ "reason": "late" })).await.ok(200);
        assert_eq!(again, held, "held already is as good");
        app.post(&lock, &maker.org_admin, json!({})).await.problem(409, "driverLocked");
        let wish = vehicle(&app, &other.org_admin, "bus").await;
        app.post(&format!("{path}/assign-vehicle"), &maker.dispatcher, wish.clone())
            .await
            .problem(409, "driverLocked");
        app.post(&format!("{path}/assign-vehicle"), &other.dispatcher, wish.clone()).await.ok(200);
        app.post(&unlock, &other.org_admin, json!({})).await.ok(200);
        let vehicle = format!("/v1/vehicles/{}", text(&wish["vehicleId"]));
        assert_eq!(app.get(&vehicle, &other.viewer).await.ok(200).get("driver"), None);
        app.post(&lock, &other.org_admin, json!({})).await.ok(200);
        let past = app.get(&format!("{path}/vehicles?state=past"), &other.viewer).await.ok(200);
        assert_eq!(
            (&past["data"][0]["endReason"], past["data"].as_array().unwrap().len()),
            (&json!("driverUnlocked"), 1)
        );
        let seen = app.get(&format!("{path}/vehicles"), &maker.viewer).await.ok(200);
        assert_eq!(seen["data"], json!([]), "what the driver drove for the holder is the holder's to know");
        for body in [json!({ "reason": "" }), json!({ "reason": 7 }), json!({ "resaon": "x" }), json!([])] {
            app.post(&lock, &other.org_admin, body).await.problem(422, "validationFailed");
        }
        app.post(&unlock, &other.org_admin, json!({ "reason": "x" })).await.problem(422, "validationFailed");
        app
    });
}

#[test]
fn the_creator_keeps_its_own_history_of_a_driver_whom_another_holds() {
    on_each_engine(async |app| {
        let (maker, other) = (app.org("maker").await, app.org("other").await);
        let path = made(&app, &maker.org_admin, offered("Ruiz", Some("L1"))).await;
        let wish = vehicle(&app, &maker.org_admin, "bus").await;
        app.post(&format!("{path}/assign-vehicle"), &maker.dispatcher, wish.clone()).await.ok(200);
        app.post(&format!("{path}/lock"), &other.org_admin, json!({}))
            .await
            .problem(409, "driverAssignedElsewhere");
        app.delete(&format!("{path}/vehicles/{}", text(&wish["vehicleId"])), &maker.dispatcher).await.ok(204);
        app.post(&format!("{path}/lock"), &other.org_admin, json!({})).await.ok(200);
        let own = app.get(&format!("{path}/vehicles"), &maker.viewer).await.ok(200);
        assert_eq!(own["data"][0]["vehicle"]["name"], "bus");
        let foreign = app.get(&format!("{path}/vehicles"), &other.viewer).await.ok(200);
        assert_eq!(
            foreign["data"],
            json!([]),
            "what the driver drove for the creator is the creator's to know"
        );
        app
    });
}

#[test]
fn an_organization_that_is_deleted_lets_its_drivers_go() {
    on_each_engine(async |app| {
        let (maker, other, third) = (app.org("maker").await, app.org("other").await, app.org("third").await);
        let path = made(&app, &maker.org_admin, offered("Ruiz", Some("L1"))).await;
        app.post(&format!("{path}/lock"), &other.org_admin, json!({})).await.ok(200);
        let wish = vehicle(&app, &other.org_admin, "bus").await;
        app.post(&format!("{path}/assign-vehicle"), &other.dispatcher, wish).await.ok(200);
        made(&app, &other.org_admin, driver("Known to nobody else", Some("L2"))).await;
        app.delete(&format!("/v1/organizations/organization/{}", other.id), &app.root).await.ok(204);
        let free = app.get(&path, &maker.viewer).await.ok(200);
        assert_eq!((&free["lock"], &free["kept"]), (&json!({ "locked": false }), &json!(true)));
        let id = path.rsplit('/').next().unwrap();
        let told = app.get(&format!("/v1/audit?resourceId={id}&limit=1"), &maker.org_admin).await.ok(200);
        assert_eq!(told["data"][0]["action"], "delete", "its profile, and its lock with it");
        app.post(&format!("{path}/lock"), &third.org_admin, json!({})).await.ok(200);
        made(&app, &third.org_admin, driver("Entered anew", Some("L2"))).await;
        app
    });
}

#[test]
fn an_organization_that_is_deleted_waits_for_its_drivers_before_its_vehicles() {
    on_postgres(async |app| {
        let db = &app.context.db;
        let org = app.org("own").await;
        let path = made(&app, &org.org_admin, offered("Ruiz", Some("L1"))).await;
        let wish = vehicle(&app, &org.org_admin, "bus").await;
        let driver: Uuid = path.rsplit('/').next().unwrap().parse().unwrap();
        let bus: Uuid = text(&wish["vehicleId"]).parse().unwrap();
        let lock = "update driver set updated_at = updated_at where id = $1";
        let free = "select count(*) from (select id from vehicle where id = $1 for update nowait) as v";
        let organization = format!("/v1/organizations/organization/{}", org.id);
        let deletion = app.delete(&organization, &app.root);
        waits_for_first(db, (lock, driver), (free, bus), deletion).await.ok(204);
        app
    });
}

#[test]
fn whether_another_organization_holds_a_driver_is_not_told_of_a_deleted_profile() {
    on_each_engine(async |app| {
        let (maker, other) = (app.org("maker").await, app.org("other").await);
        let path = made(&app, &maker.org_admin, offered("Ruiz", Some("L1"))).await;
        app.post(&format!("{path}/lock"), &other.org_admin, json!({})).await.ok(200);
        app.delete(&path, &maker.org_admin).await.ok(204);
        let gone = app.get(&format!("{path}?includeDeleted=true"), &maker.viewer).await.ok(200);
        assert_eq!(gone["lock"], json!({ "locked": false }));
        for (locked, listed) in [(true, 0), (false, 1)] {
            let path = format!("/v1/drivers?includeDeleted=true&locked={locked}");
            let found = app.get(&path, &maker.viewer).await.ok(200);
            assert_eq!(found["data"].as_array().unwrap().len(), listed, "locked={locked}");
        }
        app
    });
}
