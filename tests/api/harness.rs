//! The real server in this process, on a port of its own and a data directory of its own.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures_util::future::join;
use serde_json::{Value, json};
use uuid::Uuid;
use waypost::app::Application;
use waypost::auth::FirstStart;
use waypost::clock::{Clock, new_id};
use waypost::config::{Secret, Settings};
use waypost::context::Context;
use waypost::domain::account::Role;
use waypost::mail::{Mailbox, Transport};
use waypost::store::sql::{Db, SqlError};
use waypost_actors::model::Timestamp;
use waypost_client::{Http, Method};
use waypost_test_support::{Running, copy_migrated, eventually, new_account};

use crate::{contract, watch};

pub(crate) use waypost_test_support::{Said, text};

/// 2026-05-01T12:00:00Z.
pub(crate) const START: Timestamp = Timestamp::from_micros(1_777_636_800_000_000);
/// An answer that takes longer counts as none.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(60);
/// How many transactions of PostgreSQL wait for others.
const WAITING: &str =
    "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
/// A password that works.
pub(crate) const PASSWORD: &str = "correct horse battery";
/// The first superAdmin's address.
pub(crate) const ROOT: &str = "root@example.org";

/// A running server and what tests know about it.
pub(crate) struct App {
    /// Its parts.
    pub(crate) context: Context,
    /// What its first start did.
    pub(crate) first_start: FirstStart,
    /// Its address.
    pub(crate) url: String,
    /// The operators' address.
    pub(crate) admin_url: String,
    /// The superAdmin's access token; empty without one.
    pub(crate) root: String,
    /// The letters that it sent.
    pub(crate) mail: Mailbox,
    now_micros: Arc<AtomicI64>,
    http: Http,
    running: Running,
    _directory: tempfile::TempDir,
}

/// An organization with one user of each role.
pub(crate) struct Org {
    pub(crate) id: String,
    pub(crate) org_admin: String,
    pub(crate) dispatcher: String,
    pub(crate) viewer: String,
}

impl App {
    /// A server with settings of its own, whose operator is signed in.
    pub(crate) async fn start_with_root(set: impl FnOnce(&mut Settings)) -> Self {
        let mut app = Self::start_with(|settings| {
            settings.admin_email = Some(ROOT.into());
            settings.admin_password = Some(Secret::new(PASSWORD.into()));
            set(settings);
        })
        .await;
        let said = app.post("/v1/auth/login", "", json!({ "email": ROOT, "password": PASSWORD })).await;
        app.root = text(&said.ok(200)["accessToken"]);
        app
    }

    /// A server with these settings, with a mailbox in memory.
    pub(crate) async fn start_with(set: impl FnOnce(&mut Settings)) -> Self {
        let mail = Mailbox::default();
        let transport = Transport::Memory(mail.clone());
        Self { mail, ..Self::build(set, Some(transport)).await }
    }

    /// A server whose letters leave the way the settings say.
    pub(crate) async fn start_with_post(set: impl FnOnce(&mut Settings)) -> Self {
        Self::build(set, None).await
    }

    async fn build(set: impl FnOnce(&mut Settings), transport: Option<Transport>) -> Self {
        watch::log_lines();
        let directory = tempfile::tempdir().unwrap();
        copy_migrated(directory.path());
        let mut settings = Settings {
            listen: "127.0.0.1:0".parse().unwrap(),
            data_dir: directory.path().to_owned(),
            workers: Some(1),
            // All tests come from one address; those about limits set their own.
            rate_limit: None,
            rate_limit_sign_in: None,
            webhook_networks: vec!["127.0.0.0/8".parse().unwrap()],
            ..Settings::default()
        };
        set(&mut settings);
        let now_micros = Arc::new(AtomicI64::new(START.as_micros()));
        let told = Arc::clone(&now_micros);
        // Each reading of the clock is a microsecond later, so that lists have an order.
        let clock = Clock::from_fn(move || Timestamp::from_micros(told.fetch_add(1, Ordering::Relaxed)));
        let application = Application::build_on(settings, clock, transport, |track| track).await.unwrap();
        let url = format!("http://{}", application.address);
        Self {
            context: application.context.clone(),
            first_start: application.first_start.clone(),
            admin_url: application.admin_address.map(|at| format!("http://{at}")).unwrap_or_default(),
            root: String::new(),
            mail: Mailbox::default(),
            now_micros,
            http: Http::new(&url, ANSWER_WITHIN),
            url,
            _directory: directory,
            running: Running::start(application),
        }
    }

