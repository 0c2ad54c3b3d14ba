//! What a subscription allows: requests are counted one after another, however many come at once.

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::harness::{App, Org, START, Said, circle, on_each_engine, organization, text, with_app};

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
fn when_the_period_is_over_only_operators_change_anything() {
    on_each_engine(async |app| {
        let org = app.org("due").await;
        let made = app.post("/v1/vehicles", &org.org_admin, body("vehicles", 1)).await.ok(201);
        let path = format!("/v1/organizations/organization/{}", org.id);
        let until = |seconds: f64| START.plus_seconds(seconds).to_string();
        let period = |end: Value| json!({ "subscription": { "periodEnd": end } });
        app.put(&path, &app.root, period(json!(until(60.0)))).await.ok(200);
        app.pass(59);
        app.post("/v1/vehicles", &org.org_admin, body("vehicles", 2)).await.ok(201);
        app.pass(1);
        let refused = app.post("/v1/vehicles", &org.org_admin, body("vehicles", 3)).await;
        refused.problem(403, "subscriptionInactive");
        let vehicle = format!("/v1/vehicles/{}", text(&made["id"]));
        app.delete(&vehicle, &org.org_admin).await.problem(403, "subscriptionInactive");
        app.put(&path, &org.org_admin, json!({ "name": "New" })).await.problem(403, "subscriptionInactive");
        // a caller who may not do it at all is refused for that, and everyone may still edit their own profile
        app.post("/v1/vehicles", &org.viewer, body("vehicles", 3)).await.problem(403, "forbidden");
        let me = text(&app.get("/v1/auth/me", &org.org_admin).await.ok(200)["id"]);
        app.put(&format!("/v1/users/{me}"), &org.org_admin, json!({ "phone": "+49 30 1234" })).await.ok(200);
        app.get(&vehicle, &org.viewer).await.ok(200);
        let mut third = body("vehicles", 3);
        third["organizationId"] = json!(org.id);
        app.post("/v1/vehicles", &app.root, third).await.ok(201);
        app.put(&path, &app.root, period(Value::Null)).await.ok(200);
        app.post("/v1/vehicles", &org.org_admin, body("vehicles", 4)).await.ok(201);
        app
    });
}

#[test]
fn lists_and_the_answer_of_a_new_organization_count_too() {
    on_each_engine(async |app| {
        let made = app.post("/v1/organizations", "", organization("counted")).await.ok(201);
        let one = json!({ "vehicles": 0, "drivers": 0, "users": 1, "geofences": 0 });
        assert_eq!(made["subscription"]["usage"], one);
        let org = app.org("busy").await;
        app.post("/v1/vehicles", &org.org_admin, body("vehicles", 1)).await.ok(201);
        app.post("/v1/geofences", &org.org_admin, body("geofences", 1)).await.ok(201);
        let path = format!("/v1/organizations/organization/{}", org.id);
        let alone = app.get(&path, &org.viewer).await.ok(200);
        let listed = app.get("/v1/organizations", &org.viewer).await.ok(200)["data"].clone();
        assert_eq!(listed, json!([alone]));
        assert_eq!(alone["subscription"]["usage"]["vehicles"], 1);
        let all = app.get("/v1/organizations/all?sort=-createdAt", &app.root).await.ok(200)["data"].clone();
        assert_eq!(all[0]["subscription"]["usage"], alone["subscription"]["usage"]);
        assert_eq!(all[1]["subscription"]["usage"], one);
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
