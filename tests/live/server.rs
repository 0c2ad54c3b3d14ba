//! The real server in this process, on a port of its own and a test's store, and what tests ask of it
//! over HTTP. Knows no sockets.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use waypost::app::{Application, Ended};
use waypost::clock::{Clock, new_id};
use waypost::config::{Secret, Settings};
use waypost::context::Context;
use waypost::domain::account::Role;
use waypost::store::open::Location;
use waypost::store::sql::Db;
use waypost_actors::model::Timestamp;
use waypost_client::{Http, Method};
use waypost_test_support::{
    Launch, PASSWORD, ROOT, Running, Said, TestStore, eventually, new_account, sign_in,
};

pub(crate) use waypost_test_support::text;

use crate::wire::crossings;

/// The longest wait of a test.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);
/// The middle of every fence [`Fleet`] makes.
pub(crate) const INSIDE: f64 = 30.27;
/// A latitude outside all of them.
pub(crate) const OUTSIDE: f64 = 30.40;

/// A server under test.
pub(crate) struct Server {
    pub(crate) context: Context,
    pub(crate) url: String,
    /// The listeners for devices, in the order of the settings.
    pub(crate) device_addresses: Vec<SocketAddr>,
    /// The superAdmin's access token.
    pub(crate) root: String,
    ahead_micros: Arc<AtomicI64>,
    http: Http,
    running: Running,
}

/// The settings that put a server on a test's store.
pub(crate) fn settings(store: &TestStore) -> Settings {
    let mut settings = Settings {
        listen: "127.0.0.1:0".parse().unwrap(),
        workers: Some(2),
        admin_email: Some(ROOT.into()),
        admin_password: Some(Secret::new(PASSWORD.into())),
        ..Settings::default()
    };
    match &store.options.location {
        Location::Embedded(directory) => settings.data_dir = directory.clone(),
        Location::Postgres(url) => settings.database_url = Some(Secret::new(url.clone())),
    }
    settings
}

impl Server {
    pub(crate) async fn start(store: &TestStore) -> Self {
        Self::start_with(store, |_| {}).await
    }

    pub(crate) async fn start_with(store: &TestStore, set: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = settings(store);
        set(&mut settings);
        Self::start_on(settings).await
    }

    pub(crate) async fn start_on(settings: Settings) -> Self {
        let ahead_micros = Arc::new(AtomicI64::new(0));
        let ahead = Arc::clone(&ahead_micros);
        let system = Clock::system();
        let clock = Clock::from_fn(move || {
            Timestamp::from_micros(system.now().as_micros() + ahead.load(Ordering::Relaxed))
        });
        let mut server = Self::start_by(settings, clock, ahead_micros).await;
        server.root = server.login(ROOT, PASSWORD).await.0;
        server
    }

    /// Starts at one instant, which lasts as long as it runs. No account signs in.
    pub(crate) async fn start_at(settings: Settings, now: Timestamp) -> Self {
        Self::start_by(settings, Clock::from_fn(move || now), Arc::default()).await
    }

    async fn start_by(settings: Settings, clock: Clock, ahead_micros: Arc<AtomicI64>) -> Self {
        let application = Application::build(settings, clock).await.unwrap();
        let url = format!("http://{}", application.address);
        Self {
            context: application.context.clone(),
            device_addresses: application.device_addresses.clone(),
            root: String::new(),
            ahead_micros,
            http: Http::new(&url, DEADLINE),
            url,
            running: Running::start(application),
        }
    }

    /// An access token and a refresh token.
    pub(crate) async fn login(&self, email: &str, password: &str) -> (String, String) {
        let body = json!({ "email": email, "password": password });
        let said = self.post("/v1/auth/login", "", body).await.ok(200);
        (text(&said["accessToken"]), text(&said["refreshToken"]))
    }

    /// Asks the server to stop, without waiting.
    pub(crate) fn ask_to_stop(&self) -> JoinHandle<Ended> {
        self.running.ask_to_stop()
    }

    /// Stops the server; it must end in time.
    pub(crate) async fn stop(self) {
        let running = self.ask_to_stop();
        let ended = timeout(DEADLINE, running).await.expect("the server stops").unwrap();
        assert_eq!(ended, Ended::Asked);
    }

    /// Waits until the server ends by itself; returns why.
    pub(crate) async fn ended(self) -> Ended {
        timeout(DEADLINE, self.running.ended()).await.expect("the server ends")
    }

    /// Moves the server's clock.
    pub(crate) fn pass(&self, seconds: i64) {
        self.ahead_micros.fetch_add(seconds * 1_000_000, Ordering::Relaxed);
    }

    pub(crate) async fn send(&self, method: &str, path: &str, token: &str, body: impl Into<Vec<u8>>) -> Said {
        self.send_as("application/json", method, path, token, body.into()).await
    }

    /// Sends a body of another kind.
    pub(crate) async fn send_as(
        &self,
        kind: &str,
        method: &str,
        path: &str,
        token: &str,
        body: Vec<u8>,
    ) -> Said {
        self.try_send_as(kind, method, path, token, body).await.unwrap()
    }

    /// Sends to a server that may end before it answers.
    pub(crate) async fn try_send_as(
        &self,
        kind: &str,
        method: &str,
        path: &str,
        token: &str,
        body: Vec<u8>,
    ) -> anyhow::Result<Said> {
        let bearer = format!("Bearer {token}");
        let headers = [("content-type", kind), ("authorization", bearer.as_str())];
        let headers = if token.is_empty() { &headers[..1] } else { &headers[..] };
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        Ok(self.http.send(method, path, headers, body).await?.into())
    }