    pub(crate) async fn stop(self) {
        self.running.ask_to_stop().await.unwrap();
        watch::nothing_was_told();
    }

    pub(crate) fn pass(&self, seconds: i64) {
        self.now_micros.fetch_add(seconds * 1_000_000, Ordering::Relaxed);
    }

    pub(crate) async fn send(
        &self,
        method_name: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Vec<u8>>,
    ) -> Said {
        let method = Method::from_bytes(method_name.as_bytes()).unwrap();
        let sent = body.into();
        let said = Said::from(self.http.send(method, path, headers, sent.clone()).await.unwrap());
        let content_type = headers.iter().find(|(name, _)| *name == "content-type").map(|(_, value)| *value);
        watch::learn(&said.body);
        contract::check(method_name, path, content_type, &sent, &said);
        said
    }

    /// A GET on the operators' address.
    pub(crate) async fn operator_get(&self, path: &str) -> (u16, String, String) {
        self.operator_accepts(path, "*/*").await
    }

    /// A GET on the operators' address, by a client that names what it accepts.
    pub(crate) async fn operator_accepts(&self, path: &str, accept: &str) -> (u16, String, String) {
        let operators = Http::new(&self.admin_url, ANSWER_WITHIN);
        let answer = operators.send(Method::GET, path, &[("accept", accept)], Vec::new()).await.unwrap();
        let kind = answer.header("content-type").unwrap_or_default().to_owned();
        (answer.status, kind, String::from_utf8(answer.bytes).unwrap())
    }

    /// One figure of the metrics, by its name with labels; every invariant must hold.
    pub(crate) async fn metric(&self, name: &str) -> f64 {
        let (status, _, text) = self.operator_get("/metrics").await;
        assert_eq!(status, 200, "{text}");
        for broken in text.lines().filter(|line| line.starts_with("waypost_invariant_violations_total")) {
            assert!(broken.ends_with(" 0"), "{broken}");
        }
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name} in\n{text}")).parse().unwrap()
    }

    async fn json(&self, method: &str, path: &str, token: &str, body: Value) -> Said {
        let bearer = format!("Bearer {token}");
        let mut headers = vec![("content-type", "application/json")];
        if !token.is_empty() {
            headers.push(("authorization", bearer.as_str()));
        }
        self.send(method, path, &headers, body.to_string()).await
    }

    pub(crate) async fn get(&self, path: &str, token: &str) -> Said {
        let bearer = format!("Bearer {token}");
        self.send("GET", path, &[("authorization", bearer.as_str())], "").await
    }

    pub(crate) async fn post(&self, path: &str, token: &str, body: Value) -> Said {
        self.json("POST", path, token, body).await
    }

    pub(crate) async fn put(&self, path: &str, token: &str, body: Value) -> Said {
        self.json("PUT", path, token, body).await
    }

    pub(crate) async fn delete(&self, path: &str, token: &str) -> Said {
        let bearer = format!("Bearer {token}");
        self.send("DELETE", path, &[("authorization", bearer.as_str())], "").await
    }

    /// An active organization with one user of each role.
    pub(crate) async fn org(&self, name: &str) -> Org {
        let said = self.post("/v1/organizations", &self.root, organization(name)).await;
        let id = text(&said.ok(201)["id"]);
        let path = format!("/v1/organizations/activate/{id}");
        self.put(&path, &self.root, json!({})).await.ok(200);
        let user = async |role: Role| {
            let account = self.account(role, Some(&id)).await;
            self.sign_in(account).await
        };
        Org {
            org_admin: user(Role::OrgAdmin).await,
            dispatcher: user(Role::Dispatcher).await,
            viewer: user(Role::Viewer).await,
            id,
        }
    }

    /// An active account without a password.
    pub(crate) async fn account(&self, role: Role, organization: Option<&str>) -> Uuid {
        new_account(&self.context, role, organization).await
    }

    /// The link in the letter with this number to an address, as the path of its page.
    pub(crate) async fn link(&self, address: &str, number: usize) -> String {
        let waiting = self.mail.nth(address, number);
        let letter = tokio::time::timeout(Duration::from_secs(20), waiting).await;
        let letter = letter.unwrap_or_else(|_| panic!("no letter {number} to {address}"));
        letter.link.strip_prefix(&self.url).unwrap().to_owned()
    }

    /// A system user of an organization, verified and signed in: its id and its access token.
    pub(crate) async fn system_user(&self, org_admin: &str, scopes: &[&str]) -> (String, String) {
        let email = format!("{}@programs.example.org", new_id());
        let body = json!({ "name": "Program", "email": email, "password": PASSWORD, "scopes": scopes });
        let id = text(&self.post("/v1/system-users", org_admin, body).await.ok(201)["id"]);
        let page = self.link(&email, 1).await;
        self.post(&page.replace("/verify/", "/v1/system-users/verify-email/"), "", json!(null)).await.ok(200);
        let login = json!({ "email": email, "password": PASSWORD });
        let said = self.post("/v1/system-users/login", "", login).await.ok(200);
        (id, text(&said["accessToken"]))
    }

    /// An access token of an account.
    pub(crate) async fn sign_in(&self, account: Uuid) -> String {
        let link = self.context.auth.sign_in_link(account).await.unwrap();
        let said = self.post(&format!("/v1/auth/sign-in-link/{link}"), "", json!(null)).await;
        text(&said.ok(200)["accessToken"])
    }
}

