//! Every route of the description × every principal × own and foreign organization, against one table.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use uuid::Uuid;
use waypost::clock::new_id;
use waypost::domain::account::Role;
use waypost::store::time::Time;
use waypost_client::socket::{self, Unopened};

use crate::alerts::alert;
use crate::driver_files::driver_with_file;
use crate::fuel_verdicts::drain;
use crate::harness::{ANSWER_WITHIN, App, PASSWORD, Said, circle, text, with_app};

const TABLE: &str = include_str!("matrix.txt");

/// Scopes with which a key is driven through all routes, beside its system user.
const BY_KEY: [&str; 3] = ["positions:ingest", "vehicles:write", "events:read"];

/// A line of the table.
struct Line {
    method: &'static str,
    path: &'static str,
    allowed: u16,
    who: &'static str,
    scope: &'static str,
    place: &'static str,
}

fn lines() -> Vec<Line> {
    let words = TABLE.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let read = |line: &'static str| match line.split_whitespace().collect::<Vec<_>>()[..] {
        [method, path, allowed, who, scope, place] => {
            Line { method, path, allowed: allowed.parse().unwrap(), who, scope, place }
        }
        _ => panic!("six words: {line}"),
    };
    words.map(read).collect()
}

/// A caller.
pub(crate) struct Principal {
    pub(crate) name: String,
    pub(crate) token: String,
    /// The letter of its role, T for a tracker, N for an anonymous caller; or its scope.
    pub(crate) is: String,
    pub(crate) is_operator: bool,
}

/// An organization and one of everything that it owns, by the first word of its path.
pub(crate) struct World {
    pub(crate) organization: String,
    pub(crate) owned: BTreeMap<&'static str, String>,
}

#[test]
fn every_described_route_has_a_line() {
    let document = waypost::http::routes::document();
    let mut missing = BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for method in ["get", "post", "put", "delete"].iter().filter(|method| item.get(*method).is_some()) {
            missing.insert(format!("{} {path}", method.to_uppercase()));
        }
    }
    for known in lines().into_iter().map(|line| format!("{} {}", line.method, line.path)) {
        assert!(missing.remove(&known), "{known} is in the table but not in the description");
    }
    assert!(missing.is_empty(), "without a line in tests/api/matrix.txt: {missing:#?}");
}