    pub(crate) async fn get(&self, path: &str, token: &str) -> Said {
        self.send("GET", path, token, "").await
    }

    pub(crate) async fn post(&self, path: &str, token: &str, body: Value) -> Said {
        self.send("POST", path, token, body.to_string()).await
    }

    pub(crate) async fn put(&self, path: &str, token: &str, body: Value) -> Said {
        self.send("PUT", path, token, body.to_string()).await
    }

    /// An active organization with a dispatcher.
    pub(crate) async fn fleet(&self, name: &str) -> Fleet<'_> {
        let id =
            text(&self.post("/v1/organizations", &self.root, organization_body(name)).await.ok(201)["id"]);
        self.put(&format!("/v1/organizations/activate/{id}"), &self.root, json!({})).await.ok(200);
        let admin = self.sign_in(&id, Role::OrgAdmin).await.0;
        let dispatcher = self.sign_in(&id, Role::Dispatcher).await.0;
        Fleet { server: self, id, admin, dispatcher }
    }

    /// A new account of a role, signed in: its access and refresh tokens.
    pub(crate) async fn sign_in(&self, organization: &str, role: Role) -> (String, String) {
        let account = new_account(&self.context, role, Some(organization)).await;
        sign_in(&self.context, &self.http, account).await
    }
}

/// An organization and its accounts.
pub(crate) struct Fleet<'a> {
    pub(crate) server: &'a Server,
    pub(crate) id: String,
    pub(crate) admin: String,
    pub(crate) dispatcher: String,
}

/// A vehicle with its tracker.
#[derive(Clone, Debug)]
pub(crate) struct Bus {
    pub(crate) vehicle: String,
    pub(crate) tracker: String,
    pub(crate) unique_id: String,
    pub(crate) token: String,
}

impl Fleet<'_> {
    /// A vehicle of which every fix is plausible.
    pub(crate) async fn bus(&self, name: &str) -> Bus {
        let unique_id = format!("{name}-{}", new_id().simple());
        let made = self.server.post("/v1/vehicles", &self.admin, bus_body(name, &unique_id)).await.ok(201);
        let tracker = &made["tracker"];
        Bus {
            vehicle: text(&made["id"]),
            tracker: text(&tracker["id"]),
            token: text(&tracker["token"]),
            unique_id,
        }
    }

    /// A circle around [`INSIDE`] in force for all times, by the exact rules; its id.
    pub(crate) async fn fence(&self, name: &str) -> String {
        text(&self.server.post("/v1/geofences", &self.admin, fence_body(name)).await.ok(201)["id"])
    }

    /// The ids of the stored events, in commit order.
    pub(crate) async fn events(&self) -> Vec<String> {
        self.server.event_ids(&self.dispatcher).await
    }
}

impl Bus {
    /// Reports over HTTP; returns once it is committed.
    pub(crate) async fn report(&self, server: &Server, items: Vec<Value>) {
        let count = items.len();
        let said = server.post("/v1/positions", &self.token, json!({ "items": items })).await.ok(200);
        assert_eq!(said["accepted"], count, "{said}");
    }

    /// Reports crossings number `from..=to`: odd ones enter every fence, even ones leave them.
    pub(crate) async fn cross(&self, server: &Server, from: i64, to: i64) {
        self.report(server, crossings(from, to)).await;
    }
}

impl Server {
    /// The ids of the events that a caller sees, in commit order.
    pub(crate) async fn event_ids(&self, token: &str) -> Vec<String> {
        let mut ids = Vec::new();
        let mut after = String::new();
        loop {
            let path = format!("/v1/geofence-events?sort=sequence&limit=200{after}");
            let page = self.get(&path, token).await.ok(200);
            ids.extend(page["data"].as_array().unwrap().iter().map(|event| text(&event["id"])));
            if page["pagination"]["hasNextPage"] != true {
                return ids;
            }
            after = format!("&after={}", text(&page["pagination"]["endCursor"]));
        }
    }
}

/// What makes an organization with an administrator.
pub(crate) fn organization_body(name: &str) -> Value {
    json!({
        "name": name,
        "contactEmail": format!("{name}@example.org"),
        "admin": { "email": format!("{name}-admin@example.org"), "firstName": "A", "lastName": "B" },
    })
}

/// What makes a vehicle with its tracker, of which every fix is plausible.
pub(crate) fn bus_body(name: &str, unique_id: &str) -> Value {
    json!({
        "name": name, "category": "bus", "tracker": { "uniqueId": unique_id },
        "tracking": { "maxSpeedKmh": null, "maxAccuracyMeters": null },
    })
}

/// What makes a circle around [`INSIDE`] in force for all times, by the exact rules.
pub(crate) fn fence_body(name: &str) -> Value {
    json!({
        "name": name, "effectiveFrom": null,
        "rules": { "exitMarginMeters": 0, "inferPassages": false, "holdWhileStanding": false },
        "shape": { "type": "circle", "radiusMeters": 500.0,
            "center": { "latitude": INSIDE, "longitude": -97.74 } },
    })
}

/// The program, to be started on a test's store.
pub(crate) fn launch(store: &TestStore) -> Launch {
    Launch::new(env!("CARGO_BIN_EXE_waypost"), store.options.location.clone())
}

/// Waits until no vehicle awaits a correction.
pub(crate) async fn until_clean(db: &Db) {
    let dirty = "select count(*) from vehicle_state where dirty_from is not null";
    eventually(DEADLINE, async || db.read().sql(dirty).scalar::<i64>().await.unwrap() == 0).await;
}

/// How many positions a store holds.
pub(crate) async fn stored_positions(store: &TestStore) -> i64 {
    waypost_test_support::stored_positions(&store.db).await.unwrap().len() as i64
}