/// Runs a test against a server of its own.
pub(crate) fn with_app<F: Future<Output = App>>(test: impl FnOnce(App) -> F) {
    actix_rt::System::new().block_on(async {
        let app = App::start_with_root(|_| {}).await;
        test(app).await.stop().await;
    });
}

/// Runs a test twice: on SQLite, and on PostgreSQL where it is installed.
pub(crate) fn on_each_engine<F: Future<Output = App>>(test: impl Fn(App) -> F) {
    with_app(&test);
    on_postgres(test);
}

/// Runs a test on PostgreSQL alone, where it is installed: of edits that meet, since SQLite has one at a time.
pub(crate) fn on_postgres<F: Future<Output = App>>(test: impl FnOnce(App) -> F) {
    let Some(server) = waypost_test_support::postgres() else { return };
    actix_rt::System::new().block_on(async {
        let name = server.create_migrated_database().await;
        let url = Secret::new(server.url(&name));
        let app = App::start_with_root(|settings| settings.database_url = Some(url)).await;
        test(app).await.stop().await;
        server.drop_database(&name).await;
    });
}

/// The body of a new organization.
pub(crate) fn organization(name: &str) -> Value {
    let slug = name.replace(char::is_whitespace, "-");
    json!({
        "name": name,
        "contactEmail": format!("{slug}@example.org"),
        "admin": { "email": format!("{slug}-admin@example.org"), "firstName": "A", "lastName": "B" },
    })
}

/// The body of a new circle.
pub(crate) fn circle(name: &str) -> Value {
    json!({ "name": name, "shape": {
        "type": "circle", "center": { "latitude": 30.27, "longitude": -97.74 }, "radiusMeters": 150.0 } })
}

/// How many transactions wait for others; PostgreSQL alone can tell.
pub(crate) async fn lock_waits(db: &Db) -> Result<i64, SqlError> {
    db.read().sql(WAITING).scalar().await
}

/// Sends a request while another transaction holds the row that `lock` locks: the request has to wait for that, and for nothing
/// behind it, so that the row which `free` locks is free meanwhile.
pub(crate) async fn waits_for_first<T>(
    db: &Db,
    (lock, held): (&'static str, Uuid),
    (free, other): (&'static str, Uuid),
    request: impl Future<Output = T>,
) -> T {
    let mut tx = db.begin().await.unwrap();
    tx.on().sql(lock).bind(held).run().await.unwrap();
    let meanwhile = async {
        eventually(ANSWER_WITHIN, async || lock_waits(db).await.unwrap() == 1).await;
        let free: i64 = tx.on().sql(free).bind(other).scalar().await.expect("nobody has it");
        assert_eq!(free, 1);
        tx.rollback().await.unwrap();
    };
    join(request, meanwhile).await.0
}
