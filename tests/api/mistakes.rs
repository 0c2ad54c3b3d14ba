//! About forty frequent mistakes: each answer names the place, the reason and the next step.

use serde_json::{Value, json};

use crate::harness::{App, Org, START, Said, circle, text, with_app};

struct Made {
    org: Org,
    vehicle: Value,
    fence: Value,
}

/// Checks status, code, the first pointer (none: it is no member's fault) and what the texts must say.
#[track_caller]
pub(crate) fn told(said: &Said, status: u16, code: &str, pointer: Option<&str>, words: &[&str]) {
    let body = said.problem(status, code);
    assert_eq!(said.pointers().first().copied(), pointer, "{body}");
    let explanation = waypost::http::code::Code::from_word(code).unwrap().row().explanation;
    let text = format!("{body} {explanation}");
    for word in words {
        assert!(text.contains(word), "{word:?} in {text}");
    }
}

async fn made(app: &App) -> Made {
    let org = app.org("erring").await;
    let body = json!({ "name": "Bus", "plate": { "number": "A 1" }, "tracker": { "uniqueId": "imei-1" } });
    let vehicle = app.post("/v1/vehicles", &org.org_admin, body).await.ok(201);
    let fence = app.post("/v1/geofences", &org.org_admin, circle("Depot")).await.ok(201);
    Made { org, vehicle, fence }
}

#[test]
fn mistakes_with_addresses_and_tokens() {
    with_app(async |app| {
        let Made { org, vehicle, .. } = made(&app).await;
        let tracker = text(&vehicle["tracker"]["token"]);
        told(
            &app.get("/vehicles", &org.viewer).await,
            404,
            "notFound",
            None,
            &["did you mean /v1/vehicles?"],
        );
        told(
            &app.get("/v1/vehicle", &org.viewer).await,
            404,
            "notFound",
            None,
            &["did you mean /v1/vehicles?"],
        );
        told(&app.get("/v1/vehicles/17", &org.viewer).await, 404, "notFound", None, &["malformed id"]);
        let patch = app.send("PATCH", "/v1/vehicles", &[], "").await;
        told(&patch, 405, "methodNotAllowed", None, &["Allow header"]);
        let said = app.send("GET", "/v1/vehicles", &[], "").await;
        told(&said, 401, "unauthenticated", None, &["Authorization: Bearer", "/v1/auth/login"]);
        let basic = app.send("GET", "/v1/vehicles", &[("authorization", "Basic YTpi")], "").await;
        told(&basic, 401, "unauthenticated", None, &["Authorization: Bearer"]);
        told(
            &app.get("/v1/vehicles", &tracker).await,
            401,
            "unauthenticated",
            None,
            &["tracker", "/v1/positions"],
        );
        let said = app.post("/v1/positions", &org.viewer, json!({ "items": [] })).await;
        told(&said, 403, "forbidden", None, &["positions:ingest"]);
        let said = app.post("/v1/vehicles", &org.viewer, json!({ "name": "x" })).await;
        told(&said, 403, "forbidden", None, &["orgAdmin"]);
        let said = app.post("/v1/vehicles", &app.root, json!({ "name": "x" })).await;
        told(&said, 422, "organizationRequired", None, &["organizationId in the body"]);
        let viewer = org.viewer.clone();
        app.pass(16 * 60);
        told(&app.get("/v1/vehicles", &viewer).await, 401, "unauthenticated", None, &["expired", "refresh"]);
        app
    });
}

