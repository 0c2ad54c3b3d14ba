//! A server at `log=trace`, libraries included, with everybody who has a credential: people, apps, programs and their keys, a broker,
//! webhooks, sockets and streams, right ones and wrong ones. None of the credentials is in any line.

use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as BASE64;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use waypost::clock::Clock;
use waypost::store::open::Location;
use waypost_client::socket;
use waypost_client::{Http, Method};
use waypost_test_support::{
    Engine, Launch, Mosquitto, PASSWORD, Program, ROOT, TestStore, eventually, for_each_engine, looks_secret,
    port_for_restarts, run, scratch, secrets_of, stored_positions, text,
};

use crate::devices::stand_in::{greeting, teltonika};
use crate::receiver::Receiver;
use crate::server::{DEADLINE, launch};
use crate::wire::crossings;

for_each_engine!(no_credential_is_in_any_line_of_the_log);

const IMEI: &str = "356307042441013";
const GATEWAY: &str = "gateway@example.org";
const GATEWAY_PASSWORD: &str = "the gateway's own long password";
const WRONG_PASSWORD: &str = "nobody has this password";
const BROKERS_WRONG_PASSWORD: &str = "a-password-that-the-broker-refuses";

/// A client that remembers every credential that it was given.
struct Client {
    http: Http,
    secrets: Vec<String>,
}

impl Client {
    fn of(launch: &Launch) -> Self {
        let secrets = [PASSWORD, GATEWAY_PASSWORD, WRONG_PASSWORD, BROKERS_WRONG_PASSWORD];
        Self { http: Http::new(&launch.url(), DEADLINE), secrets: secrets.map(str::to_owned).into() }
    }

    async fn ask(&mut self, method: Method, path: &str, token: &str, body: Value) -> (u16, Value) {
        let bearer = format!("Bearer {token}");
        let headers = [("content-type", "application/json"), ("authorization", bearer.as_str())];
        let headers = if token.is_empty() { &headers[..1] } else { &headers[..] };
        let answer = self.http.send(method, path, headers, body.to_string().into_bytes()).await.unwrap();
        self.secrets.extend(secrets_of(&answer.json()));
        (answer.status, answer.json())
    }

    async fn post(&mut self, path: &str, token: &str, body: Value) -> Value {
        let (status, said) = self.ask(Method::POST, path, token, body).await;
        assert!((200..300).contains(&status), "{path}: {status} {said}");
        said
    }

    async fn sign_in(&mut self, path: &str, email: &str, password: &str) -> String {
        text(&self.post(path, "", json!({ "email": email, "password": password })).await["accessToken"])
    }

    /// The status of a request with a credential in some place of it.
    async fn tried(&self, path: &str, headers: &[(&str, &str)]) -> u16 {
        self.http.send(Method::POST, path, headers, Vec::new()).await.unwrap().status
    }

    /// No line has a credential that was given, or something that looks like one.
    fn finds_none_in(&self, log: &str) {
        for line in log.lines() {
            let told = self.secrets.iter().find(|secret| line.contains(secret.as_str()));
            assert!(told.is_none() && !looks_secret(line), "a credential is in the log: {line}");
        }
    }
}

/// The token in the letter of a kind to an address; letters are files without a mail server.
async fn letter(data: &Path, recipient: &str, kind: &str) -> String {
    let begins = format!("/{kind}/");
    eventually(DEADLINE, || async {
        let letters = std::fs::read_dir(data.join("mail")).ok()?;
        let texts = letters.filter_map(|file| std::fs::read_to_string(file.ok()?.path()).ok());
        let plain = |text: String| text.replace("=\r\n", "").replace("=\n", "").replace("=3D", "=");
        let own = texts.map(plain).find(|text| text.contains(recipient) && text.contains(&begins))?;
        own.split(begins.as_str()).nth(1)?.split_whitespace().next().map(str::to_owned)
    })
    .await
}

/// What the server is made of before anybody reports.
struct Made {
    organization: String,
    admin: String,
    phone: String,
    key: String,
    share: String,
}

