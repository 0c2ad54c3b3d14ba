//! Lists read their page and little more, however much history there is: no form of a list goes through it.
//!
//! PostgreSQL counts the rows that it reads. SQLite counts the steps of its machine: with no time at all, a list is given up at
//! the first look at the clock, which is after 50,000. `WAYPOST_TEST_STAYS=` makes more history, and prints how long each form
//! takes.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use sqlx::AssertSqlSafe;
use waypost::store::sql::{Db, Engine, Pools};
use waypost::store::time_index;
use waypost_actors::model::{OrganizationId, Timestamp};

use crate::harness::{App, START, Said, circle, on_each_engine, text};

/// Rows that a form may read on PostgreSQL.
const FEW_ROWS: i64 = 15_000;
/// Seconds from one stay to the next.
const EVERY: i64 = 600;

/// Vehicles that take turns.
const VEHICLES: usize = 10;

/// Stays to make.
fn stays() -> i64 {
    std::env::var("WAYPOST_TEST_STAYS").map_or(20_000, |number| number.parse().expect("a number"))
}

/// Whose history it is.
struct History {
    organization: String,
    vehicles: Vec<String>,
    idle_vehicle: String,
    fence: String,
    empty_fence: String,
}

async fn history(app: &App) -> History {
    let org = app.org("fleet").await;
    let vehicle = async |name: &str| {
        text(&app.post("/v1/vehicles", &org.org_admin, json!({ "name": name })).await.ok(201)["id"])
    };
    let fence =
        async |name: &str| text(&app.post("/v1/geofences", &org.org_admin, circle(name)).await.ok(201)["id"]);
    let mut vehicles = Vec::new();
    for number in 0..VEHICLES {
        vehicles.push(vehicle(&format!("busy {number}")).await);
    }
    let history = History {
        vehicles,
        idle_vehicle: vehicle("idle").await,
        fence: fence("Depot").await,
        empty_fence: fence("Nowhere").await,
        organization: org.id,
    };
    fill(&app.context.db, &history).await;
    // As each hour.
    let organization = OrganizationId(history.organization.parse().unwrap());
    time_index::renew(&app.context.db, organization).await.unwrap();
    history
}

