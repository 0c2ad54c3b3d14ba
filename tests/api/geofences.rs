//! Geofences, as JSON and as GeoJSON.

use serde_json::{Value, json};
use waypost::store::sql::Db;
use waypost::store::time::Time;

use crate::harness::{App, Org, START, circle, on_each_engine, text, with_app};

type VersionRow = (i64, bool, bool, bool, bool);

/// The versions of a fence: number, active, deleted, effective since always, settled.
async fn versions(db: &Db, id: &str) -> Vec<VersionRow> {
    let id: uuid::Uuid = id.parse().unwrap();
    db.read()
        .sql(
            "select version, active, deleted, effective_from is null, settled from geofence_version \
             where geofence_id = $1 order by version",
        )
        .bind(id)
        .all()
        .await
        .unwrap()
}

fn square(west: f64, south: f64, size: f64) -> Value {
    let p = |latitude: f64, longitude: f64| json!({ "latitude": latitude, "longitude": longitude });
    json!({ "type": "polygon", "vertices": [p(south, west), p(south, west + size),
        p(south + size, west + size), p(south + size, west)] })
}

async fn make(app: &App, org: &Org, body: Value) -> Value {
    app.post("/v1/geofences", &org.dispatcher, body).await.ok(201)
}

#[test]
fn each_change_of_effect_makes_a_version() {
    with_app(async |app| {
        let org = app.org("fenced").await;
        let made = make(&app, &org, circle("Depot")).await;
        let (id, path) = (text(&made["id"]), format!("/v1/geofences/{}", text(&made["id"])));
        assert_eq!(
            (&made["version"], &made["enabled"], &made["insideCount"]),
            (&json!(1), &json!(true), &json!(0))
        );
        assert_eq!(made["effectiveFrom"], made["createdAt"]);
        assert_eq!(made["rules"]["exitMarginMeters"], 20.0);
        let put = async |body: Value| app.put(&path, &org.dispatcher, body).await.ok(200);
        assert_eq!(put(json!({ "name": "Yard", "color": "#00ff7F" })).await["version"], 1);
        assert_eq!(put(json!({ "rules": { "exitMarginMeters": null } })).await["version"], 2);
        assert_eq!(put(json!({ "shape": square(-97.8, 30.2, 0.1) })).await["version"], 3);
        let disabled = put(json!({ "enabled": false })).await;
        assert_eq!(disabled["version"], 4);
        assert_eq!(disabled["effectiveFrom"], disabled["updatedAt"]);
        assert_eq!(put(json!({ "enabled": true, "effectiveFrom": null })).await["version"], 5);
        let same = put(json!({ "effectiveFrom": null, "rules": { "exitMarginMeters": 0 } })).await;
        assert_eq!((&same["version"], &same["effectiveFrom"]), (&json!(5), &Value::Null));
        app.delete(&path, &org.dispatcher).await.ok(204);
        app.delete(&path, &org.dispatcher).await.problem(404, "notFound");
        let rows = versions(&app.context.db, &id).await;
        let active: Vec<_> = rows.iter().map(|row| (row.0, row.1, row.2, row.3)).collect();
        assert_eq!(
            active,
            [
                (1, true, false, false),
                (2, true, false, false),
                (3, true, false, false),
                (4, false, false, false),
                (5, true, false, true),
                (6, false, true, false),
            ]
        );
        app
    });
}

#[test]
fn the_past_that_is_still_put_right_is_shown_with_the_geofence() {
    on_each_engine(async |app| {
        let org = app.org("dated").await;
        let mut body = circle("Depot");
        body["effectiveFrom"] = json!("2026-04-01T00:00:00Z");
        let made = make(&app, &org, body).await;
        let path = format!("/v1/geofences/{}", text(&made["id"]));
        let shown = async || app.get(&path, &org.viewer).await.ok(200)["pastCorrection"].clone();
        assert_eq!(shown().await, Value::Null, "nobody came near");
        let bus = app.post("/v1/vehicles", &org.org_admin, json!({ "name": "Bus" })).await.ok(201);
        let vehicle = text(&bus["id"]);
        let ids = [vehicle, org.id.clone()].map(|id| id.parse::<uuid::Uuid>().unwrap());
        let at = |hour: i64| Time(START.plus_seconds(3_600.0 * hour as f64));
        let insert = "insert into vehicle_state (vehicle_id, organization_id, state, dirty_from, dirty_until, dirty_origin) \
            values ($1, $2, $3, $4, $5, 'recompute')";
        let stmt = app.context.db.write().sql(insert).bind(ids[0]).bind(ids[1]).bind(b"{}".to_vec());
        stmt.bind(at(-30)).bind(at(-20)).run().await.unwrap();
        assert_eq!(shown().await, json!({ "vehicleCount": 1, "from": START.plus_seconds(-30.0 * 3_600.0) }));
        // What ends before the geofence is in force has nothing to do with it; and a list does not ask.
        let later = json!({ "effectiveFrom": START.plus_seconds(-19.0 * 3_600.0) });
        app.put(&path, &org.dispatcher, later).await.ok(200);
        assert_eq!(shown().await, Value::Null);
        let update = "update geofence_version set settled = false where version = 2";
        app.context.db.write().sql(update).run().await.unwrap();
        assert_eq!(shown().await, json!({ "vehicleCount": null, "from": null }));
        let listed = app.get("/v1/geofences", &org.viewer).await.ok(200);
        assert_eq!(listed["data"][0].get("pastCorrection"), None);
        app
    });
}

