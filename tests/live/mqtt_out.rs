//! What the server publishes to the fleet's own broker: the real mosquitto, restarts of either side, a broker that hangs, and a
//! server that is killed.

use serde_json::{Value, json};
use waypost::config::{Settings, Sources};
use waypost::domain::account::Role;
use waypost_client::{Http, Method};
use waypost_test_support::{
    Heard, Mosquitto, Program, Proxy, Subscribed, TestStore, eventually, for_each_engine, text,
};

use crate::doctor::{DOCTOR, said};
use crate::server::{Bus, DEADLINE, Fleet, Server, launch};
use crate::wire::crossings;

for_each_engine!(
    events_come_in_order_and_once_over_restarts_of_either_side,
    one_who_comes_late_finds_the_newest_position_and_none_of_what_is_deleted,
    a_home_assistant_is_told_of_each_vehicle_and_of_what_becomes_of_it,
    a_broker_that_hangs_disturbs_nobody_and_gets_the_newest,
    killed_in_the_middle_nothing_is_missing,
    nothing_of_another_organization_is_published,
    for_an_organization_that_does_not_exist_nothing_is_tried,
);

/// An organization with buses and a fence, made by a server that publishes nothing.
struct Furnished {
    organization: String,
    buses: Vec<Bus>,
}

async fn furnish(store: &TestStore, names: &[&str]) -> Furnished {
    let server = Server::start(store).await;
    let fleet = server.fleet("org").await;
    let mut buses = Vec::new();
    for name in names {
        buses.push(fleet.bus(name).await);
    }
    fleet.fence("Depot").await;
    // What is made before is told to nobody.
    buses[0].cross(&server, 1, 2).await;
    let organization = fleet.id.clone();
    server.stop().await;
    Furnished { organization, buses }
}

impl Furnished {
    /// The setting of a broker at an address.
    fn setting(&self, mosquitto: &Mosquitto, address: &str, rest: &str) -> String {
        format!("mqtt://{}@{address}/{}?{rest}", mosquitto.credentials(), self.organization)
    }

    async fn fleet<'a>(&self, server: &'a Server) -> Fleet<'a> {
        let admin = server.sign_in(&self.organization, Role::OrgAdmin).await.0;
        let dispatcher = server.sign_in(&self.organization, Role::Dispatcher).await.0;
        Fleet { server, id: self.organization.clone(), admin, dispatcher }
    }

    /// The events told of, in order: their ids.
    fn events(&self, subscribed: &Subscribed, prefix: &str) -> Vec<Told> {
        let root = format!("{prefix}/{}/events/", self.organization);
        let told = subscribed.heard().into_iter().filter_map(|heard| {
            let kind = heard.topic.strip_prefix(&root)?.to_owned();
            let body: Value = serde_json::from_str(&heard.payload).unwrap();
            assert_eq!((&body["type"], heard.is_retained), (&json!(kind), false), "{body}");
            Some(Told { kind, sequence: body["data"]["sequence"].as_i64().unwrap(), body })
        });
        told.collect()
    }

    /// What was told of where a bus is.
    fn positions(&self, subscribed: &Subscribed, prefix: &str, bus: &Bus) -> Vec<Heard> {
        let topic = format!("{prefix}/{}/vehicles/{}/position", self.organization, bus.vehicle);
        subscribed.heard().into_iter().filter(|heard| heard.topic == topic).collect()
    }
}

#[derive(Clone, Debug)]
struct Told {
    kind: String,
    sequence: i64,
    body: Value,
}

impl Told {
    fn id(&self) -> String {
        text(&self.body["data"]["id"])
    }
}

/// The ids of what was new, in order: after an end of the connection it goes on from a cursor.
fn news(told: Vec<Told>) -> Vec<String> {
    let mut newest = 0;
    let is_new = |told: &Told| {
        let before = std::mem::replace(&mut newest, told.sequence);
        newest = newest.max(before);
        told.sequence > before
    };
    told.into_iter().filter(is_new).map(|told| told.id()).collect()
}