#[test]
fn mistakes_with_queries_and_headers() {
    with_app(async |app| {
        let Made { org, fence, .. } = made(&app).await;
        let get = async |path: &str| app.get(path, &org.viewer).await;
        told(
            &get("/v1/vehicles?pageSize=5").await,
            400,
            "unknownParameter",
            Some("?pageSize"),
            &["is not known here"],
        );
        told(
            &get("/v1/vehicles?stauts=active").await,
            400,
            "unknownParameter",
            Some("?stauts"),
            &["did you mean status?"],
        );
        told(&get("/v1/vehicles?page=0").await, 400, "invalidParameter", Some("?page"), &["from 1"]);
        told(
            &get("/v1/vehicles?sort=created_at").await,
            400,
            "unknownSortKey",
            Some("?sort"),
            &["createdAt"],
        );
        told(
            &get("/v1/geofence-events?from=1777636800").await,
            400,
            "invalidParameter",
            Some("?from"),
            &["RFC 3339", "2026-"],
        );
        told(
            &get("/v1/geofence-events?from=2026-05-01").await,
            400,
            "invalidParameter",
            Some("?from"),
            &["with an offset"],
        );
        told(
            &get("/v1/geofence-events?after=7").await,
            400,
            "invalidCursor",
            None,
            &["Start again without it"],
        );
        told(
            &get("/v1/geofences?bbox=30,-97").await,
            400,
            "invalidParameter",
            Some("?bbox"),
            &["west,south,east,north"],
        );
        let path = format!("/v1/geofences/{}", text(&fence["id"]));
        let bearer = format!("Bearer {}", org.org_admin);
        let typed = ("content-type", "application/json");
        let stale = [("authorization", bearer.as_str()), typed, ("if-match", "\"old\"")];
        let said = app.send("PUT", &path, &stale, r#"{"name":"x"}"#).await;
        told(&said, 412, "preconditionFailed", None, &["Read it again"]);
        let form =
            [("authorization", bearer.as_str()), ("content-type", "application/x-www-form-urlencoded")];
        let said = app.send("POST", "/v1/vehicles", &form, "name=x").await;
        told(&said, 415, "unsupportedMediaType", None, &["x-www-form-urlencoded", "application/json"]);
        let said = app.send("POST", "/v1/vehicles", &[stale[0], typed], "{'name': 1}").await;
        told(&said, 400, "malformedJson", None, &["line 1 column"]);
        app
    });
}

#[test]
fn mistakes_with_bodies() {
    with_app(async |app| {
        let Made { org, vehicle, .. } = made(&app).await;
        let post = async |path: &str, body: Value| app.post(path, &org.org_admin, body).await;
        let said = post("/v1/vehicles", json!({ "name": "x", "license_plate": "A" })).await;
        told(&said, 422, "validationFailed", Some("/license_plate"), &["is not known"]);
        let said = post("/v1/trackers", json!({ "unique_id": "x" })).await;
        told(&said, 422, "validationFailed", Some("/uniqueId"), &["did you mean uniqueId?"]);
        let said = post("/v1/vehicles", json!({ "name": "x", "category": "lorry" })).await;
        told(&said, 422, "validationFailed", Some("/category"), &["one of car, van, truck"]);
        let said = post("/v1/vehicles", json!({ "name": "x", "year": "2020" })).await;
        told(&said, 422, "validationFailed", Some("/year"), &["a whole number"]);
        told(
            &post("/v1/vehicles", json!({ "name": "y", "plate": { "number": "a-1" } })).await,
            409,
            "plateTaken",
            None,
            &["Another vehicle"],
        );
        let mut swapped = circle("x");
        swapped["shape"]["center"] = json!({ "latitude": -97.74, "longitude": 30.27 });
        let said = post("/v1/geofences", swapped).await;
        told(&said, 422, "validationFailed", Some("/shape/center"), &["latitude and longitude look swapped"]);
        let mut short = circle("x");
        short["shape"]["center"] = json!({ "lat": 1, "lng": 2 });
        let said = post("/v1/geofences", short).await;
        told(&said, 422, "validationFailed", Some("/shape/center"), &["\\\"latitude\\\": degrees"]);
        let mut late = circle("x");
        late["effectiveFrom"] = json!(1_777_636_800);
        let said = post("/v1/geofences", late).await;
        told(&said, 422, "validationFailed", Some("/effectiveFrom"), &["RFC 3339"]);
        let path = format!("/v1/vehicles/{}", text(&vehicle["id"]));
        let said =
            app.put(&path, &org.org_admin, json!({ "id": "01a1faea-5ddc-7008-8434-f2bff1d0b5a1" })).await;
        told(&said, 422, "validationFailed", Some("/id"), &["cannot be changed"]);
        app
    });
}

/// A member is known where it is declared, and nowhere else.
#[test]
fn mistakes_with_members_of_other_bodies() {
    with_app(async |app| {
        let Made { org, vehicle, .. } = made(&app).await;
        let post = async |path: &str, body: Value| app.post(path, &org.org_admin, body).await;
        let put = async |path: &str, body: Value| app.put(path, &org.org_admin, body).await;
        let said = post("/v1/vehicles", json!({ "name": "x", "organisationId": org.id })).await;
        told(&said, 422, "validationFailed", Some("/organisationId"), &["did you mean organizationId?"]);
        let mut ruled = circle("x");
        ruled["rules"] = Value::Null;
        told(&post("/v1/geofences", ruled).await, 422, "validationFailed", Some("/rules"), &["null clears"]);
        let properties = json!({ "name": "x", "radiusMeters": 50, "organizationId": org.id });
        let point = json!({ "type": "Point", "coordinates": [-97.74, 30.27] });
        let feature = json!({ "type": "Feature", "geometry": point, "properties": properties });
        let body = json!({ "type": "FeatureCollection", "features": [feature] });
        let results = post("/v1/geofences/import", body).await.ok(200)["results"].clone();
        let place = "/features/0/properties/organizationId";
        assert_eq!(results[0]["problem"]["errors"][0]["pointer"], place, "{results}");
        let driver = post("/v1/drivers", json!({ "firstName": "A", "lastName": "B" })).await.ok(201);
        let driver = format!("/v1/drivers/{}", text(&driver["id"]));
        let said = put(&driver, json!({ "dateOfBirth": "2026-05-02" })).await;
        told(&said, 422, "validationFailed", Some("/dateOfBirth"), &["must not be in the future"]);
        let wish = json!({ "vehicleId": vehicle["id"], "endedAt": "2026-05-01T11:00:00Z" });
        let said = post(&format!("{driver}/assign-vehicle"), wish).await;
        told(&said, 422, "validationFailed", Some("/endedAt"), &["is not known"]);
        let body = json!({ "email": "v@example.org", "firstName": "V", "lastName": "W", "role": "viewer" });
        let user = format!("/v1/users/{}", text(&post("/v1/users", body).await.ok(201)["id"]));
        let said = put(&user, json!({ "lastName": "X", "currentPassword": "x" })).await;
        told(&said, 422, "validationFailed", Some("/currentPassword"), &["one's own address"]);
        let said = put(&user, json!({ "status": null })).await;
        told(&said, 422, "validationFailed", Some("/status"), &["one of invited, active"]);
        let mut program = json!({ "name": "p", "email": "p@example.org", "password": "four words of mine" });
        let said = post("/v1/system-users", program.clone()).await;
        told(&said, 422, "validationFailed", Some("/scopes"), &["is required"]);
        program["scopes"] = json!(["fuel:read"]);
        let said = app.post("/v1/system-users", "", program).await;
        told(&said, 422, "validationFailed", Some("/scopes"), &["sign up without it"]);
        app
    });
}

#[test]
fn mistakes_with_positions() {
    with_app(async |app| {
        let Made { vehicle, .. } = made(&app).await;
        let token = text(&vehicle["tracker"]["token"]);
        let now = START.as_millis();
        let rejected = async |item: Value| {
            let body = app.post("/v1/positions", &token, json!({ "items": [item] })).await.ok(200);
            let first = &body["rejected"][0];
            (text(&first["code"]), text(&first["detail"]))
        };
        let (code, detail) =
            rejected(json!({ "recordedAt": now / 1000, "latitude": 30.0, "longitude": -97.0 })).await;
        assert_eq!(code, "invalidTime");
        assert!(
            detail.contains("looks like seconds") && detail.contains(&format!("{}000", now / 1000)),
            "{detail}"
        );
        let (code, detail) =
            rejected(json!({ "recordedAt": now, "latitude": -97.0, "longitude": 30.0 })).await;
        assert_eq!(
            (code.as_str(), detail.contains("look swapped")),
            ("coordinatesOutOfRange", true),
            "{detail}"
        );
        let (code, detail) =
            rejected(json!({ "recorded_at": now, "latitude": 30.0, "longitude": -97.0 })).await;
        assert_eq!((code.as_str(), detail.contains("recordedAt")), ("invalidItem", true), "{detail}");
        let (code, detail) = rejected(json!({ "recordedAt": now, "lat": 30.0, "lon": -97.0 })).await;
        assert_eq!(
            (code.as_str(), detail.starts_with("latitude: is required")),
            ("invalidItem", true),
            "{detail}"
        );
        let (code, detail) =
            rejected(json!({ "recordedAt": now, "latitude": "30.0", "longitude": -97.0 })).await;
        assert_eq!((code.as_str(), detail.starts_with("latitude: ")), ("invalidItem", true), "{detail}");
        let (code, _) = rejected(json!({ "recordedAt": now, "latitude": 0, "longitude": 0 })).await;
        assert_eq!(code, "nullIsland");
        let bare = app.post("/v1/positions", &token, json!([{ "recordedAt": now }])).await;
        told(&bare, 422, "validationFailed", Some("/items"), &["items is missing"]);
        app
    });
}

#[test]
fn mistakes_with_fuel() {
    with_app(async |app| {
        let Made { org, vehicle, .. } = made(&app).await;
        let bus = text(&vehicle["id"]);
        let get = async |path: &str| app.get(&format!("/v1/fuel/{path}"), &org.viewer).await;
        let said = get("raw-data").await;
        told(&said, 422, "validationFailed", Some("?vehicleId"), &["is required", "?from", "?to"]);
        let quarter = format!("raw-data?vehicleId={bus}&from=2026-01-01T00:00:00Z&to=2026-04-01T00:00:00Z");
        told(&get(&quarter).await, 422, "validationFailed", Some("?to"), &["at most 31 days after from"]);
        let day = format!("vehicleId={bus}&from=2026-01-01T00:00:00Z&to=2026-01-02T00:00:00Z");
        let said = get(&format!("raw-data?{day}&format=xlsx")).await;
        told(&said, 400, "invalidParameter", Some("?format"), &["one of json, ndjson, csv"]);
        let bearer = format!("Bearer {}", org.viewer);
        let headers = [("authorization", bearer.as_str()), ("accept", "application/vnd.ms-excel")];
        let said = app.send("GET", &format!("/v1/fuel/raw-data?{day}"), &headers, "").await;
        told(&said, 406, "notAcceptable", None, &["text/csv", "application/x-ndjson"]);
        let said = get(&format!("raw-data?{day}&limit=10")).await;
        told(&said, 400, "unknownParameter", Some("?limit"), &["is not known here"]);
        let said = get(&format!("chart?{day}&format=chart.js")).await;
        told(
            &said,
            400,
            "invalidParameter",
            Some("?format"),
            &["one of chartjs, apexcharts, echarts, columns"],
        );
        let said = get(&format!("chart?{day}&points=100000")).await;
        told(&said, 400, "invalidParameter", Some("?points"), &["from 4 to 5000"]);
        let said = get(&format!("chart?{day}&maxPoints=100")).await;
        told(&said, 400, "unknownParameter", Some("?maxPoints"), &["did you mean points?"]);
        let said = app.get("/v1/fuel?quality=error", &org.viewer).await;
        told(&said, 400, "invalidParameter", Some("?quality"), &["one of ok, outOfRange, sensorError"]);
        told(
            &get("events?type=theft").await,
            400,
            "invalidParameter",
            Some("?type"),
            &["one of refuel, drain"],
        );
        let said = get(&format!("consumption?vehicleId={bus}&from=2026-01-01&to=2026-02-01")).await;
        told(&said, 400, "invalidParameter", Some("?from"), &["RFC 3339"]);
        app
    });
}
