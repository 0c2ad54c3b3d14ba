//! Raw data of the fuel log while things go wrong: a client that does not read, a database that dies, millions of rows.

use std::time::{Duration, Instant};

use awc::Client;
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use uuid::Uuid;
use waypost::config::Secret;
use waypost::store::sql::Db;
use waypost::store::time::Time;
use waypost_actors::model::Timestamp;
use waypost_test_support::{Engine, PASSWORD, PrivatePostgres, Program, ROOT, TestStore, for_each_engine};

use crate::server::{Bus, DEADLINE, Server, launch, settings, text};

for_each_engine!(a_client_that_does_not_read_holds_nothing_up, a_failure_in_the_middle_breaks_the_transfer,);

/// 2026-05-01T00:00:00Z.
const BEGIN: Timestamp = Timestamp::from_micros(1_777_593_600_000_000);
/// Much more than the buffers of two sockets hold.
const ROWS: i64 = 60_000;
/// Rows of one insert: it may take no longer than a statement of the server's.
const BATCH: i64 = 50_000;

/// Fills the log of a vehicle: a reading every two seconds.
async fn fill(db: &Db, organization: &str, bus: &Bus, rows: i64) {
    const POSTGRES: &str = "insert into fuel_log (vehicle_id, recorded_at, id, organization_id, received_at, latitude, \
        longitude, speed_kmh, odometer_km, ignition, distance_meters, unit, raw_value, level_raw_liters, level_liters, \
        level_percent, quality, calibration_version) select $1, $2 + make_interval(secs => n * 2), gen_random_uuid(), \
        $3, $2 + make_interval(secs => n * 2 + 1), 30.2672, -97.7431 + n * 1e-7, 52.5, 1000 + n * 0.029, true, 29.2, \
        'percent', 61.5, 246.25, 246.375, 61.59375, 'ok', 1 from generate_series($4, $5 - 1) n";
    const SQLITE: &str = "with recursive s(n) as (select $4 union all select n + 1 from s where n + 1 < $5) \
        insert into fuel_log (vehicle_id, recorded_at, id, organization_id, received_at, latitude, \
        longitude, speed_kmh, odometer_km, ignition, distance_meters, unit, raw_value, level_raw_liters, level_liters, \
        level_percent, quality, calibration_version) select $1, $2 + n * 2000000, randomblob(16), \
        $3, $2 + n * 2000000 + 1000000, 30.2672, -97.7431 + n * 1e-7, 52.5, 1000 + n * 0.029, true, 29.2, \
        'percent', 61.5, 246.25, 246.375, 61.59375, 'ok', 1 from s";
    let statement = match db.engine() {
        Engine::Postgres => POSTGRES,
        Engine::Sqlite => SQLITE,
    };
    for first in (0..rows).step_by(BATCH as usize) {
        let stmt = db.write().sql(statement).bind(bus.vehicle.parse::<Uuid>().unwrap()).bind(Time(BEGIN));
        let stmt = stmt.bind(organization.parse::<Uuid>().unwrap()).bind(first);
        stmt.bind((first + BATCH).min(rows)).run().await.unwrap();
    }
}

fn path(buses: &[Bus], format: &str) -> String {
    let ids: Vec<&str> = buses.iter().map(|bus| bus.vehicle.as_str()).collect();
    let period = "from=2026-05-01T00:00:00Z&to=2026-06-01T00:00:00Z";
    format!("/v1/fuel/raw-data?vehicleId={}&{period}&format={format}", ids.join(","))
}

/// A client that reads on demand, and sees each byte.
struct Reader {
    socket: TcpStream,
    seen: Vec<u8>,
}

