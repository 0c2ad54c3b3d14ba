//! What a subscription allows: counted one after another, however many ask at once.

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::harness::{App, Org, Said, circle, text, with_app};

async fn limit(app: &App, org: &Org, what: &str, most: Value) {
    let path = format!("/v1/organizations/organization/{}", org.id);
    let body = json!({ "subscription": { "limits": { what: most } } });
    app.put(&path, &app.root, body).await.ok(200);
}

async fn usage(app: &App, org: &Org, what: &str) -> i64 {
    let path = format!("/v1/organizations/organization/{}", org.id);
    app.get(&path, &org.viewer).await.ok(200)["subscription"]["usage"][what].as_i64().unwrap()
}

fn body(what: &str, number: usize) -> Value {
    match what {
        "vehicles" => json!({ "name": format!("Bus {number}") }),
        "geofences" => circle(&format!("Depot {number}")),
        _ => json!({ "email": format!("user-{number}@example.org"), "firstName": "A", "lastName": "B",
            "role": "viewer" }),
    }
}

#[test]
fn of_many_at_once_only_so_many_pass() {
    with_app(async |app| {
        let org = app.org("small").await;
        for what in ["vehicles", "geofences", "users"] {
            let before = usage(&app, &org, what).await;
            limit(&app, &org, what, json!(before + 2)).await;
            let path = format!("/v1/{what}");
            let asked = (0..8).map(|number| app.post(&path, &org.org_admin, body(what, number)));
            let said: Vec<Said> = join_all(asked).await;
            let made = said.iter().filter(|said| said.status == 201).count();
            assert_eq!(made, 2, "{what}");
            for refused in said.iter().filter(|said| said.status != 201) {
                let problem = refused.problem(403, "planLimitReached");
                assert!(text(&problem["detail"]).contains(what), "{problem}");
            }
            assert_eq!(usage(&app, &org, what).await, before + 2);
            limit(&app, &org, what, Value::Null).await;
            app.post(&path, &org.org_admin, body(what, 9)).await.ok(201);
        }
        app
    });
}

#[test]
fn disabled_users_take_no_place_and_get_one_only_if_there_is_one() {
    with_app(async |app| {
        let org = app.org("small").await;
        let made = app.post("/v1/users", &org.org_admin, body("users", 1)).await.ok(201);
        let before = usage(&app, &org, "users").await;
        limit(&app, &org, "users", json!(before)).await;
        app.post("/v1/users", &org.org_admin, body("users", 2)).await.problem(403, "planLimitReached");
        let path = format!("/v1/users/{}", text(&made["id"]));
        app.put(&path, &org.org_admin, json!({ "status": "disabled" })).await.ok(200);
        assert_eq!(usage(&app, &org, "users").await, before - 1);
        app.post("/v1/users", &org.org_admin, body("users", 2)).await.ok(201);
        app.put(&path, &org.org_admin, json!({ "status": "invited" })).await.problem(403, "planLimitReached");
        app
    });
}

#[test]
fn a_period_ends_after_it_begins() {
    with_app(async |app| {
        let org = app.org("timely").await;
        let path = format!("/v1/organizations/organization/{}", org.id);
        let body = json!({ "subscription": { "periodStart": "2026-05-01T00:00:00Z", "periodEnd": "2026-05-01T00:00:00Z",
            "limits": { "vehicles": -1 } } });
        let said = app.put(&path, &app.root, body).await;
        said.problem(422, "validationFailed");
        assert_eq!(said.pointers(), ["/subscription/periodEnd", "/subscription/limits/vehicles"]);
        app
    });
}