/// Makes stays of one to nine minutes, one after the other, of which the last goes on, with their records, and as many fuel
/// readings and entries of the audit.
async fn fill(db: &Db, history: &History) {
    let is_postgres = db.engine() == Engine::Postgres;
    let id = |number: &str| match is_postgres {
        true => format!("cast(lpad(to_hex({number}), 32, '0') as uuid)"),
        false => format!("unhex(printf('%032x', {number}))"),
    };
    let known = |id: &str| match is_postgres {
        true => format!("cast('{id}' as uuid)"),
        false => format!("unhex('{}')", id.replace('-', "")),
    };
    let begin = START.as_millis() / 1000 - EVERY * stays();
    let at = |seconds: &str| match is_postgres {
        true => format!("to_timestamp({begin} + {seconds})"),
        false => format!("({begin} + {seconds}) * 1000000"),
    };
    let (entered, exited) = (at(&format!("i * {EVERY}")), at(&format!("i * {EVERY} + 60 + i % 480")));
    let n = stays();
    let (org, fence) = (known(&history.organization), known(&history.fence));
    let whens = history.vehicles.iter().enumerate();
    let whens = whens.map(|(number, vehicle)| format!(" when {number} then {}", known(vehicle)));
    let vehicle = format!("case i % {VEHICLES}{} end", whens.collect::<String>());
    let (stay, entry, exit) = (id("i"), id("10000000000 + 2 * i"), id("10000000001 + 2 * i"));
    let rows = format!(
        "with recursive n(i) as (select cast(1 as bigint) union all select i + 1 from n where i < {n})"
    );
    let record = |kind: &str, id: &str, sequence: &str, at: &str| {
        format!(
            "insert into records (id, sequence, kind, status, revision, organization_id, vehicle_id, occurred_at, confirmed_at, \
             detected_at, origin, latitude, longitude, visit_id, geofence_id, geofence_version, time_uncertainty_seconds, cause, \
             inferred, fix_recorded_at, fix_latitude, fix_longitude) {rows} select {id}, {sequence}, '{kind}', 'active', 1, {org}, \
             {vehicle}, {at}, {at}, {at}, 'live', 30.27, -97.74, {stay}, {fence}, 1, 0.0, 'crossing', false, {at}, 30.27, -97.74 from n"
        )
    };
    let texts = [
        format!(
            "insert into visit (id, organization_id, vehicle_id, geofence_id, entry_event_id, entered_at, exit_event_id, exited_at) \
             {rows} select {stay}, {org}, {vehicle}, {fence}, {entry}, {entered}, case when i < {n} then {exit} end, \
             case when i < {n} then {exited} end from n"
        ),
        record("entry", &entry, "2 * i", &entered),
        record("exit", &exit, "2 * i + 1", &exited),
        format!(
            "insert into fuel_log (vehicle_id, recorded_at, id, organization_id, received_at, latitude, longitude, unit, raw_value, \
             quality) {rows} select {vehicle}, {entered}, {stay}, {org}, {entered}, 30.27, -97.74, 'liters', 50.0, 'ok' from n"
        ),
        format!(
            "insert into audit (id, organization_id, actor_id, actor_role, action, resource, resource_id, occurred_at) \
             {rows} select {stay}, {org}, {vehicle}, 'orgAdmin', 'update', 'vehicle', {vehicle}, {entered} from n"
        ),
        "analyze".to_owned(),
    ];
    for text in texts.iter().take(if is_postgres { 6 } else { 5 }) {
        db.write()
            .sql(AssertSqlSafe(text.clone()))
            .run()
            .await
            .unwrap_or_else(|error| panic!("{text}: {error}"));
    }
}

/// Whom there is nothing of.
const NOBODY: &str = "01890000-0000-7000-8000-000000000000";

/// Where forms look into the history: its begin, its middle, a day after that, and the last day.
struct Instants {
    begin: Timestamp,
    middle: Timestamp,
    next: Timestamp,
    day: Timestamp,
}

fn instants() -> Instants {
    let ago = |seconds: f64| START.plus_seconds(-seconds);
    let (all_seconds, day_seconds) = ((stays() * EVERY) as f64, 86_400.0);
    let middle = ago(all_seconds / 2.0);
    Instants {
        begin: ago(all_seconds),
        middle,
        next: middle.plus_seconds(day_seconds),
        day: ago(day_seconds),
    }
}