#[test]
fn rules_come_from_the_organization_at_creation_only() {
    with_app(async |app| {
        let org = app.org("fenced").await;
        let settings = json!({ "settings": { "geofenceDefaults":
            { "exitMarginMeters": 5, "inferPassages": false, "dwellAfterSeconds": 60 } } });
        let path = format!("/v1/organizations/organization/{}", org.id);
        app.put(&path, &org.org_admin, settings).await.ok(200);
        let mut body = circle("a");
        body["rules"] = json!({ "minInsideSeconds": 9, "dwellAfterSeconds": null });
        let made = make(&app, &org, body).await;
        let rules = json!({ "exitMarginMeters": 5.0, "minInsideSeconds": 9.0, "minOutsideSeconds": 0.0,
            "inferPassages": false, "holdWhileStanding": true, "maxGapSeconds": 600.0, "dwellAfterSeconds": null, "speedLimitKmh": null });
        assert_eq!(made["rules"], rules);
        let later = json!({ "settings": { "geofenceDefaults": { "exitMarginMeters": 50 } } });
        app.put(&path, &org.org_admin, later).await.ok(200);
        let read = app.get(&format!("/v1/geofences/{}", text(&made["id"])), &org.viewer).await.ok(200);
        assert_eq!(read["rules"], rules);
        app
    });
}

#[test]
fn a_bad_geofence_is_pointed_at() {
    with_app(async |app| {
        let org = app.org("fenced").await;
        let post = async |body: Value| app.post("/v1/geofences", &org.dispatcher, body).await;
        let said =
            post(json!({ "color": "red", "rules": { "inferPassages": 1, "holdWhileStanding": 0 }, "shape": { "type": "blob" } }))
                .await;
        said.problem(422, "validationFailed");
        assert_eq!(
            said.pointers(),
            ["/name", "/color", "/shape/type", "/rules/inferPassages", "/rules/holdWhileStanding"]
        );
        let mut body = circle("tiny");
        body["shape"]["radiusMeters"] = json!(9.9);
        let said = post(body).await;
        said.problem(422, "validationFailed");
        assert_eq!(said.pointers(), ["/shape/radiusMeters"]);
        let mut body = circle("lost");
        body["shape"] = square(10.0, 20.0, 1.0);
        body["shape"]["vertices"][2]["latitude"] = json!(97.7);
        let said = post(body).await;
        said.problem(422, "validationFailed");
        assert!(said.pointers()[0].starts_with("/shape/vertices/2"), "{:?}", said.pointers());
        assert!(said.body["errors"][0]["detail"].as_str().unwrap().contains("swapped"), "{}", said.body);
        app
    });
}

#[test]
fn only_writers_write_and_foreign_fences_are_not_there() {
    with_app(async |app| {
        let (own, other) = (app.org("own").await, app.org("other").await);
        let made = make(&app, &other, circle("theirs")).await;
        let path = format!("/v1/geofences/{}", text(&made["id"]));
        app.post("/v1/geofences", &own.viewer, circle("x")).await.problem(403, "forbidden");
        app.get(&path, &own.viewer).await.problem(404, "notFound");
        app.put(&path, &own.dispatcher, json!({ "name": "mine" })).await.problem(404, "notFound");
        app.delete(&path, &own.org_admin).await.problem(404, "notFound");
        assert_eq!(app.get("/v1/geofences", &own.viewer).await.ok(200)["data"], json!([]));
        let read = app.get(&format!("{path}?organizationId={}", other.id), &app.root).await;
        assert_eq!(read.ok(200)["name"], "theirs");
        app
    });
}

