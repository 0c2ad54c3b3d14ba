//! Who changed what is recorded, together with the change.

use serde_json::json;
use uuid::Uuid;
use waypost::store::time::Time;

use crate::harness::{App, PASSWORD, circle, on_each_engine, organization, text, with_app};

#[test]
fn a_change_is_remembered_with_who_what_when_and_the_request() {
    with_app(async |app| {
        let (org, other) = (app.org("careful").await, app.org("other").await);
        let bearer = format!("Bearer {}", org.org_admin);
        let headers = [
            ("content-type", "application/json"),
            ("authorization", bearer.as_str()),
            ("x-request-id", "req-7"),
        ];
        let made = app.send("POST", "/v1/geofences", &headers, circle("Depot").to_string()).await.ok(201);
        let path = format!("/v1/geofences/{}", text(&made["id"]));
        app.put(&path, &org.dispatcher, json!({ "name": "Yard" })).await.ok(200);
        app.put(&path, &org.dispatcher, json!({ "name": "Yard" })).await.ok(200); // changes nothing
        app.delete(&path, &org.org_admin).await.ok(204);
        let url = format!("/v1/audit?resource=geofence&resourceId={}", text(&made["id"]));
        let entries = app.get(&url, &org.org_admin).await.ok(200)["data"].as_array().unwrap().clone();
        let told: Vec<String> = entries.iter().map(|entry| text(&entry["action"])).collect();
        assert_eq!(told, ["delete", "update", "create"]);
        let [deleted, updated, created] = &entries[..] else { panic!("three") };
        assert_eq!((&created["requestId"], &created["actorRole"]), (&json!("req-7"), &json!("orgAdmin")));
        assert_eq!((&created["before"], &created["after"]["name"]), (&json!(null), &json!("Depot")));
        assert_eq!(
            (&updated["before"]["name"], &updated["after"]["name"]),
            (&json!("Depot"), &json!("Yard"))
        );
        assert_eq!(updated["after"].get("shape"), None, "only what changed");
        assert_eq!((&deleted["before"]["name"], &deleted["after"]), (&json!("Yard"), &json!(null)));
        // Paged, and without the entries of other organizations.
        let first = app.get(&format!("{url}&limit=1"), &org.org_admin).await.ok(200);
        let cursor = text(&first["pagination"]["endCursor"]);
        let rest = app.get(&format!("{url}&after={cursor}"), &org.org_admin).await.ok(200);
        assert_eq!(rest["data"].as_array().unwrap()[..], entries[1..]);
        assert_eq!(app.get(&url, &other.org_admin).await.ok(200)["data"], json!([]));
        app.get(&format!("/v1/audit?after={cursor}"), &other.org_admin).await.problem(400, "invalidCursor");
        app
    });
}

#[test]
fn a_refused_change_is_not_remembered_and_no_row_can_be_changed() {
    with_app(async |app| {
        let org = app.org("strict").await;
        let body =
            json!({ "name": "Bus", "plate": { "number": "A 1" }, "tracker": { "uniqueId": "imei-1" } });
        app.post("/v1/vehicles", &org.org_admin, body.clone()).await.ok(201);
        app.post("/v1/vehicles", &org.org_admin, body).await.problem(409, "plateTaken");
        let entries = app.get("/v1/audit?resource=vehicle", &org.org_admin).await.ok(200);
        assert_eq!(entries["data"].as_array().unwrap().len(), 1);
        assert!(!entries.to_string().contains("wpt_"));
        let changed = app.context.db.write().sql("update audit set actor_role = 'nobody'").run().await;
        assert!(changed.unwrap_err().to_string().contains("never changed"));
        app
    });
}

#[test]
fn a_time_leaves_out_no_entry_that_was_written_after_a_later_one() {
    on_each_engine(async |app| {
        let org = app.org("careful").await;
        let begin = app.context.clock.now().plus_seconds(86_400.0);
        // As of an import that takes five minutes, in which somebody edits something.
        let (import, edit) = (begin, begin.plus_seconds(240.0));
        for (id, at) in [(2_u128, edit), (3, import)] {
            let insert = "insert into audit (id, organization_id, actor_id, actor_role, action, resource, resource_id, occurred_at) \
                values ($1, $2, $3, 'orgAdmin', 'update', 'vehicle', $3, $4)";
            let newest = waypost::clock::new_id().as_u128() + (1 << 100) + id;
            let stmt = app.context.db.write().sql(insert).bind(Uuid::from_u128(newest));
            let stmt = stmt.bind(org.id.parse::<Uuid>().unwrap()).bind(Uuid::from_u128(9));
            stmt.bind(Time(at)).run().await.unwrap();
        }
        let of = async |query: String| {
            let path = format!("/v1/audit?resourceId={}&{query}", Uuid::from_u128(9));
            app.get(&path, &org.org_admin).await.ok(200)["data"].as_array().unwrap().len()
        };
        let (before, between) = (begin.plus_seconds(-3_600.0), begin.plus_seconds(120.0));
        for (query, expected) in [
            (format!("from={before}"), 2),
            (format!("from={before}&to={}", begin.plus_seconds(3_600.0)), 2),
            (format!("from={before}&to={between}"), 1),
            (format!("from={between}"), 1),
            (format!("to={between}"), 1),
        ] {
            assert_eq!(of(query.clone()).await, expected, "{query}");
        }
        app
    });
}

/// The entries of a resource, newest first: action and role.
async fn entries(app: &App, token: &str, query: &str) -> Vec<(String, String)> {
    let found = app.get(&format!("/v1/audit?{query}"), token).await.ok(200);
    let entries = found["data"].as_array().unwrap();
    entries.iter().map(|entry| (text(&entry["action"]), text(&entry["actorRole"]))).collect()
}