impl Reader {
    /// Sends the request and reads the beginning of the answer's body.
    async fn begin(url: &str, path: &str, token: &str, more: &str) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(64 << 10).unwrap();
        let address = url.strip_prefix("http://").unwrap();
        let mut socket = socket.connect(address.parse().unwrap()).await.unwrap();
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n{more}\r\n");
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut reader = Self { socket, seen: Vec::new() };
        while reader.head().is_none_or(|head| reader.seen.len() < head + 1000) {
            assert!(reader.read().await, "{}", String::from_utf8_lossy(&reader.seen));
        }
        assert!(reader.seen.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&reader.seen));
        reader
    }

    /// Where the body begins.
    fn head(&self) -> Option<usize> {
        self.seen.windows(4).position(|bytes| bytes == b"\r\n\r\n").map(|at| at + 4)
    }

    /// Reads some more; returns whether the connection is still open.
    async fn read(&mut self) -> bool {
        let read = timeout(DEADLINE, self.socket.read_buf(&mut self.seen)).await;
        matches!(read.expect("something is sent"), Ok(1..))
    }

    /// Reads the answer to its end, or as far as it comes: the body, and whether its last chunk arrived.
    async fn finish(mut self) -> (Vec<u8>, bool) {
        let (mut body, mut at) = (Vec::new(), self.head().unwrap());
        loop {
            let line = self.seen[at..].windows(2).position(|bytes| bytes == b"\r\n");
            let size = line.map(|line| {
                let digits = str::from_utf8(&self.seen[at..at + line]).unwrap();
                (usize::from_str_radix(digits, 16).unwrap(), at + line + 2)
            });
            match size {
                Some((0, _)) => return (body, true),
                Some((size, begin)) if self.seen.len() >= begin + size + 2 => {
                    body.extend_from_slice(&self.seen[begin..begin + size]);
                    at = begin + size + 2;
                }
                _ => {
                    if !self.read().await {
                        return (body, false);
                    }
                }
            }
        }
    }
}

/// More clients than there are connections to the database stop reading; meanwhile everything else continues.
async fn a_client_that_does_not_read_holds_nothing_up(store: TestStore) {
    const READERS: usize = 20;
    let server = Server::start(&store).await;
    let fleet = server.fleet("fuelled").await;
    let bus = fleet.bus("bus").await;
    fill(&server.context.db, &fleet.id, &bus, ROWS).await;
    let path = path(std::slice::from_ref(&bus), "json");
    let mut stalled = Vec::new();
    for _ in 0..READERS {
        stalled.push(Reader::begin(&server.url, &path, &fleet.dispatcher, "").await);
    }
    let mut slowest = Duration::ZERO;
    for round in 0..20 {
        let began = Instant::now();
        let entries = server.get("/v1/fuel?limit=1", &fleet.dispatcher).await.ok(200);
        assert_eq!(entries["data"].as_array().unwrap().len(), 1);
        server.get("/v1/vehicles", &fleet.dispatcher).await.ok(200);
        bus.cross(&server, round, round).await;
        slowest = slowest.max(began.elapsed());
    }
    println!(
        "{:?}: {READERS} clients do not read; two requests and a committed fix meanwhile took at most {slowest:?}",
        store.engine()
    );
    // A client that reads on gets everything.
    let (body, is_whole) = stalled.pop().unwrap().finish().await;
    assert!(is_whole);
    assert_eq!(serde_json::from_slice::<Vec<Value>>(&body).unwrap().len() as i64, ROWS);
    drop(stalled);
    server.stop().await;
}

/// Each form, packed and plain.
const FORMS: [(&str, &str); 4] =
    [("json", ""), ("ndjson", ""), ("csv", ""), ("ndjson", "accept-encoding: gzip\r\n")];

/// The body did not arrive whole, and cannot be mistaken for a whole one.
fn assert_broken((body, is_whole): (Vec<u8>, bool), form: (&str, &str)) {
    assert!(!is_whole, "{form:?}: the last chunk has come");
    assert!(body.len() > 1000, "{form:?}: it broke at its beginning");
    assert!(body.trim_ascii_end().last() != Some(&b']'), "{form:?}: it ends as if it were whole");
}

async fn a_failure_in_the_middle_breaks_the_transfer(store: TestStore) {
    let server = Server::start(&store).await;
    let fleet = server.fleet("fuelled").await;
    let bus = fleet.bus("bus").await;
    // Packed, it must not fit either.
    fill(&server.context.db, &fleet.id, &bus, ROWS * 4).await;
    let db = &server.context.db;
    for form in FORMS {
        let path = path(std::slice::from_ref(&bus), form.0);
        let reader = Reader::begin(&server.url, &path, &fleet.dispatcher, form.1).await;
        db.write().sql("alter table fuel_log rename to fuel_log_away").run().await.unwrap();
        assert_broken(reader.finish().await, form);
        // No answer is begun that cannot continue.
        server.get(&path, &fleet.dispatcher).await.problem(500, "internal");
        db.write().sql("alter table fuel_log_away rename to fuel_log").run().await.unwrap();
    }
    server.stop().await;
}

