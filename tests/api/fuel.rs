//! The fuel log, refuels and drains, charts and consumption.

use serde_json::{Value, json};
use uuid::Uuid;
use waypost::store::time::Time;
use waypost_actors::model::Timestamp;

use crate::harness::{App, Org, START, on_each_engine, text, with_app};

/// Puts readings of a level into the log: seconds after noon, litres. Returns their ids.
pub(crate) async fn log(
    app: &App,
    organization: &str,
    vehicle: &str,
    readings: &[(i64, f64)],
) -> Vec<String> {
    let insert = "insert into fuel_log (vehicle_id, recorded_at, id, organization_id, received_at, latitude, longitude, \
        distance_meters, unit, raw_value, level_raw_liters, level_liters, quality, calibration_version) \
        values ($1, $2, $3, $4, $2, 30.25, -97.5, 500.0, 'liters', $5, $6, $6, $7, 1)";
    let uuid = |text: &str| text.parse::<Uuid>().unwrap();
    let mut ids = Vec::new();
    for (seconds, liters) in readings {
        let at = noon(*seconds);
        let id =
            Uuid::from_u128((at.as_millis() as u128) << 80 | (uuid(vehicle).as_u128() & ((1 << 80) - 1)));
        let ok = *liters <= 100.0;
        let stmt = app.context.db.write().sql(insert).bind(uuid(vehicle)).bind(Time(at)).bind(id);
        let stmt = stmt.bind(uuid(organization)).bind(*liters).bind(ok.then_some(*liters));
        stmt.bind(if ok { "ok" } else { "outOfRange" }).run().await.unwrap();
        ids.push(id.to_string());
    }
    ids
}

/// Seconds after 2026-05-01T12:00:00Z.
fn noon(seconds: i64) -> Timestamp {
    START.plus_seconds(seconds as f64)
}

/// Puts a refuel of 40 litres, or a drain, into the store.
pub(crate) async fn tank_event(
    app: &App,
    org: &Org,
    vehicle: &str,
    number: i64,
    kind: &'static str,
    seconds: i64,
) {
    let insert = "insert into records (id, sequence, kind, status, revision, organization_id, vehicle_id, occurred_at, \
        ended_at, detail, detected_at, origin, confirmed_at) \
        values ($1, $2, $3, $4, 1, $5, $6, $7, $8, $9, $8, 'live', $8)";
    let (before, after) = if kind == "refuel" { (20.0, 60.0) } else { (60.0, 20.0) };
    let detail = json!({ "levelBeforeLiters": before, "levelAfterLiters": after, "volumeLiters": 40.0,
        "geofenceIds": [], "motion": "stopped", "confidence": 0.9, "calibrationVersion": 1 });
    let stmt =
        app.context.db.write().sql(insert).bind(Uuid::from_u128(number as u128)).bind(number).bind(kind);
    let stmt = stmt.bind(if number % 7 == 0 { "retracted" } else { "active" });
    let stmt = stmt.bind(org.id.parse::<Uuid>().unwrap()).bind(vehicle.parse::<Uuid>().unwrap());
    let stmt = stmt.bind(Time(noon(seconds))).bind(Time(noon(seconds + 60))).bind(detail.to_string());
    stmt.run().await.unwrap();
}

async fn vehicle(app: &App, org: &Org, name: &str) -> String {
    text(&app.post("/v1/vehicles", &org.org_admin, json!({ "name": name })).await.ok(201)["id"])
}

fn members<'a>(body: &'a Value, name: &str) -> Vec<&'a Value> {
    body["data"].as_array().unwrap().iter().map(|item| &item[name]).collect()
}