async fn start(store: &TestStore, brokers: &[&str]) -> Server {
    let variables = vec![("WAYPOST_MQTT_BROKERS".to_owned(), brokers.join(","))];
    let read = Settings::load(&Sources { file: None, variables, flags: Vec::new() }).unwrap();
    Server::start_with(store, |settings| settings.mqtt_brokers = read.mqtt_brokers).await
}

async fn connected(server: &Server, many: i64) {
    eventually(DEADLINE, async || server.context.meters.mqtt_out.connected.get() == many).await;
}

/// Where a bus is, as GET gives it.
async fn shown(fleet: &Fleet<'_>, bus: &Bus) -> Value {
    let path = format!("/v1/positions?vehicleId={}", bus.vehicle);
    fleet.server.get(&path, &fleet.admin).await.ok(200)["data"][0].clone()
}

fn is_shown(heard: Option<&Heard>, shown: &Value) -> bool {
    heard.is_some_and(|heard| serde_json::from_str::<Value>(&heard.payload).is_ok_and(|told| told == *shown))
}

async fn events_come_in_order_and_once_over_restarts_of_either_side(store: TestStore) {
    let Some(mut mosquitto) = Mosquitto::own() else { return };
    let furnished = furnish(&store, &["one", "two"]).await;
    let setting = furnished.setting(&mosquitto, &mosquitto.address(), "publish=own/waypost");
    let subscribed = mosquitto.subscribe("all", "own/waypost/#");
    let (one, two) = (&furnished.buses[0], &furnished.buses[1]);
    let told = || furnished.events(&subscribed, "own/waypost");
    let server = start(&store, &[&setting]).await;
    connected(&server, 1).await;
    let (_, said) = said(&store, &[&DOCTOR[..], &["--mqtt-brokers", &setting]].concat()).await;
    let root = format!("own/waypost/{}", furnished.organization);
    assert!(
        said.contains("takes the sign-in") && said.contains(&format!("publish below {root}/#")),
        "{said}"
    );
    one.cross(&server, 3, 8).await;
    eventually(DEADLINE, async || told().len() >= 6).await;
    // As webhooks are sent it.
    let (fleet, first) = (furnished.fleet(&server).await, told().remove(0));
    let shown = server.get(&format!("/v1/geofence-events/{}", first.id()), &fleet.admin).await.ok(200);
    assert_eq!((&first.body["data"], &first.body["timestamp"]), (&shown, &shown["occurredAt"]));
    assert_eq!((first.kind.as_str(), &first.body["type"]), ("geofence.entry", &json!("geofence.entry")));
    let cursor = async || {
        let select = "select max(next_sequence) from mqtt_cursor";
        store.db.read().sql(select).scalar::<i64>().await.unwrap()
    };
    let newest = || told().iter().map(|told| told.sequence).max().unwrap_or(0);
    // Acknowledged and stored, so that nothing of it is published again.
    eventually(DEADLINE, async || cursor().await > newest()).await;
    mosquitto.stop();
    two.cross(&server, 1, 6).await;
    connected(&server, 0).await;
    server.stop().await;
    let server = start(&store, &[&setting]).await;
    one.cross(&server, 9, 14).await;
    mosquitto.start();
    // The broker may bring a subscriber again what it acknowledged just before the broker's end.
    eventually(DEADLINE, async || news(told()).len() >= 18).await;
    eventually(DEADLINE, async || cursor().await > newest()).await;
    assert_eq!(server.context.meters.mqtt_out.events.get(), 12);
    server.stop().await;
    let server = start(&store, &[&setting]).await;
    connected(&server, 1).await;
    two.cross(&server, 7, 8).await;
    eventually(DEADLINE, async || news(told()).len() >= 20).await;
    eventually(DEADLINE, async || cursor().await > newest()).await;
    assert_eq!(server.context.meters.mqtt_out.events.get(), 2);
    let fleet = furnished.fleet(&server).await;
    // All but the two that were before.
    assert_eq!(news(told()), fleet.events().await[2..]);
    // What is deleted is told nothing, and leaves no cursor.
    let cursors = async || {
        server.context.db.read().sql("select count(*) from mqtt_cursor").scalar::<i64>().await.unwrap()
    };
    assert_eq!(cursors().await, 1);
    let path = format!("/v1/organizations/organization/{}", furnished.organization);
    server.send("DELETE", &path, &server.root, "").await.ok(204);
    assert_eq!(cursors().await, 0);
    server.stop().await;
}