async fn make(client: &mut Client, data: &Path) -> Made {
    let root = client.sign_in("/v1/auth/login", ROOT, PASSWORD).await;
    let body = json!({ "name": "fleet", "contactEmail": "fleet@example.org",
        "admin": { "email": "admin@example.org", "firstName": "A", "lastName": "B" } });
    let organization = text(&client.post("/v1/organizations", &root, body).await["id"]);
    let activate = format!("/v1/organizations/activate/{organization}");
    assert_eq!(client.ask(Method::PUT, &activate, &root, json!({})).await.0, 200);
    let (mut phone, mut vehicle) = (String::new(), String::new());
    for unique_id in [IMEI, "jane/phone"] {
        let body = json!({ "organizationId": organization, "name": unique_id, "tracker": { "uniqueId": unique_id },
            "tracking": { "maxSpeedKmh": null, "maxAccuracyMeters": null } });
        let made = client.post("/v1/vehicles", &root, body).await;
        (phone, vehicle) = (text(&made["tracker"]["token"]), text(&made["id"]));
    }
    let body = json!({ "organizationId": organization, "name": "Gateway", "email": GATEWAY,
        "password": GATEWAY_PASSWORD, "scopes": ["positions:ingest", "events:read"] });
    let gateway = text(&client.post("/v1/system-users", &root, body).await["id"]);
    let link = letter(data, GATEWAY, "verify").await;
    client.secrets.push(link.clone());
    client.post(&format!("/v1/system-users/verify-email/{link}"), "", json!({})).await;
    client.sign_in("/v1/system-users/login", GATEWAY, GATEWAY_PASSWORD).await;
    let body = json!({ "name": "depot", "scopes": ["positions:ingest"] });
    let key = text(&client.post(&format!("/v1/system-users/{gateway}/keys"), &root, body).await["token"]);
    client.post("/v1/auth/forgot-password", "", json!({ "email": ROOT })).await;
    let link = letter(data, ROOT, "reset").await;
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let fields = format!("password={}", PASSWORD.replace(' ', "+")).into_bytes();
    let said = client.http.send(Method::POST, &format!("/reset/{link}"), &form, fields).await.unwrap();
    let signs_in = said.header("location").unwrap().strip_prefix("/#token=").unwrap().to_owned();
    client.secrets.extend([link, signs_in]);
    let root = client.sign_in("/v1/auth/login", ROOT, PASSWORD).await;
    let ends_at = Clock::system().now().plus_seconds(3600.0);
    let body = json!({ "organizationId": organization, "vehicleIds": [vehicle], "endsAt": ends_at });
    let share = text(&client.post("/v1/shares", &root, body).await["token"]);
    for path in [format!("/s/{share}"), format!("/s/{share}/vehicles")] {
        let said = client.http.send(Method::GET, &path, &[], Vec::new()).await.unwrap();
        assert_eq!(said.status, 200, "{path}");
    }
    Made { organization, admin: root, phone, key, share }
}

