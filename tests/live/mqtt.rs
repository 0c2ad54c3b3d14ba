//! Devices that publish to the fleet's own broker, and a server that reads it there: the real mosquitto, restarts of either
//! side, and a server that is killed between the commit and the acknowledgement.

use std::time::Duration;

use serde_json::{Value, json};
use waypost::config::{MqttBroker, MqttInput, MqttPayload, Secret, Settings};
use waypost::report_log::Tally;
use waypost_actors::model::OrganizationId;
use waypost_test_support::{
    Mosquitto, Program, Proxy, TestStore, eventually, for_each_engine, stored_positions, text,
};

use crate::server::{DEADLINE, Server, launch};
use crate::tracker::Stuck;

for_each_engine!(
    what_devices_publish_is_stored_over_restarts_of_either_side,
    killed_between_commit_and_acknowledgement_nothing_is_stored_twice,
    while_the_store_is_away_the_broker_keeps_what_comes,
    whoever_cannot_be_subscribed_for_is_told_at_the_start,
);

/// 2026-05-01T10:00:00Z.
const START: i64 = 1_777_629_600;

/// What a topic of OwnTracks brings, at a minute of the way.
fn location(minute: i64) -> String {
    json!({ "_type": "location", "tst": START + 60 * minute, "lat": 48.1, "lon": 11.5, "acc": 5, "tid": "JJ" }).to_string()
}

fn broker(
    address: &str,
    credentials: &str,
    organization: &str,
    payload: MqttPayload,
    topic: &str,
) -> MqttBroker {
    let (host, port) = address.split_once(':').unwrap();
    let (user, password) = credentials.split_once(':').unwrap();
    MqttBroker {
        host: host.to_owned(),
        port: port.parse().unwrap(),
        has_tls: false,
        authorities: None,
        user: Some((user.to_owned(), Secret::new(password.to_owned()))),
        organization: OrganizationId(organization.parse().unwrap()),
        input: Some(MqttInput { payload, topics: vec![topic.to_owned()] }),
        output: None,
    }
}

/// An organization with a vehicle for each of the devices; ids of the trackers.
async fn furnish(store: &TestStore, names: &[&str]) -> (String, Vec<String>) {
    let server = Server::start(store).await;
    let fleet = server.fleet("org").await;
    let mut trackers = Vec::new();
    for name in names {
        let body = json!({ "name": name, "tracker": { "uniqueId": name } });
        let made = server.post("/v1/vehicles", &fleet.admin, body).await.ok(201);
        trackers.push(text(&made["tracker"]["id"]));
    }
    let organization = fleet.id.clone();
    server.stop().await;
    (organization, trackers)
}

async fn until_stored(store: &TestStore, count: usize) {
    eventually(DEADLINE, || async {
        let stored = stored_positions(&store.db).await.unwrap_or_default().len();
        assert!(stored <= count, "{stored} are stored instead of {count}");
        stored == count
    })
    .await;
}

fn tally(server: &Server) -> Tally {
    let tallies = server.context.meters.inputs.read();
    tallies.into_iter().find(|(input, _)| *input == "mqtt").map(|(_, tally)| tally).unwrap_or_default()
}

async fn rejected(server: &Server, organization: &str, tracker: &str) -> Vec<Value> {
    let admin = server.sign_in(organization, waypost::domain::account::Role::OrgAdmin).await.0;
    let said = server.get(&format!("/v1/trackers/{tracker}/reports"), &admin).await.ok(200);
    assert!(said["lastContactAt"].is_string(), "{said}");
    said["rejected"].as_array().unwrap().clone()
}