#[test]
fn the_log_is_filtered_paged_and_nobody_elses() {
    on_each_engine(async |app| {
        let (org, other) = (app.org("fuelled").await, app.org("other").await);
        let (a, b) = (vehicle(&app, &org, "a").await, vehicle(&app, &org, "b").await);
        let ids = log(&app, &org.id, &a, &[(0, 50.0), (60, 49.5), (120, 655.35)]).await;
        log(&app, &org.id, &b, &[(30, 80.0), (60, 79.0)]).await;
        let get = async |query: &str| app.get(&format!("/v1/fuel{query}"), &org.viewer).await;
        let values = |body: &Value| -> Vec<f64> {
            members(body, "rawValue").into_iter().map(|value| value.as_f64().unwrap()).collect()
        };
        let all = values(&get("").await.ok(200));
        assert_eq!((all.len(), all[0], all[4]), (5, 655.35, 50.0), "the newest first");
        let of_a = format!("?vehicleId={a}");
        assert_eq!(values(&get(&format!("{of_a}&sort=recordedAt")).await.ok(200)), [50.0, 49.5, 655.35]);
        assert_eq!(values(&get(&format!("{of_a}&quality=ok")).await.ok(200)), [49.5, 50.0]);
        let range = "&from=2026-05-01T12:01:00Z&to=2026-05-01T12:02:00Z";
        assert_eq!(values(&get(&format!("{of_a}{range}")).await.ok(200)), [49.5]);
        for sort in ["recordedAt", "-recordedAt"] {
            let mut seen = Vec::new();
            let mut cursor = String::new();
            loop {
                let page = get(&format!("?limit=2&sort={sort}{cursor}")).await;
                let body = page.ok(200);
                seen.extend(values(&body));
                cursor = format!("&after={}", text(&body["pagination"]["endCursor"]));
                if body["pagination"]["hasNextPage"] == false {
                    assert!(page.header("link").is_none());
                    break;
                }
            }
            assert_eq!(seen.len(), 5, "{sort}: {seen:?}");
            // A list is a feed too.
            assert_eq!(get(&format!("?sort={sort}{cursor}")).await.ok(200)["data"], json!([]));
            let foreign = app.get(&format!("/v1/fuel?sort={sort}{cursor}"), &other.viewer).await;
            foreign.problem(400, "invalidCursor");
        }
        let path = format!("/v1/fuel/{}", ids[2]);
        let entry = app.get(&path, &org.viewer).await.ok(200);
        assert_eq!((&entry["quality"], &entry["vehicleId"]), (&json!("outOfRange"), &json!(a)));
        assert_eq!(entry.get("levelLiters"), None, "an error never reads as a level");
        app.get(&path, &other.viewer).await.problem(404, "notFound");
        let unknown = format!("/v1/fuel/{}", Uuid::from_u128(u128::MAX));
        app.get(&unknown, &org.viewer).await.problem(404, "notFound");
        assert_eq!(app.get("/v1/fuel", &other.viewer).await.ok(200)["data"], json!([]));
        get("?quality=bad").await.problem(400, "invalidParameter");
        get("?sort=name").await.problem(400, "invalidParameter");
        app
    });
}

#[test]
fn refuels_and_drains_are_listed_and_fed() {
    on_each_engine(async |app| {
        let (org, other) = (app.org("fuelled").await, app.org("other").await);
        let (a, b) = (vehicle(&app, &org, "a").await, vehicle(&app, &org, "b").await);
        for (number, vehicle, kind, seconds) in
            [(1, &a, "refuel", 0), (2, &b, "drain", 600), (3, &a, "drain", 300), (7, &a, "refuel", 900)]
        {
            tank_event(&app, &org, vehicle, number, kind, seconds).await;
        }
        let numbers = async |query: &str| -> Vec<i64> {
            let body = app.get(&format!("/v1/fuel/events{query}"), &org.viewer).await.ok(200);
            members(&body, "sequence").into_iter().map(|number| number.as_i64().unwrap()).collect()
        };
        assert_eq!(numbers("").await, [2, 3, 1]);
        assert_eq!(numbers("?sort=startedAt").await, [1, 3, 2]);
        assert_eq!(numbers("?sort=sequence").await, [1, 2, 3, 7], "the feed tells of retractions too");
        assert_eq!(numbers("?status=retracted").await, [7]);
        assert_eq!(numbers(&format!("?vehicleId={a}&type=drain")).await, [3]);
        assert_eq!(numbers("?from=2026-05-01T12:05:30Z&to=2026-05-01T12:10:00Z").await, [3]);
        let first = app.get("/v1/fuel/events?sort=sequence&limit=2", &org.viewer).await.ok(200);
        assert_eq!(first["pagination"]["hasNextPage"], true);
        let cursor = text(&first["pagination"]["endCursor"]);
        assert_eq!(numbers(&format!("?sort=sequence&after={cursor}")).await, [3, 7]);
        let newest = app.get("/v1/fuel/events?limit=1", &org.viewer).await.ok(200);
        let cursor = text(&newest["pagination"]["endCursor"]);
        assert_eq!(numbers(&format!("?after={cursor}")).await, [3, 1]);
        let wrong = format!("/v1/fuel/events?sort=startedAt&after={cursor}");
        app.get(&wrong, &org.viewer).await.problem(400, "invalidCursor");
        assert_eq!(app.get("/v1/fuel/events", &other.viewer).await.ok(200)["data"], json!([]));
        app
    });
}

const DAY: &str = "from=2026-05-01T00:00:00Z&to=2026-05-02T00:00:00Z";