fn forms(history: &History) -> Vec<String> {
    let History { vehicles, idle_vehicle, fence, empty_fence, .. } = history;
    let vehicle = &vehicles[0];
    let Instants { begin, middle, next, day } = instants();
    let mut forms = Vec::new();
    for query in [
        String::new(),
        format!("&vehicleId={idle_vehicle}&sort=sequence"),
        format!("&driverId={NOBODY}"),
        format!("&geofenceId={empty_fence}"),
        format!("&geofenceId={empty_fence}&sort=sequence"),
        format!("&geofenceId={fence}&sort=sequence"),
        format!("&sort=sequence&from={begin}"),
        format!("&sort=sequence&from={middle}"),
        format!("&sort=sequence&from={day}"),
        format!("&vehicleId={vehicle}&geofenceId={fence}"),
        format!("&vehicleId={vehicle}&geofenceId={fence}&sort=sequence"),
        format!("&vehicleId={vehicle}&geofenceId={empty_fence}"),
        format!("&vehicleId={idle_vehicle}&geofenceId={fence}"),
        format!("&vehicleId={idle_vehicle}&geofenceId={fence}&sort=occurredAt&from={begin}"),
        format!("&vehicleId={idle_vehicle}&geofenceId={fence}&sort=sequence"),
        "&type=dwell".to_owned(),
        "&cause=initial".to_owned(),
        "&origin=backfill".to_owned(),
        "&inferred=true".to_owned(),
        "&status=retracted".to_owned(),
        "&minDurationSeconds=7200".to_owned(),
        format!("&minDurationSeconds=7200&geofenceId={fence}&sort=occurredAt"),
        "&minDurationSeconds=60".to_owned(),
        format!("&from={middle}&to={next}"),
    ] {
        forms.push(format!("/v1/geofence-events?{query}"));
    }
    for query in [
        String::new(),
        format!("&driverId={NOBODY}"),
        format!("&vehicleId={vehicle}"),
        format!("&vehicleId={idle_vehicle}"),
        format!("&geofenceId={fence}"),
        format!("&geofenceId={empty_fence}&sort=enteredAt"),
        "&open=true".to_owned(),
        format!("&open=true&geofenceId={fence}"),
        format!("&open=true&vehicleId={vehicle}"),
        format!("&from={day}&sort=enteredAt"),
        format!("&from={day}&geofenceId={empty_fence}"),
        format!("&from={middle}&to={next}"),
        format!("&from={START}"),
        "&minDurationSeconds=7200".to_owned(),
        format!("&minDurationSeconds=7200&geofenceId={fence}"),
        format!("&minDurationSeconds=7200&vehicleId={idle_vehicle}"),
        "&minDurationSeconds=60&sort=enteredAt".to_owned(),
    ] {
        forms.push(format!("/v1/visits?{query}"));
    }
    forms.extend(other_forms(history));
    forms
}

/// Those of fuel, alerts, the audit and of who was inside.
fn other_forms(history: &History) -> Vec<String> {
    let History { vehicles, fence, empty_fence, .. } = history;
    let vehicle = &vehicles[0];
    let Instants { middle, next, .. } = instants();
    let mut forms = Vec::new();
    for query in ["&quality=sensorError".to_owned(), format!("&quality=sensorError&vehicleId={vehicle}")] {
        forms.push(format!("/v1/fuel?{query}"));
    }
    forms.push("/v1/fuel/events?&sort=sequence".to_owned());
    for query in [
        String::new(),
        "&open=true".to_owned(),
        "&open=false&sort=occurredAt".to_owned(),
        "&rule=drain".to_owned(),
        "&sort=sequence".to_owned(),
        format!("&vehicleId={vehicle}"),
    ] {
        forms.push(format!("/v1/alerts?{query}"));
    }
    for query in [
        String::new(),
        format!("&from={middle}&to={next}"),
        "&action=delete".to_owned(),
        "&action=delete&action=create&resource=user".to_owned(),
        format!("&actorId={NOBODY}"),
        format!("&resourceId={NOBODY}"),
        "&resource=user".to_owned(),
    ] {
        forms.push(format!("/v1/audit?{query}"));
    }
    for fence in [fence, empty_fence] {
        forms.push(format!("/v1/geofence-events/geofence/{fence}/vehicles?&asOf={middle}"));
    }
    forms
}

/// The path of a form for the organization.
fn of_organization(history: &History, form: &str) -> String {
    form.replace('?', &format!("?organizationId={}", history.organization))
}

/// What a form answers. SQLite goes on counting from one run of a statement to the next, so it is asked twice.
async fn asked(app: &App, history: &History, form: &str) -> Said {
    let path = of_organization(history, form);
    let said = app.get(&path, &app.root).await;
    if said.status == 503 { app.get(&path, &app.root).await } else { said }
}

