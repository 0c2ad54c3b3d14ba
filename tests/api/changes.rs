//! The log of changes of master data: whoever follows it hears of each thing what GET gives, and of nothing else.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use waypost_test_support::eventually;

use crate::drivers::{made, offered};
use crate::feed_rights::{hear, subscribe};
use crate::harness::{App, Org, circle, on_each_engine, text};
use crate::matrix::{principals, world};
use crate::sockets::opened;

/// Everything that a caller is told, from a cursor on, and the cursor at its end.
pub(crate) async fn told(app: &App, token: &str, query: &str, after: Option<&str>) -> (Vec<Value>, String) {
    let (mut changes, mut after) = (Vec::new(), after.map(str::to_owned));
    loop {
        let cursor = after.as_ref().map(|after| format!("&after={after}")).unwrap_or_default();
        let slice = app.get(&format!("/v1/changes?limit=7{query}{cursor}"), token).await.ok(200);
        changes.extend(slice["data"].as_array().unwrap().clone());
        let end = text(&slice["pagination"]["endCursor"]);
        if slice["pagination"]["hasNextPage"] == false {
            return (changes, end);
        }
        after = Some(end);
    }
}

/// Waits until what was done so far has its numbers.
async fn numbered(app: &App, org: &Org) {
    let marker = text(&app.post("/v1/geofences", &org.dispatcher, circle("Marker")).await.ok(201)["id"]);
    eventually(Duration::from_secs(30), async || {
        let (changes, _) = told(app, &app.root, "&resource=geofence", None).await;
        changes.iter().any(|change| change["resourceId"] == json!(marker)).then_some(())
    })
    .await;
}

/// The routes that give what was changed, alone or in a list, for somebody who names the organization.
pub(crate) fn routes(change: &Value, organization: bool) -> Vec<String> {
    let named = change["organizationId"].as_str().filter(|_| organization);
    let named = named.map(|id| format!("&organizationId={id}")).unwrap_or_default();
    let listed = match change["resource"].as_str().unwrap() {
        "user" => Some("/v1/users".to_owned()),
        "apiKey" => {
            change["data"]["systemUserId"].as_str().map(|user| format!("/v1/system-users/{user}/keys"))
        }
        _ => None,
    };
    let listed = listed.map(|path| format!("{path}?limit=200{named}"));
    route(change, organization).into_iter().chain(listed).collect()
}

/// What one of the routes gives to a caller of what was changed.
pub(crate) async fn given(app: &App, token: &str, routes: &[String], id: &Value) -> Option<Value> {
    for route in routes {
        let answer = app.get(route, token).await;
        if answer.status == 200 {
            let Some(listed) = answer.body["data"].as_array() else { return Some(answer.body) };
            return listed.iter().find(|one| one["id"] == *id).cloned();
        }
    }
    None
}

/// The route that gives what was changed alone, for somebody who names the organization.
fn route(change: &Value, organization: bool) -> Option<String> {
    let id = change["resourceId"].as_str().unwrap();
    let path = match change["resource"].as_str().unwrap() {
        "organization" => return Some(format!("/v1/organizations/organization/{id}")),
        "systemUser" => format!("/v1/system-users/{id}"),
        "assignment" | "apiKey" => return None,
        kind => format!("/v1/{kind}s/{id}"),
    };
    let named = change["organizationId"].as_str().filter(|_| organization);
    let include = if path.starts_with("/v1/vehicles") { "include=none" } else { "" };
    Some(format!("{path}?{include}{}", named.map(|id| format!("&organizationId={id}")).unwrap_or_default()))
}