/// Credentials in every place that one may stand in, and in places that none may.
async fn report_in_every_way(client: &Client, Made { admin, phone, key, share, .. }: &Made) {
    let fix = "lat=48.1&lon=11.5&timestamp=1777629600";
    let basic = |password: &str| format!("Basic {}", BASE64.encode(format!("jane:{password}")));
    let wrong = format!("wpt_{}", "x".repeat(43));
    for (path, header, status) in [
        (format!("/in/{phone}?{fix}"), String::new(), 200),
        (format!("/in/{phone}?{fix}&token={phone}"), String::new(), 200),
        (format!("/in?token={phone}&{fix}"), String::new(), 200),
        (format!("/in?{fix}"), format!("Bearer {phone}"), 200),
        (format!("/in?{fix}"), basic(phone), 200),
        (format!("/in/{key}?id=jane/phone&{fix}"), String::new(), 200),
        (format!("/in?id=jane/phone&{fix}"), format!("Bearer {key}"), 200),
        (format!("/in/{wrong}?{fix}"), String::new(), 401),
        (format!("/in?{fix}"), basic(&wrong), 401),
        (format!("/in/{admin}?{fix}"), String::new(), 401),
        (format!("/in?token={admin}&{fix}"), String::new(), 401),
        (format!("/?token={phone}&{fix}"), String::new(), 405),
        (format!("/v1/{key}"), String::new(), 404),
        (format!("/s/{share}"), String::new(), 405),
        (format!("/s/{share}/vehicles"), String::new(), 405),
        (format!("/s/{share}/vehicles/1"), String::new(), 404),
        (format!("/vehicles/{share}"), String::new(), 404),
        (format!("/v1/vehicles?token={key}"), format!("Bearer {wrong}"), 401),
        (format!("/v1/organizations/{key}/{phone}"), format!("Bearer {key}"), 404),
    ] {
        let headers = [("authorization", header.as_str())];
        let said = client.tried(&path, if header.is_empty() { &headers[..0] } else { &headers }).await;
        assert_eq!(said, status, "{path} {header}");
    }
}

/// Sockets and streams by token and by ticket, right ones and wrong ones.
async fn listen(client: &mut Client, url: &str, Made { admin, phone, key, organization, .. }: &Made) {
    for (request, is_let_in) in [
        (socket::tracker(url, phone), true),
        (socket::tracker(url, key), true),
        (socket::feed(url, admin), true),
        (socket::tracker(url, admin), false),
        (socket::feed(url, phone), false),
    ] {
        assert_eq!(socket::open(request, DEADLINE).await.is_ok(), is_let_in);
    }
    let address = url.trim_start_matches("http://");
    let browser = socket::open(socket::feed(url, ""), DEADLINE).await;
    let mut browser = browser.expect("a browser signs in behind the handshake");
    let ticket = text(&client.post("/v1/auth/ws-ticket", admin, json!({})).await["ticket"]);
    let authenticate = json!({ "type": "authenticate", "ticket": ticket });
    socket::say(&mut browser, authenticate.to_string()).await.expect("it is open");
    assert!(timeout(DEADLINE, socket::hear(&mut browser)).await.expect("an answer").is_ok());
    for (query, is_right, status) in
        [("ticket", true, 200), ("ticket", false, 401), ("access_token", true, 401)]
    {
        let ticket = match is_right {
            true => text(&client.post("/v1/auth/ws-ticket", admin, json!({})).await["ticket"]),
            false => format!("wpw_{}", "x".repeat(43)),
        };
        let path = format!("/v1/events/stream?topics=events&organizationId={organization}&{query}={ticket}");
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: waypost\r\n\r\n").as_bytes()).await.unwrap();
        let mut answer = [0; 12];
        timeout(DEADLINE, stream.read_exact(&mut answer)).await.expect("an answer").unwrap();
        assert_eq!(String::from_utf8_lossy(&answer), format!("HTTP/1.1 {status}"), "{query}");
    }
}