async fn one_who_comes_late_finds_the_newest_position_and_none_of_what_is_deleted(store: TestStore) {
    let Some(mosquitto) = Mosquitto::own() else { return };
    let furnished = furnish(&store, &["one", "two"]).await;
    let setting =
        furnished.setting(&mosquitto, &mosquitto.address(), "publish=waypost&event=change.vehicle.*");
    let (one, two) = (&furnished.buses[0], &furnished.buses[1]);
    let server = start(&store, &[&setting]).await;
    let fleet = furnished.fleet(&server).await;
    two.cross(&server, 1, 1).await;
    let late = mosquitto.subscribe("late", "waypost/#");
    for bus in [one, two] {
        let shown = shown(&fleet, bus).await;
        eventually(DEADLINE, async || is_shown(furnished.positions(&late, "waypost", bus).last(), &shown))
            .await;
    }
    one.cross(&server, 3, 7).await;
    let newest = shown(&fleet, one).await;
    eventually(DEADLINE, async || is_shown(furnished.positions(&late, "waypost", one).last(), &newest)).await;
    // Silent for long, it says so by itself.
    let settings = json!({ "settings": { "staleAfterSeconds": 20, "offlineAfterSeconds": 40 } });
    server.put(&format!("/v1/organizations/organization/{}", fleet.id), &fleet.admin, settings).await.ok(200);
    server.pass(40);
    let silent = eventually(DEADLINE, async || {
        let silent = shown(&fleet, one).await;
        (silent["state"] == "offline").then_some(silent)
    })
    .await;
    eventually(DEADLINE, async || is_shown(furnished.positions(&late, "waypost", one).last(), &silent)).await;
    // Deleted while nobody publishes: what is retained is emptied after the next start.
    server.stop().await;
    let server = Server::start(&store).await;
    let fleet = furnished.fleet(&server).await;
    server.send("DELETE", &format!("/v1/vehicles/{}", one.vehicle), &fleet.admin, "").await.ok(204);
    server.stop().await;
    let server = start(&store, &[&setting]).await;
    let emptied = |bus: &Bus| {
        let last = furnished.positions(&late, "waypost", bus).pop();
        last.is_some_and(|heard| heard.payload.is_empty())
    };
    eventually(DEADLINE, async || emptied(one)).await;
    assert!(!emptied(two));
    let is_told = |bus: &Bus| {
        let told = furnished.events(&late, "waypost");
        told.iter()
            .any(|told| told.kind == "change.vehicle.deleted" && told.body.to_string().contains(&bus.vehicle))
    };
    eventually(DEADLINE, async || is_told(one)).await;
    // Deleted while it publishes.
    let later = mosquitto.subscribe("later", "waypost/#");
    eventually(DEADLINE, async || !furnished.positions(&later, "waypost", two).is_empty()).await;
    assert!(furnished.positions(&later, "waypost", one).is_empty());
    let admin = server.sign_in(&furnished.organization, Role::OrgAdmin).await.0;
    server.send("DELETE", &format!("/v1/vehicles/{}", two.vehicle), &admin, "").await.ok(204);
    eventually(DEADLINE, async || emptied(two) && is_told(two)).await;
    server.stop().await;
}