#[test]
fn raw_data_is_whole_in_each_form() {
    on_each_engine(async |app| {
        let (org, other) = (app.org("fuelled").await, app.org("other").await);
        let (a, b) = (vehicle(&app, &org, "a").await, vehicle(&app, &org, "b").await);
        // More than two pages, then another vehicle.
        let many: Vec<(i64, f64)> = (0..2_100).map(|step| (step, 50.0 - step as f64 / 100.0)).collect();
        log(&app, &org.id, &a, &many).await;
        log(&app, &org.id, &b, &[(5, 80.0)]).await;
        let path = format!("/v1/fuel/raw-data?vehicleId={a},{b}&{DAY}");
        let said = app.get(&path, &org.viewer).await;
        assert_eq!(said.header("transfer-encoding"), Some("chunked"));
        let array = said.ok(200);
        let array = array.as_array().unwrap();
        assert_eq!(array.len(), 2_101);
        let mut vehicles = [a.clone(), b.clone()];
        vehicles.sort();
        let key = |entry: &Value| (text(&entry["vehicleId"]), text(&entry["recordedAt"]));
        assert!(array.is_sorted_by_key(key), "by vehicle and time");
        let bearer = format!("Bearer {}", org.viewer);
        let accept = async |kind: &str| {
            app.send("GET", &path, &[("authorization", bearer.as_str()), ("accept", kind)], "").await
        };
        let lines = accept("application/x-ndjson").await;
        assert_eq!(lines.header("content-type"), Some("application/x-ndjson"));
        let lines: Vec<Value> = String::from_utf8(lines.bytes)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(&lines, array);
        let table = accept("text/csv").await;
        assert_eq!(table.header("content-disposition"), Some("attachment; filename=\"fuel.csv\""));
        let table = String::from_utf8(table.bytes).unwrap();
        assert_eq!(table.matches("\r\n").count(), 2_102);
        let by_name = app.get(&format!("{path}&format=csv"), &org.viewer).await;
        assert_eq!(String::from_utf8(by_name.bytes).unwrap(), table);
        accept("image/png").await.problem(406, "notAcceptable");
        let zipped = [("authorization", bearer.as_str()), ("accept-encoding", "gzip")];
        let zipped = app.send("GET", &path, &zipped, "").await;
        assert_eq!(zipped.header("content-encoding"), Some("gzip"));
        let mut text = String::new();
        std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&zipped.bytes[..]), &mut text)
            .unwrap();
        assert_eq!(serde_json::from_str::<Vec<Value>>(&text).unwrap().len(), 2_101);
        let nothing =
            format!("/v1/fuel/raw-data?vehicleId={b}&from=2026-04-01T00:00:00Z&to=2026-05-01T00:00:00Z");
        assert_eq!(app.get(&nothing, &org.viewer).await.ok(200), json!([]));
        app.get(&path, &other.viewer).await.problem(404, "notFound");
        // There, a broken answer looks like a complete one.
        let old = awc::Client::default().get(format!("{}{path}", app.url)).bearer_auth(&org.viewer);
        let mut said = old.version(awc::http::Version::HTTP_10).send().await.unwrap();
        assert_eq!(said.status().as_u16(), 505);
        assert_eq!(said.json::<Value>().await.unwrap()["code"], "httpVersion");
        app
    });
}

#[test]
fn a_period_is_whole_and_not_too_long() {
    with_app(async |app| {
        let org = app.org("fuelled").await;
        let bus = vehicle(&app, &org, "a").await;
        let wrong = async |path: &str, query: &str, pointers: &[&str]| {
            let said = app.get(&format!("/v1/fuel/{path}?{query}"), &org.viewer).await;
            said.problem(422, "validationFailed");
            assert_eq!(said.pointers(), pointers, "{path} {query}");
        };
        for path in ["raw-data", "chart", "consumption"] {
            wrong(path, "", &["?vehicleId", "?from", "?to"]).await;
            wrong(path, DAY, &["?vehicleId"]).await;
            wrong(path, &format!("vehicleId={bus}&to=2026-05-01T00:00:00Z"), &["?from"]).await;
            let backwards = "from=2026-05-02T00:00:00Z&to=2026-05-01T00:00:00Z";
            wrong(path, &format!("vehicleId={bus}&{backwards}"), &["?to"]).await;
            let years = "from=2024-05-01T00:00:00Z&to=2026-05-01T00:00:00Z";
            wrong(path, &format!("vehicleId={bus}&{years}"), &["?to"]).await;
            let unknown = format!("/v1/fuel/{path}?vehicleId={}&{DAY}", Uuid::from_u128(7));
            app.get(&unknown, &org.viewer).await.problem(404, "notFound");
        }
        let month = "from=2026-04-01T00:00:00Z&to=2026-05-02T00:00:01Z";
        wrong("raw-data", &format!("vehicleId={bus}&{month}"), &["?to"]).await;
        let month = "from=2026-04-01T00:00:00Z&to=2026-05-02T00:00:00Z";
        app.get(&format!("/v1/fuel/raw-data?vehicleId={bus}&{month}"), &org.viewer).await.ok(200);
        let chart = format!("/v1/fuel/chart?vehicleId={bus}&{DAY}");
        for query in ["&points=3", "&points=5001", "&format=excel"] {
            app.get(&format!("{chart}{query}"), &org.viewer).await.problem(400, "invalidParameter");
        }
        let two = app.get(&format!("{chart}&vehicleId={bus}"), &org.viewer).await;
        two.problem(400, "invalidParameter");
        app
    });
}