/// One of every change that an organization's people make.
async fn work(app: &App, org: &Org, guest: &Org, name: &str) {
    let token = &org.org_admin;
    let made_at = async |path: &str, body: Value| {
        format!("{path}/{}", text(&app.post(path, token, body).await.ok(201)["id"]))
    };
    for (path, body, change) in [
        ("/v1/geofences", circle("Yard"), json!({ "name": "Yard 2" })),
        (
            "/v1/vehicles",
            json!({ "name": "Bus", "tracker": { "uniqueId": format!("{name}-1") } }),
            json!({ "color": "red" }),
        ),
        ("/v1/trackers", json!({ "uniqueId": format!("{name}-2") }), json!({ "model": "X" })),
        (
            "/v1/system-users",
            json!({ "name": "Robot", "email": format!("{name}-r@example.org"),
            "password": "correct horse battery", "scopes": ["events:read", "vehicles:read"] }),
            json!({ "name": "Robot 2", "scopes": ["events:read"] }),
        ),
    ] {
        for gone in [false, true] {
            let mut body = body.clone();
            for member in ["email", "uniqueId"] {
                if let Some(value) = body.get(member) {
                    body[member] = json!(format!("{gone}-{}", text(value)));
                }
            }
            if let Some(tracker) = body.get_mut("tracker") {
                tracker["uniqueId"] = json!(format!("{name}-{gone}"));
            }
            let path = made_at(path, body).await;
            if path.starts_with("/v1/system-users") {
                // It loses one of its scopes with the system user.
                let key = json!({ "name": "K", "scopes": ["events:read", "vehicles:read"] });
                app.post(&format!("{path}/keys"), token, key).await.ok(201);
            }
            app.put(&path, token, change.clone()).await.ok(200);
            if gone {
                app.delete(&path, token).await.ok(204);
            }
        }
    }
    let person = json!({ "email": format!("{name}-p@example.org"), "firstName": "A", "lastName": "B", "role": "viewer" });
    let user = made_at("/v1/users", person).await;
    app.put(&user, token, json!({ "lastName": "C" })).await.ok(200);
    let path = format!("/v1/organizations/organization/{}", org.id);
    app.put(&path, token, json!({ "settings": { "units": "imperial" } })).await.ok(200);
    // A driver of whom another organization has a profile too.
    let driver = made(app, &guest.org_admin, offered("Ruiz", None)).await;
    app.post(&format!("{driver}/lock"), token, json!({})).await.ok(200);
    app.put(&driver, token, json!({ "firstName": "Eva" })).await.ok(200);
    let vehicle = text(&app.post("/v1/vehicles", token, json!({ "name": "Van" })).await.ok(201)["id"]);
    let assign = format!("{driver}/assign-vehicle");
    app.post(&assign, &org.dispatcher, json!({ "vehicleId": vehicle })).await.ok(200);
    app.delete(&format!("{driver}/vehicles/{vehicle}"), &org.dispatcher).await.ok(204);
    app.post(&assign, &org.dispatcher, json!({ "vehicleId": vehicle })).await.ok(200);
    app.post(&format!("{driver}/unlock"), token, json!({})).await.ok(200);
}

/// Who may list people or keys is told of them, and nobody else.
async fn lists_are_told(app: &App, org: &Org) {
    // A dispatcher may list people, and not ask for one by its id.
    let (of_people, _) = told(app, &org.dispatcher, "&resource=user", None).await;
    assert!(of_people.iter().any(|change| change["data"]["lastName"] == "C"), "{of_people:?}");
    assert_eq!(told(app, &org.viewer, "&resource=user,apiKey", None).await.0, Vec::<Value>::new());
    let (of_keys, _) = told(app, &org.org_admin, "&resource=apiKey", None).await;
    let seen = of_keys.iter().map(|change| text(&change["kind"])).collect::<Vec<_>>().join(" ");
    assert_eq!(seen, "created updated deleted", "{of_keys:?}");
    let is_shown =
        |change: &Value| change["data"].is_null() || change["data"]["scopes"] == json!(["events:read"]);
    assert!(of_keys.iter().all(is_shown) && !json!(of_keys).to_string().contains("token"), "{of_keys:?}");
}