async fn a_home_assistant_is_told_of_each_vehicle_and_of_what_becomes_of_it(store: TestStore) {
    let Some(mosquitto) = Mosquitto::own() else { return };
    let furnished = furnish(&store, &["one", "two"]).await;
    let rest = "publish=waypost&discovery=homeassistant";
    let setting = furnished.setting(&mosquitto, &mosquitto.address(), rest);
    let (one, two) = (&furnished.buses[0], &furnished.buses[1]);
    let subscribed = mosquitto.subscribe("home", "homeassistant/#");
    let newest = |bus: &Bus| {
        let topic = format!("homeassistant/device_tracker/waypost/{}/config", bus.vehicle);
        subscribed.heard().into_iter().rfind(|heard| heard.topic == topic).map(|heard| heard.payload)
    };
    let name = |bus: &Bus| {
        let config: Value = serde_json::from_str(&newest(bus)?).ok()?;
        Some(text(&config["device"]["name"]))
    };
    let server = start(&store, &[&setting]).await;
    let (_, said) = said(&store, &[&DOCTOR[..], &["--mqtt-brokers", &setting]].concat()).await;
    assert!(said.contains("and homeassistant/device_tracker/waypost/#"), "{said}");
    eventually(DEADLINE, async || name(one).is_some() && name(two).is_some()).await;
    let config: Value = serde_json::from_str(&newest(one).unwrap()).unwrap();
    let position = format!("waypost/{}/vehicles/{}/position", furnished.organization, one.vehicle);
    assert_eq!(config["json_attributes_topic"], json!(position));
    let fleet = furnished.fleet(&server).await;
    let path = format!("/v1/vehicles/{}", one.vehicle);
    let called = server.get(&path, &fleet.admin).await.ok(200)["name"].clone();
    assert_eq!((name(one).unwrap(), &config["source_type"]), (text(&called), &json!("gps")));
    // Its template reads what is published, by its names.
    let (shown, template) = (shown(&fleet, one).await, text(&config["json_attributes_template"]));
    let read: Vec<&str> = template
        .split("value_json.")
        .skip(1)
        .map(|rest| rest.split(|c: char| !c.is_ascii_alphabetic()).next().unwrap())
        .collect();
    for member in ["position", "speedKmh", "headingDegrees", "motion", "state", "lastFixAt"] {
        assert!(read.contains(&member) && shown.get(member).is_some(), "{member}: {read:?}, {shown}");
    }
    server.send("PUT", &path, &fleet.admin, json!({ "name": "Renamed" }).to_string()).await.ok(200);
    eventually(DEADLINE, async || name(one).is_some_and(|name| name == "Renamed")).await;
    server.send("DELETE", &path, &fleet.admin, "").await.ok(204);
    eventually(DEADLINE, async || newest(one).is_some_and(|payload| payload.is_empty())).await;
    // Renamed and made while nobody publishes.
    server.stop().await;
    let server = Server::start(&store).await;
    let fleet = furnished.fleet(&server).await;
    let path = format!("/v1/vehicles/{}", two.vehicle);
    server.send("PUT", &path, &fleet.admin, json!({ "name": "Later" }).to_string()).await.ok(200);
    let three = fleet.bus("three").await;
    server.stop().await;
    let server = start(&store, &[&setting]).await;
    eventually(DEADLINE, async || name(two).is_some_and(|name| name == "Later") && name(&three).is_some())
        .await;
    assert_eq!(newest(one).as_deref(), Some(""), "it stays removed");
    server.stop().await;
}

async fn a_broker_that_hangs_disturbs_nobody_and_gets_the_newest(store: TestStore) {
    let Some(mosquitto) = Mosquitto::own() else { return };
    let furnished = furnish(&store, &["one"]).await;
    let (proxy, bus) = (Proxy::start(0, &mosquitto.address()).await, &furnished.buses[0]);
    let well = furnished.setting(&mosquitto, &mosquitto.address(), "publish=well");
    let hung = furnished.setting(&mosquitto, proxy.address(), "publish=hung");
    let (hears, waits) = (mosquitto.subscribe("hears", "well/#"), mosquitto.subscribe("waits", "hung/#"));
    let server = start(&store, &[&well, &hung]).await;
    connected(&server, 2).await;
    eventually(DEADLINE, async || !furnished.positions(&waits, "hung", bus).is_empty()).await;
    proxy.hang(true);
    for part in 0..4 {
        bus.cross(&server, 3 + part * 50, 52 + part * 50).await;
    }
    eventually(DEADLINE, async || furnished.events(&hears, "well").len() >= 200).await;
    let fleet = furnished.fleet(&server).await;
    let newest = shown(&fleet, bus).await;
    eventually(DEADLINE, async || is_shown(furnished.positions(&hears, "well", bus).last(), &newest)).await;
    assert!(furnished.events(&waits, "hung").is_empty());
    proxy.hang(false);
    eventually(DEADLINE * 2, async || news(furnished.events(&waits, "hung")).len() >= 200).await;
    eventually(DEADLINE, async || is_shown(furnished.positions(&waits, "hung", bus).last(), &newest)).await;
    let expected = fleet.events().await.split_off(2);
    assert_eq!(news(furnished.events(&hears, "well")), expected);
    assert_eq!(news(furnished.events(&waits, "hung")), expected);
    server.stop().await;
}