#[test]
fn geojson_goes_in_and_comes_out() {
    with_app(async |app| {
        let org = app.org("fenced").await;
        let bearer = format!("Bearer {}", org.dispatcher);
        let geo = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/geo+json"),
            ("accept", "application/geo+json"),
        ];
        let ring = json!([[10.0, 50.0], [11.0, 50.0], [11.0, 51.0], [10.0, 51.0], [10.0, 50.0]]);
        let feature = json!({ "type": "Feature", "geometry": { "type": "Polygon", "coordinates": [ring] },
            "properties": { "name": "Square", "effectiveFrom": null } });
        let said = app.send("POST", "/v1/geofences", &geo, feature.to_string()).await;
        let made = said.ok(201);
        assert_eq!(said.header("content-type"), Some("application/geo+json"));
        assert_eq!(made["geometry"], feature["geometry"]);
        assert_eq!(made["bbox"], json!([10.0, 50.0, 11.0, 51.0]));
        assert_eq!(made["properties"]["effectiveFrom"], Value::Null);
        let path = text(&json!(said.header("location")));
        let plain = app.get(&path, &org.viewer).await.ok(200);
        assert_eq!(
            plain["shape"]["vertices"].as_array().unwrap().len(),
            4,
            "the closing point is not repeated"
        );
        let point = json!({ "type": "Feature", "geometry": { "type": "Point", "coordinates": [10.0, 50.0] },
            "properties": { "radiusMeters": 250.0 } });
        let changed = app.send("PUT", &path, &geo, point.to_string()).await.ok(200);
        assert_eq!(changed["properties"]["radiusMeters"], 250.0);
        assert_eq!(changed["properties"]["name"], "Square");
        app.send("PUT", &path, &geo, changed.to_string()).await.ok(200);
        let listed = app.send("GET", "/v1/geofences", &geo[..1], "").await.ok(200);
        assert_eq!(listed["data"][0]["shape"]["type"], "circle");
        let collection = app.send("GET", "/v1/geofences", &geo, "").await.ok(200);
        assert_eq!(
            (&collection["type"], &collection["features"][0]["geometry"]["type"]),
            (&json!("FeatureCollection"), &json!("Point"))
        );
        let mut bad = feature.clone();
        bad["geometry"]["coordinates"][0][2] = json!([11.0, 95.0]);
        bad["properties"]["color"] = json!("x");
        let said = app.send("POST", "/v1/geofences", &geo, bad.to_string()).await;
        said.problem(422, "validationFailed");
        assert_eq!(said.pointers(), ["/properties/color"]);
        bad["properties"]["color"] = json!(null);
        let said = app.send("POST", "/v1/geofences", &geo, bad.to_string()).await;
        said.problem(422, "validationFailed");
        assert!(said.pointers()[0].starts_with("/geometry/coordinates/0/2"), "{:?}", said.pointers());
        app
    });
}

#[test]
fn lists_filter_by_place_and_words() {
    with_app(async |app| {
        let org = app.org("fenced").await;
        let mut body = circle("Austin");
        body["category"] = json!("depot");
        make(&app, &org, body).await;
        for (name, west) in [("East", 10.0), ("West", -60.0)] {
            let body = json!({ "name": name, "shape": square(west, 40.0, 1.0), "enabled": name == "East" });
            make(&app, &org, body).await;
        }
        let names = async |query: &str| {
            let body = app.get(&format!("/v1/geofences?sort=name&{query}"), &org.viewer).await.ok(200);
            let data = body["data"].as_array().unwrap().clone();
            data.iter().map(|item| text(&item["name"])).collect::<Vec<_>>()
        };
        assert_eq!(names("bbox=10.5,40.5,20,50").await, ["East"]);
        assert_eq!(names("bbox=-100,20,-50,50").await, ["Austin", "West"]);
        assert_eq!(names("bbox=170,-80,-50,80").await, ["Austin", "West"], "across the antimeridian");
        assert_eq!(names("near=30.27,-97.74,1000").await, ["Austin"]);
        assert_eq!(names("near=39.99,10.5,2000").await, ["East"]);
        assert_eq!(names("enabled=false").await, ["West"]);
        assert_eq!(names("category=depot,other").await, ["Austin"]);
        make(
            &app,
            &org,
            json!({ "name": "Yard", "shape": square(80.0, 40.0, 1.0), "category": "Depot, north" }),
        )
        .await;
        assert_eq!(names("category=Depot%2C%20north").await, ["Yard"]);
        assert_eq!(names("q=eas").await, ["East"]);
        let bare = app.get("/v1/geofences?geometry=none", &org.viewer).await.ok(200);
        assert_eq!(bare["data"][0].get("shape"), None);
        let said = app.get("/v1/geofences?bbox=1,2,3&near=x", &org.viewer).await;
        said.problem(400, "invalidParameter");
        assert_eq!(said.pointers(), ["?bbox", "?near"]);
        app
    });
}

#[test]
fn large_geofences_fit_and_larger_do_not() {
    with_app(async |app| {
        let org = app.org("fenced").await;
        let points: Vec<Value> = (0..5000)
            .map(|i| {
                let angle = f64::from(i) / 5000.0 * std::f64::consts::TAU;
                json!({ "latitude": angle.sin(), "longitude": angle.cos() })
            })
            .collect();
        let body = json!({ "name": "round", "shape": { "type": "polygon", "vertices": points } });
        assert!(body.to_string().len() > 64 * 1024);
        make(&app, &org, body).await;
        let mut body = circle("wordy");
        body["description"] = json!("x".repeat(4 << 20));
        app.post("/v1/geofences", &org.dispatcher, body).await.problem(413, "payloadTooLarge");
        app
    });
}