#[test]
fn the_database_killed_in_the_middle_breaks_the_transfer() {
    let Some(mut postgres) = PrivatePostgres::own() else { return };
    waypost_test_support::run(Engine::Sqlite, async |store: TestStore| {
        postgres.create_database("fuelled", None).await;
        let mut settings = settings(&store);
        settings.database_url = Some(Secret::new(postgres.url("fuelled")));
        let server = Server::start_on(settings).await;
        let fleet = server.fleet("fuelled").await;
        let bus = fleet.bus("bus").await;
        fill(&server.context.db, &fleet.id, &bus, ROWS).await;
        for form in &FORMS[..3] {
            let path = path(std::slice::from_ref(&bus), form.0);
            let reader = Reader::begin(&server.url, &path, &fleet.dispatcher, form.1).await;
            postgres.kill();
            assert_broken(reader.finish().await, *form);
            server.get(&path, &fleet.dispatcher).await.problem(503, "unavailable");
            postgres.start_again();
            waypost_test_support::eventually(DEADLINE, || async {
                server.get("/v1/vehicles", &fleet.dispatcher).await.status == 200
            })
            .await;
        }
        server.stop().await;
    });
}

#[test]
#[ignore = "minutes: millions of rows"]
fn millions_of_rows_in_constant_memory_on_sqlite() {
    waypost_test_support::run(Engine::Sqlite, millions_of_rows_in_constant_memory);
}

#[test]
#[ignore = "minutes: millions of rows"]
fn millions_of_rows_in_constant_memory_on_postgres() {
    waypost_test_support::run(Engine::Postgres, millions_of_rows_in_constant_memory);
}

/// `WAYPOST_TEST_FUEL_ROWS`, or five million; in the forms of `WAYPOST_TEST_FUEL_FORMATS`, or in each; with the server
/// as a process of its own.
async fn millions_of_rows_in_constant_memory(store: TestStore) {
    const VEHICLES: i64 = 5;
    const GROWTH_BYTES: u64 = 50_000_000;
    let rows = std::env::var("WAYPOST_TEST_FUEL_ROWS").map_or(5_000_000, |text| text.parse::<i64>().unwrap());
    let formats = std::env::var("WAYPOST_TEST_FUEL_FORMATS").unwrap_or_else(|_| "json,ndjson,csv".to_owned());
    let server = Server::start(&store).await;
    let fleet = server.fleet("fuelled").await;
    let organization = fleet.id.clone();
    let mut buses = Vec::new();
    for number in 0..VEHICLES {
        let bus = fleet.bus(&format!("bus{number}")).await;
        fill(&server.context.db, &organization, &bus, rows / VEHICLES).await;
        buses.push(bus);
    }
    server.stop().await;
    let program = Program::start(&launch(&store)).await;
    let client = Client::builder().timeout(Duration::from_secs(3600)).no_default_headers().finish();
    let sign_in = async || {
        let body = json!({ "email": ROOT, "password": PASSWORD });
        let mut said =
            client.post(format!("{}/v1/auth/login", program.url())).send_json(&body).await.unwrap();
        text(&said.json::<Value>().await.unwrap()["accessToken"])
    };
    let get = async |path: &str, token: &str| {
        let url = format!("{}{path}&organizationId={organization}", program.url());
        let answer = client.get(url).bearer_auth(token).no_decompress().send().await.unwrap();
        assert_eq!(answer.status(), 200);
        answer
    };
    // What the first requests need anyway is no growth.
    let mut warm = get("/v1/fuel?limit=1000", &sign_in().await).await;
    warm.body().limit(1 << 20).await.unwrap();
    for format in formats.split(',') {
        // Anew each time: a token lives for a quarter of an hour.
        let token = sign_in().await;
        let before = program.resident_bytes();
        let (mut peak, mut bytes, mut lines, mut looked) = (before, 0, 0, 0);
        let began = Instant::now();
        let mut body = get(&path(&buses, format), &token).await;
        while let Some(chunk) = body.next().await {
            let chunk = chunk.unwrap();
            bytes += chunk.len() as u64;
            lines += chunk.iter().filter(|byte| **byte == b'\n').count() as i64;
            if bytes - looked > 4 << 20 {
                (peak, looked) = (peak.max(program.resident_bytes()), bytes);
            }
        }
        let more_lines = match format {
            "json" => 2, // brackets
            "csv" => 1,  // header
            _ => 0,
        };
        assert_eq!(lines, rows / VEHICLES * VEHICLES + more_lines, "{format}");
        let megabytes = |bytes: u64| bytes as f64 / 1e6;
        println!(
            "{:?} {format}: {rows} rows, {:.0} MB in {:.0} s; resident {:.1} MB before, {:.1} MB at most: grown by {:.1} MB",
            store.engine(),
            megabytes(bytes),
            began.elapsed().as_secs_f64(),
            megabytes(before),
            megabytes(peak),
            megabytes(peak - before),
        );
        assert!(peak - before < GROWTH_BYTES, "{format}");
    }
}