fn by(role: &str, actions: &[&str]) -> Vec<(String, String)> {
    actions.iter().map(|action| ((*action).to_owned(), role.to_owned())).collect()
}

#[test]
fn what_is_done_to_drivers_and_people_is_remembered() {
    with_app(async |app| {
        let org = app.org("careful").await;
        let token = &org.org_admin;
        let bus = app.post("/v1/vehicles", token, json!({ "name": "Bus" })).await.ok(201);
        let person = json!({ "firstName": "Ana", "lastName": "Ruiz", "lock": false });
        let id = text(&app.post("/v1/drivers", token, person).await.ok(201)["id"]);
        let path = format!("/v1/drivers/{id}");
        app.put(&path, token, json!({ "firstName": "Eva" })).await.ok(200);
        for _ in 0..2 {
            // The second changes nothing.
            app.post(&format!("{path}/lock"), token, json!({ "reason": "hired" })).await.ok(200);
            let wish = json!({ "vehicleId": bus["id"] });
            app.post(&format!("{path}/assign-vehicle"), token, wish).await.ok(200);
        }
        app.delete(&format!("{path}/vehicles/{}", text(&bus["id"])), token).await.ok(204);
        app.post(&format!("{path}/unlock"), token, json!({})).await.ok(200);
        app.delete(&path, token).await.ok(204);
        let told = entries(&app, token, &format!("resource=driver&resourceId={id}")).await;
        let actions = ["delete", "unlock", "unassign", "assign", "lock", "update", "create"];
        assert_eq!(told, by("orgAdmin", &actions));

        let person =
            json!({ "email": "eva@example.org", "firstName": "Eva", "lastName": "Ruiz", "role": "viewer" });
        let id = text(&app.post("/v1/users", token, person).await.ok(201)["id"]);
        app.put(&format!("/v1/users/{id}"), token, json!({ "role": "dispatcher" })).await.ok(200);
        app.post(&format!("/v1/users/{id}/invitation"), token, json!(null)).await.ok(200);
        let told = entries(&app, token, &format!("resource=user&resourceId={id}")).await;
        assert_eq!(told, by("orgAdmin", &["invite", "update", "create"]));
        app
    });
}

#[test]
fn what_the_links_of_letters_do_is_remembered() {
    with_app(async |app| {
        let org = app.org("careful").await;
        let person =
            json!({ "email": "eva@example.org", "firstName": "Eva", "lastName": "Ruiz", "role": "viewer" });
        let id = text(&app.post("/v1/users", &org.org_admin, person).await.ok(201)["id"]);
        let invite = app.link("eva@example.org", 1).await.replace("/invite/", "/v1/auth/accept-invite/");
        app.post(&invite, "", json!({ "password": PASSWORD })).await.ok(200);
        app.post("/v1/auth/forgot-password", "", json!({ "email": "eva@example.org" })).await.ok(202);
        let reset = app.link("eva@example.org", 2).await.replace("/reset/", "/v1/auth/reset-password/");
        let said = app.post(&reset, "", json!({ "password": "another horse battery" })).await;
        said.ok(204);
        // A link that was already used does nothing, and nothing is recorded of it.
        app.post(&reset, "", json!({ "password": PASSWORD })).await.problem(410, "linkUsed");
        let query = format!("resource=user&resourceId={id}");
        let told = entries(&app, &org.org_admin, &query).await;
        assert_eq!(told[..2], by("anonymous", &["resetPassword", "acceptInvite"]));
        let found = app.get(&format!("/v1/audit?{query}"), &org.org_admin).await.ok(200);
        let (reset, accepted) = (&found["data"][0], &found["data"][1]);
        assert_eq!(reset["requestId"].as_str(), said.header("x-request-id"));
        assert!(reset["before"].is_null() && reset["after"].is_null(), "{reset}");
        assert_eq!(
            (&accepted["before"], &accepted["after"]),
            (&json!({ "status": "invited" }), &json!({ "status": "active" }))
        );

        let (id, _) = app.system_user(&org.org_admin, &[]).await;
        let told = entries(&app, &org.org_admin, &format!("resource=systemUser&resourceId={id}")).await;
        assert_eq!(told[0], ("signIn".to_owned(), "system".to_owned()));
        assert_eq!(told[1], ("verifyEmail".to_owned(), "anonymous".to_owned()));
        app
    });
}

#[test]
fn a_sign_up_is_remembered_without_an_actor() {
    with_app(async |app| {
        let made = app.post("/v1/organizations", "", organization("strangers")).await.ok(201);
        let page = app.link("strangers@example.org", 1).await;
        app.post(&page.replace("/activate/", "/v1/organizations/verify-email/"), "", json!(null))
            .await
            .ok(200);
        let named = format!("organizationId={}", text(&made["id"]));
        let told = entries(&app, &app.root, &format!("resource=organization&{named}")).await;
        assert_eq!(told, by("anonymous", &["update", "create"]));
        // Its first orgAdmin was created with it.
        let told = entries(&app, &app.root, &format!("resource=user&{named}")).await;
        assert_eq!(told, by("anonymous", &["create"]));
        let path = format!("/v1/organizations/organization/{}", text(&made["id"]));
        app.put(&path, &app.root, json!({ "status": "inactive" })).await.ok(200);
        app.put(&path, &app.root, json!({ "status": "active" })).await.ok(200);
        let told = entries(&app, &app.root, &format!("resource=organization&action=update&{named}")).await;
        assert_eq!(told[..2], by("superAdmin", &["update", "update"]));
        app
    });
}