#[test]
fn everybody_hears_of_what_get_gives_them_as_get_gives_it_and_of_nothing_else() {
    on_each_engine(async |app| {
        let own = world(&app, "own").await;
        let (first, second) = (app.org("first").await, app.org("second").await);
        work(&app, &first, &second, "first").await;
        let principals = principals(&app, &own).await;
        numbered(&app, &first).await;
        let (all, _) = told(&app, &app.root, "", None).await;
        let numbers: Vec<i64> = all.iter().map(|change| change["sequence"].as_i64().unwrap()).collect();
        assert!(numbers.is_sorted() && numbers.len() > 40, "{numbers:?}");
        for kind in
            "organization vehicle tracker geofence driver user systemUser apiKey assignment".split(' ')
        {
            assert!(all.iter().any(|change| change["resource"] == kind), "no {kind}");
        }
        let (mut wrong, mut heard_by) = (Vec::new(), 0);
        let others = [&first, &second].into_iter().flat_map(|org| {
            [("orgAdmin", &org.org_admin), ("dispatcher", &org.dispatcher), ("viewer", &org.viewer)]
                .map(|(role, token)| (format!("{role} of {}", org.id), token.clone(), Some(org.id.clone())))
        });
        let everybody: Vec<_> = principals
            .iter()
            .map(|principal| {
                let organization = (!principal.is_operator).then(|| own.organization.clone());
                (principal.name.clone(), principal.token.clone(), organization)
            })
            .chain(others)
            .collect();
        for (name, token, organization) in everybody {
            let first_page = app.get("/v1/changes", &token).await;
            if first_page.status != 200 {
                let is_program = name.starts_with("system user") || name.starts_with("key with");
                assert!(["anonymous", "tracker"].contains(&name.as_str()) || is_program, "{name}");
                continue;
            }
            heard_by += 1;
            let (changes, _) = told(&app, &token, "", None).await;
            let heard: BTreeMap<i64, &Value> =
                changes.iter().map(|change| (change["sequence"].as_i64().unwrap(), change)).collect();
            let mut known: BTreeMap<Vec<String>, Option<Value>> = BTreeMap::new();
            for change in &all {
                let said = heard.get(&change["sequence"].as_i64().unwrap());
                let is_foreign =
                    organization.as_ref().is_some_and(|own| change["organizationId"] != json!(own));
                if is_foreign {
                    wrong.extend(said.map(|said| format!("{name} hears {said}")));
                    continue;
                }
                let routes = routes(change, organization.is_none());
                if routes.is_empty() || change["kind"] == "deleted" {
                    continue;
                }
                let of = [&routes[..], &[text(&change["resourceId"])]].concat();
                if !known.contains_key(&of) {
                    let given = given(&app, &token, &routes, &change["resourceId"]).await;
                    known.insert(of.clone(), given);
                }
                match (said, &known[&of]) {
                    (None, None) => {}
                    (Some(said), Some(given)) if said["data"] == *given => {}
                    (said, given) => wrong.push(format!("{name}, {routes:?}: {said:?} and not {given:?}")),
                }
            }
        }
        assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
        assert!(heard_by > 12, "{heard_by}");
        lists_are_told(&app, &first).await;
        // Of what is gone only its own people hear, and only of a kind that they may see.
        let gone = async |token: &str| {
            let (changes, _) = told(&app, token, "", None).await;
            let gone = changes.into_iter().filter(|change| change["kind"] == "deleted");
            gone.map(|change| text(&change["resource"])).collect::<Vec<_>>()
        };
        assert_eq!(gone(&first.org_admin).await, ["geofence", "vehicle", "tracker", "apiKey", "systemUser"]);
        assert_eq!(gone(&first.dispatcher).await, ["geofence", "vehicle", "tracker"]);
        assert_eq!(gone(&first.viewer).await, ["geofence", "vehicle", "tracker"]);
        assert_eq!(gone(&second.org_admin).await, Vec::<String>::new());
        app
    });
}

#[test]
fn an_edit_of_the_person_is_told_to_every_organization_with_a_profile() {
    on_each_engine(async |app| {
        let (creator, keeper) = (app.org("creator").await, app.org("keeper").await);
        let driver = made(&app, &creator.org_admin, offered("Ruiz", None)).await;
        app.post(&format!("{driver}/lock"), &keeper.org_admin, json!({})).await.ok(200);
        numbered(&app, &creator).await;
        let (_, cursor) = told(&app, &creator.viewer, "", None).await;
        app.put(&driver, &keeper.org_admin, json!({ "firstName": "Eva", "phone": "+49 1" })).await.ok(200);
        numbered(&app, &creator).await;
        let (changes, _) = told(&app, &creator.viewer, "&resource=driver", Some(&cursor)).await;
        let [change] = &changes[..] else { panic!("{changes:?}") };
        assert_eq!((&change["kind"], &change["data"]["firstName"]), (&json!("updated"), &json!("Eva")));
        assert_eq!(change["data"].get("phone"), None, "what another organization wrote does not travel");
        app
    });
}