async fn killed_in_the_middle_nothing_is_missing(store: TestStore) {
    let Some(mosquitto) = Mosquitto::own() else { return };
    let furnished = furnish(&store, &["one"]).await;
    let mut launch = launch(&store);
    let setting = furnished.setting(&mosquitto, &mosquitto.address(), "publish=waypost");
    launch.settings.push(("WAYPOST_MQTT_BROKERS".to_owned(), setting));
    let subscribed = mosquitto.subscribe("all", "waypost/#");
    let (bus, kills) = (&furnished.buses[0], 4);
    for kill in 0..kills {
        let mut server = Program::start(&launch).await;
        let http = Http::new(&server.url(), DEADLINE);
        let items = crossings(3 + kill * 100, 102 + kill * 100);
        let (kind, bearer) = (("content-type", "application/json"), format!("Bearer {}", bus.token));
        let headers = [kind, ("authorization", bearer.as_str())];
        let body = json!({ "items": items }).to_string();
        http.send(Method::POST, "/v1/positions", &headers, body.into()).await.unwrap();
        let heard = |least: i64| furnished.events(&subscribed, "waypost").len() as i64 >= least;
        eventually(DEADLINE, async || heard(kill * 100 + 1)).await;
        server.kill();
        assert!(!server.log().contains(&mosquitto.credentials()), "a password is in the log");
    }
    let _server = Program::start(&launch).await;
    let told = || furnished.events(&subscribed, "waypost");
    let all = || async {
        let news = news(told());
        (news.len() as i64 >= 100 * kills).then_some(news)
    };
    let news = eventually(DEADLINE, all).await;
    let select =
        "select id from records where sequence > (select min(sequence) + 1 from records) order by sequence";
    let stored: Vec<(uuid::Uuid,)> = store.db.read().sql(select).all().await.unwrap();
    let stored: Vec<String> = stored.iter().map(|(id,)| id.to_string()).collect();
    assert_eq!(news, stored);
}

async fn for_an_organization_that_does_not_exist_nothing_is_tried(store: TestStore) {
    let Some(mosquitto) = Mosquitto::own() else { return };
    let furnished = furnish(&store, &["one"]).await;
    let own = furnished.setting(&mosquitto, &mosquitto.address(), "publish=own");
    let missing = own.replace(&furnished.organization, "01a1faea-5ddc-7008-8434-f2bff1d0b5a1");
    let server = start(&store, &[&missing, &own]).await;
    connected(&server, 1).await;
    assert_eq!(
        server.context.meters.mqtt_out.brokers.get(),
        1,
        "the other one stays shut until the next start"
    );
    server.stop().await;
}

async fn nothing_of_another_organization_is_published(store: TestStore) {
    let Some(mosquitto) = Mosquitto::own() else { return };
    let furnished = furnish(&store, &["one"]).await;
    let setting = furnished.setting(&mosquitto, &mosquitto.address(), "publish=waypost&event=*");
    let subscribed = mosquitto.subscribe("all", "#");
    let server = start(&store, &[&setting]).await;
    connected(&server, 1).await;
    let other = server.fleet("other").await;
    let bus = other.bus("two").await;
    other.fence("Yard").await;
    bus.cross(&server, 1, 4).await;
    // Behind all that in the log.
    let fence = furnished.fleet(&server).await.fence("Last").await;
    eventually(DEADLINE, async || subscribed.heard().iter().any(|heard| heard.payload.contains(&fence)))
        .await;
    let root = format!("waypost/{}/", furnished.organization);
    let is_own = |heard: &Heard| heard.topic.starts_with(&root) && !heard.payload.contains(&other.id);
    assert!(subscribed.heard().iter().all(is_own), "{:?}", subscribed.heard());
    server.stop().await;
}