#[test]
fn a_chart_keeps_a_theft_of_one_reading_and_marks_what_happened() {
    with_app(async |app| {
        let org = app.org("fuelled").await;
        let bus = vehicle(&app, &org, "a").await;
        // Ten hours of readings a minute apart but for an hour's gap; one of them is a spike.
        let level = |minute: i64| match minute {
            200 => 12.0,
            ..300 => 60.0,
            _ => 90.0,
        };
        let readings: Vec<(i64, f64)> = (0..600)
            .filter(|minute| !(400..460).contains(minute))
            .map(|minute| (minute * 60, level(minute)))
            .collect();
        log(&app, &org.id, &bus, &readings).await;
        tank_event(&app, &org, &bus, 1, "refuel", 299 * 60).await;
        tank_event(&app, &org, &bus, 7, "drain", 100 * 60).await; // retracted
        let chart = async |query: &str| {
            let period = "from=2026-05-01T12:00:00Z&to=2026-05-01T22:00:00Z";
            let path = format!("/v1/fuel/chart?vehicleId={bus}&{period}{query}");
            app.get(&path, &org.viewer).await.ok(200)
        };
        let data = chart("&points=50").await;
        let levels = data["datasets"][0]["data"].as_array().unwrap();
        assert_eq!(levels.len(), data["labels"].as_array().unwrap().len());
        let there = levels.iter().filter(|level| !level.is_null()).count();
        assert!(there <= 50, "{there}");
        let spike = levels.iter().position(|level| *level == json!(12.0)).unwrap();
        assert_eq!(data["labels"][spike], json!(noon(200 * 60)));
        assert!(levels.iter().any(Value::is_null), "the gap");
        let marks = data["annotations"].as_object().unwrap();
        let [(_, mark)] = &marks.iter().collect::<Vec<_>>()[..] else { panic!("{marks:?}") };
        assert_eq!((&mark["xMin"], &mark["xMax"]), (&json!(noon(299 * 60)), &json!(noon(300 * 60))));
        assert_eq!(mark["label"]["content"], "Refuel +40.0 l");
        let apex = chart("&points=50&format=apexcharts").await;
        assert_eq!(apex["annotations"]["xaxis"][0]["x"], json!(noon(299 * 60).as_millis()));
        let option = chart("&points=50&format=echarts").await;
        assert_eq!(option["series"][0]["markArea"]["data"].as_array().unwrap().len(), 1);
        let columns = chart("&format=columns&points=5000").await;
        assert_eq!(columns["recordedAt"].as_array().unwrap().len(), 540 + 1, "all of them, and the gap");
        assert_eq!(columns["events"][0]["type"], "refuel");
        app
    });
}

#[test]
fn consumption_of_a_period() {
    on_each_engine(async |app| {
        let org = app.org("fuelled").await;
        let (a, b) = (vehicle(&app, &org, "a").await, vehicle(&app, &org, "b").await);
        // Half a litre and 500 m a minute, from an hour before the period on; 40 litres were refuelled.
        let level = |minute: i64| 60.0 - minute as f64 / 2.0 + if minute > 60 { 40.0 } else { 0.0 };
        let readings: Vec<(i64, f64)> =
            (-60..=120).map(|minute| (minute * 60, level(minute).min(99.0))).collect();
        log(&app, &org.id, &a, &readings).await;
        tank_event(&app, &org, &a, 1, "refuel", 60 * 60).await;
        let path = format!(
            "/v1/fuel/consumption?vehicleId={a}&vehicleId={b}&from=2026-05-01T12:00:00Z&to=2026-05-01T14:00:01Z"
        );
        let body = app.get(&path, &org.viewer).await.ok(200);
        let data = body["data"].as_array().unwrap();
        let of = |id: &str| data.iter().find(|item| item["vehicleId"] == json!(id)).unwrap();
        let number = |name: &str| of(&a)[name].as_f64().unwrap_or_else(|| panic!("{name}: {body}"));
        assert!((number("liters") - 60.0).abs() < 1.0, "{body}");
        assert_eq!((number("refueledLiters"), number("drainedLiters")), (40.0, 0.0));
        assert!((number("distanceKm") - 60.5).abs() < 0.6, "{body}");
        assert!((number("litersPer100Km") - 100.0).abs() < 2.0, "{body}");
        assert!(number("coverage") > 0.99);
        assert_eq!(of(&a)["source"], "level");
        assert_eq!((&of(&b)["liters"], &of(&b)["litersPer100Km"]), (&Value::Null, &Value::Null));
        app
    });
}