/// Forms that go on from a cursor in the middle of a long range.
async fn going_on(app: &App, history: &History) -> Vec<String> {
    let Instants { begin, middle, next, day } = instants();
    let cursor = async |list: &str| {
        let first = asked(app, history, &format!("{list}&from={middle}&to={next}&limit=1")).await;
        text(&first.ok(200)["pagination"]["endCursor"])
    };
    let mut forms = Vec::new();
    for (list, key) in [("geofence-events", "occurredAt"), ("visits", "enteredAt"), ("fuel", "recordedAt")] {
        let (oldest, newest) = (format!("/v1/{list}?&sort={key}"), format!("/v1/{list}?&sort=-{key}"));
        let after = cursor(&oldest).await;
        let narrower = asked(app, history, &format!("{oldest}&from={day}&after={after}&limit=1")).await;
        let first = text(&narrower.ok(200)["data"][0][key]);
        // A stay may have begun a little before the day.
        assert!(
            first > day.plus_seconds(-3_600.0).to_string(),
            "{first}: a cursor from before it widens no range"
        );
        forms.push(format!("{oldest}&from={begin}&after={after}"));
        forms.push(format!("{newest}&to={START}&after={}", cursor(&newest).await));
    }
    let after = cursor("/v1/audit?").await;
    forms.push(format!("/v1/audit?&from={begin}&to={START}&after={after}"));
    forms
}

/// A list by number since an instant begins with the first record since then, though it reads none of before.
async fn begins_where_it_should(app: &App, history: &History) {
    let Instants { middle, .. } = instants();
    let form = format!("/v1/geofence-events?&sort=sequence&from={middle}&limit=1");
    let first = text(&asked(app, history, &form).await.ok(200)["data"][0]["occurredAt"]);
    let behind = middle.plus_seconds(EVERY as f64).to_string();
    assert!(first >= middle.to_string() && first < behind, "{first} is not the first since {middle}");
}

/// Rows that PostgreSQL has read for this database.
async fn rows_read(db: &Db) -> Option<i64> {
    let Pools::Postgres { lists, .. } = &db.pools else { return None };
    let all = join_all((0..lists.options().get_max_connections()).map(|_| lists.acquire())).await;
    for connection in all {
        let mut connection = connection.unwrap();
        sqlx::query("select pg_stat_force_next_flush()").execute(&mut *connection).await.unwrap();
    }
    let sum = "select cast((select sum(seq_tup_read) from pg_stat_user_tables) \
        + (select sum(idx_tup_read) from pg_stat_user_indexes) as bigint)";
    Some(db.read().sql(sum).scalar().await.unwrap())
}

async fn no_form_goes_through_it(app: App) -> App {
    let history = history(&app).await;
    let engine = app.context.db.engine();
    begins_where_it_should(&app, &history).await;
    let mut wrong = Vec::new();
    for form in forms(&history).into_iter().chain(going_on(&app, &history).await) {
        let path = of_organization(&history, &form);
        let before = rows_read(&app.context.db).await;
        let status = asked(&app, &history, &form).await.status;
        let read = rows_read(&app.context.db).await.zip(before).map(|(after, before)| after - before);
        if status != 200 || read.is_some_and(|read| read > FEW_ROWS) {
            wrong.push(format!("{status}, {read:?} rows: {form}"));
        }
        if std::env::var("WAYPOST_TEST_STAYS").is_ok() {
            let mut times = Vec::new();
            for _ in 0..20 {
                let began = Instant::now();
                app.get(&path, &app.root).await;
                times.push(began.elapsed().as_secs_f64() * 1000.0);
            }
            times.sort_by(f64::total_cmp);
            println!("{engine:?} | {} | {:.1} | {:.1} | {}", stays(), times[10], times[19], &form[3..]);
        }
    }
    assert!(wrong.is_empty(), "{engine:?}:\n{}", wrong.join("\n"));
    app
}

#[test]
fn no_list_goes_through_history() {
    on_each_engine(no_form_goes_through_it);
    actix_rt::System::new().block_on(async {
        let app = App::start_with_root(|settings| {
            settings.statement_timeout = Duration::ZERO;
        })
        .await;
        no_form_goes_through_it(app).await.stop().await;
    });
}
