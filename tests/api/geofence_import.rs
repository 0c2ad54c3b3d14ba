//! Many geofences at once.

use serde_json::{Value, json};

use crate::harness::{App, Said, text, with_app};

fn point(name: &str, latitude: f64) -> Value {
    json!({ "type": "Feature", "properties": { "name": name, "radiusMeters": 50.0, "category": "stop" },
        "geometry": { "type": "Point", "coordinates": [8.0, latitude] } })
}

async fn import(app: &App, token: &str, features: Vec<Value>) -> Said {
    let bearer = format!("Bearer {token}");
    let headers = [("content-type", "application/geo+json"), ("authorization", bearer.as_str())];
    let body = json!({ "type": "FeatureCollection", "features": features });
    app.send("POST", "/v1/geofences/import", &headers, body.to_string()).await
}

#[test]
fn what_is_good_is_made_and_what_is_not_is_told_by_its_place() {
    with_app(async |app| {
        let org = app.org("mapping").await;
        let square = json!([[0.0, 0.0], [1.0, 0.0], [1.0, 95.0], [0.0, 1.0], [0.0, 0.0]]);
        let broken = json!({ "type": "Feature", "properties": { "name": "b" },
            "geometry": { "type": "Polygon", "coordinates": [square] } });
        let nameless = json!({ "type": "Feature", "properties": { "radiusMeters": 50, "colour": "#000000" },
            "geometry": { "type": "Point", "coordinates": [8.0, 50.0] } });
        let line = json!({ "type": "Feature", "properties": { "name": "l" },
            "geometry": { "type": "LineString", "coordinates": [] } });
        let said =
            import(&app, &org.dispatcher, vec![point("a", 50.0), broken, nameless, line, point("e", 51.0)])
                .await;
        let body = said.ok(200);
        assert_eq!((&body["created"], &body["failed"]), (&json!(2), &json!(3)));
        let pointers = |index: usize| -> Vec<String> {
            let errors = body["results"][index]["problem"]["errors"].as_array().unwrap();
            errors.iter().map(|error| text(&error["pointer"])).collect()
        };
        assert_eq!(pointers(1), ["/features/1/geometry/coordinates/0/2"]);
        assert_eq!(pointers(2), ["/features/2/properties/name", "/features/2/properties/colour"]);
        assert_eq!(pointers(3), ["/features/3/geometry/type"]);
        let path = format!("/v1/geofences/{}", text(&body["results"][4]["id"]));
        assert_eq!(app.get(&path, &org.viewer).await.ok(200)["name"], "e");
        assert_eq!(
            app.get("/v1/geofences?category=stop", &org.viewer).await.ok(200)["pagination"]["totalItems"],
            2
        );
        app
    });
}

#[test]
fn a_feature_says_its_shape_by_its_geometry_alone() {
    with_app(async |app| {
        let org = app.org("mapping").await;
        let feature = |properties: Value, geometry: Value| json!({ "type": "Feature", "id": 7, "properties": properties, "geometry": geometry });
        let p = json!({ "latitude": 1, "longitude": 1 });
        let shape = json!({ "type": "circle", "center": p, "radiusMeters": 5 });
        let triangle = json!({ "type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 0]]] });
        let body = import(
            &app,
            &org.dispatcher,
            vec![
                feature(json!({ "name": "a" }), triangle.clone()),
                feature(json!({ "name": "b", "shape": shape }), Value::Null),
                feature(json!({ "name": "c", "radiusMeters": 5 }), triangle),
                feature(json!({ "name": "d", "type": "depot" }), Value::Null),
                json!({ "type": "Feature", "a/b": 1 }),
            ],
        )
        .await
        .ok(200);
        let pointers = |index: usize| -> Vec<String> {
            let errors = body["results"][index]["problem"]["errors"].as_array();
            errors.into_iter().flatten().map(|error| text(&error["pointer"])).collect()
        };
        assert_eq!(body["created"], 1, "{body}");
        assert_eq!(pointers(1), ["/features/1/properties/shape"]);
        assert_eq!(pointers(2), ["/features/2/properties/radiusMeters"]);
        assert_eq!(pointers(3), ["/features/3/geometry", "/features/3/properties/type"]);
        assert_eq!(pointers(4), ["/features/4/a~1b"]);
        // Of each feature no more is told than of a request.
        let holes = json!([vec![0; 300]]);
        let bad = json!({ "type": "Feature", "properties": { "name": "x" },
            "geometry": { "type": "Polygon", "coordinates": holes } });
        let body = import(&app, &org.dispatcher, vec![bad]).await.ok(200);
        let told = body["results"][0]["problem"]["errors"].as_array().unwrap().len();
        assert!((1..=100).contains(&told), "{told}");
        app
    });
}

#[test]
fn the_plan_and_the_size_are_limits() {
    with_app(async |app| {
        let org = app.org("small").await;
        let path = format!("/v1/organizations/organization/{}", org.id);
        let limits = json!({ "subscription": { "limits": { "geofences": 2 } } });
        app.put(&path, &app.root, limits).await.ok(200);
        let body =
            import(&app, &org.org_admin, (0..3).map(|i| point("p", f64::from(i))).collect()).await.ok(200);
        assert_eq!(body["created"], 2);
        assert_eq!(body["results"][2]["problem"]["code"], "planLimitReached");
        let many = import(&app, &org.org_admin, (0..1001).map(|_| json!({})).collect()).await;
        many.problem(422, "validationFailed");
        assert_eq!(many.pointers(), ["/features"]);
        import(&app, &org.viewer, vec![]).await.problem(403, "forbidden");
        let plain = app.post("/v1/geofences/import", &org.org_admin, json!({ "type": "Feature" })).await;
        plain.problem(422, "validationFailed");
        assert_eq!(plain.pointers(), ["/type"]);
        app
    });
}

#[test]
fn a_large_body_waits_for_those_of_its_own_server_only() {
    with_app(async |app| {
        let org = app.org("large").await;
        let bearer = format!("Bearer {}", org.org_admin);
        let headers = [
            ("content-type", "application/geo+json"),
            ("content-encoding", "zstd"),
            ("authorization", bearer.as_str()),
        ];
        let body = json!({ "type": "FeatureCollection", "features": [point("a", 50.0)] }).to_string();
        let packed = zstd::encode_all(body.as_bytes(), 1).unwrap();
        let send = || app.send("POST", "/v1/geofences/import", &headers, packed.clone());
        let other = App::start_with(|_| {}).await;
        let others = other.context.large_bodies.turn().await.unwrap();
        send().await.ok(200);
        let own = app.context.large_bodies.turn().await.unwrap();
        let said = send().await;
        said.problem(503, "busy");
        assert_eq!(said.header("retry-after"), Some("1"));
        drop((own, others));
        other.stop().await;
        app
    });
}