async fn no_credential_is_in_any_line_of_the_log(store: TestStore) {
    let Some(mosquitto) = Mosquitto::own() else { return };
    let mut launch = launch(&store);
    // Letters are written there, whatever the store.
    let data = match &store.options.location {
        Location::Embedded(directory) => directory.clone(),
        Location::Postgres(_) => scratch("letters"),
    };
    launch.settings.push(("WAYPOST_DATA_DIR".to_owned(), data.display().to_string()));
    launch.settings.push(("WAYPOST_LOG".to_owned(), "trace".to_owned()));
    launch.settings.push(("WAYPOST_WEBHOOK_NETWORKS".to_owned(), "127.0.0.0/8".to_owned()));
    let mut server = Program::start(&launch).await;
    let mut client = Client::of(&launch);
    client.secrets.push(mosquitto.credentials().split_once(':').unwrap().1.to_owned());
    let made = make(&mut client, &data).await;
    server.stop().await;
    client.finds_none_in(&server.log());

    // Hardware has no credential; it is here for what it is told about others.
    let port = port_for_restarts();
    let organization = &made.organization;
    let listener = format!("teltonika://127.0.0.1:{port}/{organization}");
    launch.settings.push(("WAYPOST_DEVICE_LISTENERS".to_owned(), listener));
    let broker = |credentials: &str, rest: &str| {
        format!("mqtt://{credentials}@{}/{organization}?{rest}", mosquitto.address())
    };
    let brokers = [
        broker(&mosquitto.credentials(), "payload=owntracks&topic=owntracks/+/+"),
        broker(&mosquitto.credentials(), "publish=waypost"),
        broker(&format!("nobody:{BROKERS_WRONG_PASSWORD}"), "payload=traccar&topic=traccar"),
    ];
    launch.settings.push(("WAYPOST_MQTT_BROKERS".to_owned(), brokers.join(",")));
    let published = mosquitto.subscribe("all", "waypost/#");
    let mut server = Program::start(&launch).await;

    let receiver = Receiver::start().await;
    let body = json!({ "organizationId": organization, "url": receiver.url, "eventTypes": ["*"] });
    let webhook = text(&client.post("/v1/webhooks", &made.admin, body).await["id"]);
    let fence = json!({ "organizationId": organization, "name": "Depot", "effectiveFrom": null,
        "rules": { "exitMarginMeters": 0, "inferPassages": false, "holdWhileStanding": false },
        "shape": { "type": "circle", "radiusMeters": 500.0, "center": { "latitude": 30.27, "longitude": -97.74 } } });
    client.post("/v1/geofences", &made.admin, fence).await;
    client
        .post(&format!("/v1/webhooks/{webhook}/secret?organizationId={organization}"), &made.admin, json!({}))
        .await;
    client.post("/v1/positions", &made.phone, json!({ "items": crossings(1, 4) })).await;
    report_in_every_way(&client, &made).await;
    let wrong = json!({ "email": ROOT, "password": WRONG_PASSWORD });
    assert_eq!(client.ask(Method::POST, "/v1/auth/login", "", wrong).await.0, 401);
    listen(&mut client, &launch.url(), &made).await;

    let mut device = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    device.write_all(&[greeting(IMEI), teltonika(&[1_777_629_600_000])].concat()).await.unwrap();
    timeout(DEADLINE, device.read_exact(&mut [0; 5])).await.expect("an answer").unwrap();
    let before = stored_positions(&store.db).await.unwrap().len();
    let location =
        json!({ "_type": "location", "tst": 1_777_633_200, "lat": 48.1, "lon": 11.5, "tid": "JJ" });
    eventually(DEADLINE, || async {
        mosquitto.publish("owntracks/jane/phone", &[location.to_string()]);
        stored_positions(&store.db).await.is_ok_and(|stored| stored.len() > before)
    })
    .await;
    eventually(DEADLINE, async || !receiver.of_type("geofence.entry").is_empty()).await;
    eventually(DEADLINE, async || !published.heard().is_empty()).await;
    server.stop().await;
    let log = server.log();
    assert!(log.contains("TRACE") && log.contains("/in/{token}"), "nothing is traced");
    let requests: Vec<&str> =
        log.lines().filter(|line| line.contains(" method=") && line.contains(" status=")).collect();
    let by_address = |line: &&str| line.contains("client=\"127.0.0.1\"");
    assert!(!requests.is_empty() && requests.iter().all(by_address), "{requests:#?}");
    client.finds_none_in(&log);
}

#[test]
fn a_database_that_is_spoken_to_in_clear_over_a_network_is_told() {
    run(Engine::Postgres, async |store| {
        let mut launch = launch(&store);
        // Both are this machine; only by the first can it be known.
        for (host, is_told) in [("127.0.0.1", false), ("0.0.0.0", true)] {
            launch.location = Location::Postgres(store.url().replace("@127.0.0.1:", &format!("@{host}:")));
            let mut server = Program::start(&launch).await;
            server.stop().await;
            assert_eq!(server.log().contains("spoken to in clear over a network"), is_told, "{host}");
        }
    });
}