#[test]
fn a_dispatcher_hears_what_another_does_and_after_a_break_what_was_missed_once() {
    on_each_engine(async |app| {
        let (org, other) = (app.org("busy").await, app.org("other").await);
        let mut socket = opened(&app, "/v1/ws/live", &org.viewer).await.unwrap();
        subscribe(&mut socket, &["changes"], json!({})).await;
        // Changes of what the test began with may come first: they are numbered after they were answered.
        let heard = async |socket: &mut _| loop {
            let said = hear(socket, &["change", "closed"]).await;
            let change = &said["change"];
            if change["resource"] == "organization" {
                continue;
            }
            let named = [&change["resource"], &change["kind"], &change["data"]["name"]].map(text);
            break (named.join(" "), text(&change["resourceId"]), said["cursor"].clone());
        };
        let fence = text(&app.post("/v1/geofences", &org.dispatcher, circle("Yard")).await.ok(201)["id"]);
        app.post("/v1/geofences", &other.dispatcher, circle("Theirs")).await.ok(201);
        let (said, id, cursor) = heard(&mut socket).await;
        assert_eq!((said.as_str(), &id), ("geofence created Yard", &fence));
        drop(socket);
        let path = format!("/v1/geofences/{fence}");
        app.put(&path, &org.dispatcher, json!({ "name": "Court" })).await.ok(200);
        app.post("/v1/vehicles", &org.org_admin, json!({ "name": "Bus" })).await.ok(201);
        let mut socket = opened(&app, "/v1/ws/live", &org.viewer).await.unwrap();
        let ask =
            json!({ "type": "subscribe", "id": "a", "topics": ["changes", "events"], "cursor": cursor });
        crate::sockets::say(&mut socket, &ask).await;
        assert_eq!(hear(&mut socket, &["subscribed"]).await["mode"], "resumed");
        assert_eq!(heard(&mut socket).await.0, "geofence updated Court");
        let (said, _, cursor) = heard(&mut socket).await;
        assert_eq!(said, "vehicle created Bus");
        app.delete(&path, &org.dispatcher).await.ok(204);
        let gone = hear(&mut socket, &["change"]).await;
        assert_eq!(
            (&gone["change"]["kind"], &gone["change"]["resourceId"], gone["change"].get("data")),
            (&json!("deleted"), &json!(fence), Some(&Value::Null))
        );
        // A poller goes on from the socket's cursor.
        let (changes, _) = told(&app, &org.viewer, "", cursor.as_str()).await;
        assert_eq!((changes.len(), &changes[0]["kind"]), (1, &json!("deleted")));
        app
    });
}

/// As after the restoration of a backup.
#[test]
fn a_cursor_that_is_ahead_of_the_log_has_expired() {
    on_each_engine(async |app| {
        let org = app.org("restored").await;
        numbered(&app, &org).await;
        let (_, cursor) = told(&app, &org.viewer, "", None).await;
        let changes = format!("/v1/changes?after={cursor}");
        app.get(&changes, &org.viewer).await.ok(200);
        app.context.db.write().sql("update writer set next_sequence = 1").run().await.unwrap();
        app.get(&changes, &org.viewer).await.problem(410, "cursorExpired");
        app
    });
}

#[test]
fn an_old_cursor_has_expired_a_foreign_one_is_none_and_old_changes_go() {
    on_each_engine(async |app| {
        let (org, other) = (app.org("old").await, app.org("other").await);
        numbered(&app, &org).await;
        let (changes, cursor) = told(&app, &org.viewer, "", None).await;
        assert!(!changes.is_empty());
        let path = format!("/v1/changes?after={cursor}");
        app.get(&path, &other.viewer).await.problem(400, "invalidCursor");
        app.get("/v1/changes?organizationId=", &org.viewer).await.problem(400, "invalidParameter");
        let named = format!("/v1/changes?organizationId={}", other.id);
        app.get(&named, &org.viewer).await.problem(404, "notFound");
        app.pass(30 * 86_400 - 3_600);
        let token =
            app.sign_in(app.account(waypost::domain::account::Role::Viewer, Some(&org.id)).await).await;
        app.get(&path, &token).await.ok(200);
        app.pass(2 * 3_600);
        let token =
            app.sign_in(app.account(waypost::domain::account::Role::Viewer, Some(&org.id)).await).await;
        app.get(&path, &token).await.problem(410, "cursorExpired");
        waypost::ops::retention::enforce(&app.context).await.unwrap();
        assert!(!told(&app, &token, "", None).await.0.is_empty(), "a day longer than its cursors");
        app.pass(86_400);
        let token =
            app.sign_in(app.account(waypost::domain::account::Role::Viewer, Some(&org.id)).await).await;
        waypost::ops::retention::enforce(&app.context).await.unwrap();
        assert_eq!(told(&app, &token, "", None).await.0, Vec::<Value>::new());
        app
    });
}