async fn what_devices_publish_is_stored_over_restarts_of_either_side(store: TestStore) {
    let Some(mut mosquitto) = Mosquitto::own() else { return };
    let (organization, trackers) = furnish(&store, &["jane/phone", "864717003283581", "605630"]).await;
    let (address, credentials) = (mosquitto.address(), mosquitto.credentials());
    let own = broker(
        &mosquitto.tls_address(),
        &credentials,
        &organization,
        MqttPayload::OwnTracks,
        "owntracks/+/+",
    );
    let own = MqttBroker { has_tls: true, authorities: Some(mosquitto.authority()), ..own };
    let brokers = vec![
        own,
        broker(&address, &credentials, &organization, MqttPayload::Traccar, "traccar"),
        broker(&address, &credentials, &organization, MqttPayload::Flespi, "flespi/message/gw/#"),
    ];
    let set = |settings: &mut Settings| settings.mqtt_brokers = brokers.clone();
    let server = Server::start_with(&store, set).await;
    let is_subscribed = || async {
        // A topic that is subscribed to late brings what is retained only.
        mosquitto.publish("owntracks/jane/phone", &[location(0)]);
        mosquitto.publish(
            "traccar",
            &[json!({ "position": { "fixTime": "2026-05-01T10:00:00.000+00:00", "latitude": 48.1,
            "longitude": 11.5 }, "device": { "uniqueId": "864717003283581" } })
            .to_string()],
        );
        mosquitto.publish(
            "flespi/message/gw/1/605630",
            &[json!({ "ident": "605630", "timestamp": START,
            "position.latitude": 48.1, "position.longitude": 11.5 })
            .to_string()],
        );
        stored_positions(&store.db).await.unwrap().len() == 3
    };
    eventually(DEADLINE, is_subscribed).await;
    // The server is away, and so is the broker for a while.
    server.stop().await;
    mosquitto.publish("owntracks/jane/phone", &[location(1), location(2)]);
    mosquitto.restart();
    mosquitto.publish("owntracks/jane/phone", &[location(3)]);
    let server = Server::start_with(&store, set).await;
    until_stored(&store, 6).await;
    mosquitto.restart();
    mosquitto.publish("owntracks/jane/phone", &[location(4)]);
    until_stored(&store, 7).await;
    let meters = &server.context.meters.mqtt_in;
    eventually(DEADLINE, || async { meters.connected.get() == 3 }).await;
    assert!(meters.brokers.get() == 3 && meters.reconnects.get() > 0, "{meters:?}");
    assert!(meters.messages.get() > 0 && meters.refused.get() == 0, "{meters:?}");
    // What is refused for good is acknowledged, and kept for people.
    let null_island = location(5).replace("48.1", "0").replace("11.5", "0");
    let bad = [null_island, "{".to_owned(), r#"{"_type":"encrypted","data":"x"}"#.to_owned()];
    mosquitto.publish("owntracks/jane/phone", &bad);
    mosquitto.publish("owntracks/nobody/phone", &[location(6)]);
    mosquitto.publish("owntracks/jane/phone", &[location(7)]);
    until_stored(&store, 8).await;
    // The three, and the one of a device that is not known.
    eventually(DEADLINE, || async { server.context.meters.mqtt_in.refused.get() == 4 }).await;
    let refused = rejected(&server, &organization, &trackers[0]).await;
    let mut codes: Vec<_> = refused.iter().map(|one| text(&one["code"])).collect();
    codes.sort_unstable();
    assert_eq!(codes, ["invalidItem", "nullIsland", "unreadable"]);
    assert!(refused.iter().all(|one| one["input"] == "mqtt"));
    let admin = server.sign_in(&organization, waypost::domain::account::Role::OrgAdmin).await.0;
    let pending = server.get("/v1/pending-trackers", &admin).await.ok(200);
    assert_eq!(
        (&pending["data"][0]["uniqueId"], &pending["data"][0]["fixes"]),
        (&json!("nobody/phone"), &json!(1))
    );
    server.stop().await;
    let server = Server::start_with(&store, set).await;
    mosquitto.publish("owntracks/jane/phone", &[location(8)]);
    until_stored(&store, 9).await;
    assert_eq!(tally(&server).rejected, 0, "what was refused does not come again");
    assert_eq!(rejected(&server, &organization, &trackers[0]).await.len(), 3);
    server.stop().await;
}

async fn killed_between_commit_and_acknowledgement_nothing_is_stored_twice(store: TestStore) {
    let Some(mosquitto) = Mosquitto::own() else { return };
    let (organization, _) = furnish(&store, &["jane/phone"]).await;
    let proxy = Proxy::start(0, &mosquitto.address()).await;
    let credentials = mosquitto.credentials();
    let topic = "owntracks/+/+";
    let mut launch = launch(&store);
    let setting =
        format!("mqtt://{credentials}@{}/{organization}?payload=owntracks&topic={topic}", proxy.address());
    launch.settings.push(("WAYPOST_MQTT_BROKERS".to_owned(), setting));
    let mut server = Program::start(&launch).await;
    eventually(DEADLINE, || async {
        mosquitto.publish("owntracks/jane/phone", &[location(0)]);
        !stored_positions(&store.db).await.unwrap().is_empty()
    })
    .await;
    proxy.lose_upstream(true);
    // The broker lets 20 go without an acknowledgement.
    mosquitto.publish("owntracks/jane/phone", &(1..=15).map(location).collect::<Vec<_>>());
    until_stored(&store, 16).await;
    server.kill();
    assert!(!server.log().contains(&credentials), "a password is in the log");
    proxy.lose_upstream(false);
    let server = Server::start_with(&store, |settings| {
        settings.mqtt_brokers =
            vec![broker(&mosquitto.address(), &credentials, &organization, MqttPayload::OwnTracks, topic)];
    })
    .await;
    mosquitto.publish("owntracks/jane/phone", &[location(16)]);
    until_stored(&store, 17).await;
    assert!(tally(&server).duplicates >= 15, "nothing came again: {:?}", tally(&server));
    server.stop().await;
}

async fn while_the_store_is_away_the_broker_keeps_what_comes(store: TestStore) {
    let Some(mosquitto) = Mosquitto::own() else { return };
    let (organization, _) = furnish(&store, &["jane/phone"]).await;
    let brokers = vec![broker(
        &mosquitto.address(),
        &mosquitto.credentials(),
        &organization,
        MqttPayload::OwnTracks,
        "owntracks/#",
    )];
    let set = |settings: &mut Settings| {
        settings.commit_timeout = Duration::from_millis(300);
        settings.mqtt_brokers = brokers.clone();
    };
    let server = Server::start_with(&store, set).await;
    eventually(DEADLINE, || async {
        mosquitto.publish("owntracks/jane/phone", &[location(0)]);
        !stored_positions(&store.db).await.unwrap().is_empty()
    })
    .await;
    // Away for a while; then away when the server stops, which has read messages and acknowledged none of them.
    let mut stuck = Stuck::hold(&store).await;
    mosquitto.publish("owntracks/jane/phone/event", &(1..=100).map(location).collect::<Vec<_>>());
    eventually(DEADLINE, || async { !server.context.live.is_available() }).await;
    stuck.release().await;
    until_stored(&store, 101).await;
    eventually(DEADLINE, || async { server.context.live.is_available() }).await;
    stuck = Stuck::hold(&store).await;
    mosquitto.publish("owntracks/jane/phone", &(101..=200).map(location).collect::<Vec<_>>());
    eventually(DEADLINE, || async { !server.context.live.is_available() }).await;
    server.stop().await;
    stuck.release().await;
    let server = Server::start_with(&store, set).await;
    until_stored(&store, 201).await;
    server.stop().await;
}

async fn whoever_cannot_be_subscribed_for_is_told_at_the_start(store: TestStore) {
    use waypost::app::Application;
    use waypost::clock::Clock;
    let nobody = "0190b3c2-7a51-7c3e-9d0a-5b7f6c1e2d43";
    let to = broker("127.0.0.1:1", "a:b", nobody, MqttPayload::Traccar, "traccar");
    // One of an organization that is gone stays shut, and keeps nobody from the start.
    let set = |settings: &mut Settings| settings.mqtt_brokers = vec![to.clone()];
    Server::start_with(&store, set).await.stop().await;
    let (organization, _) = furnish(&store, &[]).await;
    let mut settings = crate::server::settings(&store);
    let organization = OrganizationId(organization.parse().unwrap());
    settings.mqtt_brokers =
        vec![MqttBroker { organization, has_tls: true, authorities: Some("/nowhere.pem".into()), ..to }];
    let error = Application::build(settings, Clock::system()).await.err().unwrap().to_string();
    assert!(error.starts_with("cannot use mqtts://127.0.0.1:1/"), "{error}");
}