#[test]
fn everybody_may_what_the_table_says_and_nothing_else() {
    with_app(async |app| {
        let (own, foreign) = (world(&app, "own").await, world(&app, "foreign").await);
        let principals = principals(&app, &own).await;
        let mut wrong = Vec::new();
        for line in lines() {
            for principal in &principals {
                for (world, is_own) in [(&own, true), (&foreign, false)] {
                    let expected = expected(&line, principal, is_own);
                    let said = match line.path.starts_with("/v1/ws/") {
                        true => shaken(&app, &line, principal).await,
                        false => call(&app, &line, principal, world).await,
                    };
                    if said.status != expected {
                        let Line { method, path, .. } = line;
                        let whose = if is_own { "own" } else { "foreign" };
                        let body = String::from_utf8_lossy(&said.bytes).chars().take(200).collect::<String>();
                        wrong.push(format!(
                            "{method} {path}, {}, {whose}: {} and not {expected}: {body}",
                            principal.name, said.status
                        ));
                    }
                    if said.status == 404 && line.who != "public" {
                        // As for something that does not exist at all.
                        let keys: Vec<&String> = said.body.as_object().unwrap().keys().collect();
                        assert!(
                            !keys.iter().any(|key| ["detail", "errors"].contains(&key.as_str())),
                            "{}",
                            said.body
                        );
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
        app
    });
}

#[test]
fn without_a_subscription_reading_and_tracking_go_on_and_every_change_is_refused() {
    with_app(async |app| {
        let own = world(&app, "own").await;
        let mut principals = principals(&app, &own).await;
        principals.retain(|principal| !principal.is_operator && principal.is != "N");
        let path = format!("/v1/organizations/organization/{}", own.organization);
        app.put(&path, &app.root, json!({ "subscription": { "status": "canceled" } })).await.ok(200);
        let (mut wrong, mut refused) = (Vec::new(), 0);
        for line in lines().into_iter().filter(|line| !line.path.starts_with("/v1/ws/")) {
            for principal in &principals {
                let usual = expected(&line, principal, true);
                let goes_on = line.method == "GET"
                    || line.path.starts_with("/v1/auth/")
                    || ["/v1/positions", "/v1/geofences/dry-run"].contains(&line.path)
                    || line.method == "DELETE"
                        && (line.path.ends_with("/keys/{keyId}") || line.path.starts_with("/v1/shares/"))
                    || line.who == "public";
                let said = call(&app, &line, principal, &own).await;
                let is_refused = said.status == 403 && said.body["code"] == "subscriptionInactive";
                refused += usize::from(is_refused);
                let as_usual = said.status == usual && !is_refused;
                if goes_on && !as_usual || !goes_on && usual == line.allowed && !is_refused {
                    let Line { method, path, .. } = line;
                    wrong.push(format!("{method} {path}, {}: {} {}", principal.name, said.status, said.body));
                }
            }
        }
        assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
        assert!(refused > 30, "only {refused} requests were refused");
        app
    });
}

/// The status that the table gives for a caller.
fn expected(line: &Line, principal: &Principal, is_own: bool) -> u16 {
    if line.who == "public" {
        return line.allowed;
    }
    if ["N", "T"].contains(&principal.is.as_str()) {
        return if line.who.contains(&principal.is) { line.allowed } else { 401 };
    }
    let is_role = principal.is.len() == 1;
    let may = if is_role {
        line.who.contains(&principal.is)
    } else {
        ["any", "itself"].contains(&line.scope) || line.scope.split('|').any(|scope| scope == principal.is)
    };
    match (may, is_own || principal.is_operator || line.place == "none") {
        (false, _) => 403,
        // It may see itself, and these are others.
        (true, _) if line.scope == "itself" && !is_role => 404,
        (true, true) => line.allowed,
        (true, false) => 404,
    }
}

async fn call(app: &App, line: &Line, principal: &Principal, world: &World) -> Said {
    let mut path = filled(line.path, world);
    let (in_query, in_body) = match line.place {
        "query" => (true, false),
        "path" => (principal.is_operator, false),
        "body" => (false, true),
        "both" => (false, principal.is_operator),
        _ => (false, false),
    };
    if in_query {
        path.push_str(&format!("?organizationId={}", world.organization));
    }
    if line.path.ends_with("/drivers/search") {
        path.push_str("&licenseNumber=L1");
    }
    if ["/fuel/chart", "/fuel/consumption", "/fuel/raw-data"].iter().any(|end| line.path.ends_with(end)) {
        let vehicle = &world.owned["vehicles"];
        path.push_str(&format!("&vehicleId={vehicle}&from=2026-05-01T00:00:00Z&to=2026-05-02T00:00:00Z"));
    }
    if line.path == "/v1/events/stream" {
        path.push_str("?minIntervalMs=never"); // an answer that ends
    }
    let mut body = if in_body { json!({ "organizationId": world.organization }) } else { json!({}) };
    if line.path.ends_with("/assign-vehicle") {
        body["vehicleId"] = json!(world.owned["vehicles"]);
    }
    if line.path.ends_with("/import") {
        body = json!({ "type": "FeatureCollection", "features": [] });
    }
    let bearer = format!("Bearer {}", principal.token);
    let mut headers = vec![("content-type", "application/json"), ("if-match", "\"not this\"")];
    if !principal.token.is_empty() {
        headers.push(("authorization", bearer.as_str()));
    }
    let body = if matches!(line.method, "POST" | "PUT") { body.to_string() } else { String::new() };
    app.send(line.method, &path, &headers, body).await
}

/// The answer to the handshake of a socket.
async fn shaken(app: &App, line: &Line, principal: &Principal) -> Said {
    let request = match line.path {
        "/v1/ws/tracker" => socket::tracker(&app.url, &principal.token),
        _ => socket::feed(&app.url, &principal.token),
    };
    let (status, bytes) = match socket::open(request, ANSWER_WITHIN).await {
        Ok(_) => (101, Vec::new()),
        Err(Unopened::Refused { status, body }) => (status.as_u16(), body.into_bytes()),
        Err(why) => panic!("{why}"),
    };
    Said { status, headers: Vec::new(), body: serde_json::from_slice(&bytes).unwrap_or_default(), bytes }
}

/// A path with the ids of what a world owns.
fn filled(path: &str, world: &World) -> String {
    let kind = path.split('/').nth(2).unwrap_or_default();
    let part = |part: &str| match part {
        "{token}" => "no-such-token".to_owned(),
        "{id}" => world.owned[kind].clone(),
        "{vehicleId}" => world.owned["vehicles"].clone(),
        "{geofenceId}" => world.owned["geofences"].clone(),
        "{driverId}" => world.owned["drivers"].clone(),
        "{attemptId}" => world.owned["attempts"].clone(),
        "{eventId}" => world.owned["fuel-events"].clone(),
        "{documentId}" => world.owned["documents"].clone(),
        "{keyId}" => world.owned["keys"].clone(),
        "{assignmentId}" => world.owned["assignments"].clone(),
        fixed => fixed.to_owned(),
    };
    path.split('/').map(part).collect::<Vec<_>>().join("/")
}

/// One of everything. A new kind of resource is one line here.
pub(crate) async fn world(app: &App, name: &str) -> World {
    let org = app.org(name).await;
    let made =
        async |path: &str, body: Value| text(&app.post(path, &org.org_admin, body).await.ok(201)["id"]);
    let vehicle = made("/v1/vehicles", json!({ "name": "Bus" })).await;
    let geofence = made("/v1/geofences", circle("Depot")).await;
    let person = json!({ "email": format!("guest-{name}@example.org"), "firstName": "A", "lastName": "B",
        "role": "viewer" });
    let event = event(app, &org.id, &vehicle, &geofence).await;
    let (driver, document) = driver_with_file(app, &org.org_admin).await;
    let wish = json!({ "vehicleId": vehicle });
    let assign = format!("/v1/drivers/{driver}/assign-vehicle");
    let assignment = text(&app.post(&assign, &org.org_admin, wish).await.ok(200)["id"]);
    app.delete(&format!("/v1/drivers/{driver}/vehicles/{vehicle}"), &org.org_admin).await.ok(204);
    let (system_user, _) = system_user(app, &org.id, r#"["events:read"]"#).await;
    let key = json!({ "name": "Gateway", "scopes": ["events:read"] });
    // Nobody listens there.
    let webhook = json!({ "url": "http://127.0.0.1:9", "eventTypes": ["*"] });
    let webhook = made("/v1/webhooks", webhook).await;
    let attempt = app.post(&format!("/v1/webhooks/{webhook}/test"), &org.org_admin, json!({})).await.ok(200);
    let owned = BTreeMap::from([
        ("webhooks", webhook),
        ("attempts", text(&attempt["id"])),
        ("organizations", org.id.clone()),
        ("pending-trackers", device(app, &org.id).await),
        ("trackers", made("/v1/trackers", json!({ "uniqueId": format!("imei-{name}") })).await),
        ("keys", made(&format!("/v1/system-users/{system_user}/keys"), key).await),
        ("system-users", system_user),
        ("users", made("/v1/users", person).await),
        ("drivers", driver),
        ("assignments", assignment),
        ("fuel-events", drain(app, &org.id, &vehicle).await),
        ("documents", document),
        ("fuel", entry(app, &org.id, &vehicle).await),
        ("visits", visit(app, &org.id, &vehicle, &geofence, &event).await),
        ("geofence-events", event),
        ("shares", made("/v1/shares", crate::shares::of(&vehicle)).await),
        ("alerts", alert(app, &org.id, &vehicle, "overspeed").await),
        ("vehicles", vehicle),
        ("geofences", geofence),
    ]);
    World { organization: org.id, owned }
}

/// A device that is no tracker yet.
async fn device(app: &App, organization: &str) -> String {
    let (id, organization) = (new_id(), organization.parse::<Uuid>().unwrap());
    let insert = "insert into pending_tracker (id, organization_id, unique_id, input, first_seen_at, last_seen_at) \
        select $1, id, 'stranger', 'osmand', created_at, created_at from organization where id = $2";
    app.context.db.write().sql(insert).bind(id).bind(organization).run().await.unwrap();
    id.to_string()
}

/// A system user whose address is verified, and its access token.
async fn system_user(app: &App, organization: &str, scopes: &str) -> (String, String) {
    let name = format!("robot-{}", new_id().simple());
    let body = json!({ "name": name, "email": format!("{name}@example.org"), "password": PASSWORD,
        "scopes": serde_json::from_str::<Value>(scopes).unwrap(), "organizationId": organization });
    let id = text(&app.post("/v1/system-users", &app.root, body).await.ok(201)["id"]);
    let verified = "update system_user set status = 'active', email_verified_at = created_at where id = $1";
    app.context.db.write().sql(verified).bind(id.parse::<Uuid>().unwrap()).run().await.unwrap();
    let body = json!({ "email": format!("{name}@example.org"), "password": PASSWORD });
    let said = app.post("/v1/system-users/login", "", body).await.ok(200);
    (id, text(&said["accessToken"]))
}

async fn event(app: &App, organization: &str, vehicle: &str, geofence: &str) -> String {
    let (id, uuid) = (new_id(), |text: &str| text.parse::<Uuid>().unwrap());
    let insert = "insert into records (id, sequence, kind, status, revision, visit_id, organization_id, vehicle_id, \
         geofence_id, geofence_version, confirmed_at, occurred_at, time_uncertainty_seconds, detected_at, origin, cause, inferred, \
         latitude, longitude, fix_recorded_at, fix_latitude, fix_longitude) values \
         ($1, $2, 'entry', 'active', 1, $1, $3, $4, $5, 1, $6, $6, 0.5, $6, 'live', 'crossing', $7, 1.5, 2.5, $6, 1.5, 2.5)";
    let next = "select coalesce(max(sequence), 0) + 1 from records";
    let sequence: i64 = app.context.db.read().sql(next).scalar().await.unwrap();
    app.context
        .db
        .write()
        .sql(insert)
        .bind(id)
        .bind(sequence)
        .bind(uuid(organization))
        .bind(uuid(vehicle))
        .bind(uuid(geofence))
        .bind(Time(app.context.clock.now()))
        .bind(false)
        .run()
        .await
        .unwrap();
    id.to_string()
}

/// An entry of the fuel log.
async fn entry(app: &App, organization: &str, vehicle: &str) -> String {
    crate::fuel::log(app, organization, vehicle, &[(0, 40.0)]).await.remove(0)
}

/// The stay that an event begins; one id for both.
async fn visit(app: &App, organization: &str, vehicle: &str, geofence: &str, event: &str) -> String {
    let uuid = |text: &str| text.parse::<Uuid>().unwrap();
    let insert = "insert into visit (id, organization_id, vehicle_id, geofence_id, entry_event_id, entered_at) \
         values ($1, $2, $3, $4, $1, $5)";
    app.context
        .db
        .write()
        .sql(insert)
        .bind(uuid(event))
        .bind(uuid(organization))
        .bind(uuid(vehicle))
        .bind(uuid(geofence))
        .bind(Time(app.context.clock.now()))
        .run()
        .await
        .unwrap();
    event.to_owned()
}

pub(crate) async fn principals(app: &App, own: &World) -> Vec<Principal> {
    let mut principals = vec![Principal {
        name: "anonymous".into(),
        token: String::new(),
        is: "N".into(),
        is_operator: false,
    }];
    for (role, letter) in [
        (Role::SuperAdmin, "S"),
        (Role::Admin, "A"),
        (Role::OrgAdmin, "O"),
        (Role::Dispatcher, "D"),
        (Role::Viewer, "V"),
    ] {
        let organization = (!role.is_operator()).then_some(own.organization.as_str());
        let token = app.sign_in(app.account(role, organization).await).await;
        let (name, is_operator) = (role.as_str().to_owned(), role.is_operator());
        principals.push(Principal { name, token, is: letter.to_owned(), is_operator });
    }
    let scopes: BTreeSet<&str> = lines()
        .iter()
        .flat_map(|line| line.scope.split(['|', '+']))
        .filter(|scope| scope.contains(':'))
        .collect();
    for scope in scopes.into_iter().chain(["none"]) {
        let given = if scope == "none" { "[]".to_owned() } else { json!([scope]).to_string() };
        let (id, token) = system_user(app, &own.organization, &given).await;
        let name = format!("system user with {scope}");
        principals.push(Principal { name, token, is: scope.to_owned(), is_operator: false });
        if BY_KEY.contains(&scope) {
            let (path, key) =
                (format!("/v1/system-users/{id}/keys"), json!({ "name": "k", "scopes": [scope] }));
            let token = text(&app.post(&path, &app.root, key).await.ok(201)["token"]);
            let name = format!("key with {scope}");
            principals.push(Principal { name, token, is: scope.to_owned(), is_operator: false });
        }
    }
    let body = json!({ "uniqueId": "imei-caller", "organizationId": own.organization });
    let made = app.post("/v1/trackers", &app.root, body).await.ok(201);
    let token = text(&made["token"]);
    principals.push(Principal { name: "tracker".into(), token, is: "T".into(), is_operator: false });
    principals
}
