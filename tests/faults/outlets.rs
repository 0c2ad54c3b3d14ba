//! Who is told of events beside the dispatcher: a webhook, and the fleet's own broker, by which devices report as well.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use waypost_client::{Api, Method};
use waypost_test_support::{Heard, Mosquitto, Subscribed, eventually};

use crate::ground::DEADLINE;
use crate::receiver::Receiver;

/// After so long without any delivery it is worth to read all that came.
const AT_REST: Duration = Duration::from_millis(500);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Where devices publish what they report.
pub(crate) const DEVICES: &str = "devices";

/// Receivers of all that happens at geofences, of one organization.
pub(crate) struct Outlets {
    receiver: Receiver,
    /// `None` where no broker is installed.
    broker: Option<(Mosquitto, Subscribed)>,
}

impl Outlets {
    pub(crate) async fn open() -> Self {
        let broker = Mosquitto::own().map(|mosquitto| {
            let subscribed = mosquitto.subscribe("outlets", "fleet/+/events/#");
            (mosquitto, subscribed)
        });
        Self { receiver: Receiver::start().await, broker }
    }

    /// What a server needs for them.
    pub(crate) fn settings(&self, organization: &str) -> Vec<(String, String)> {
        let mut settings = vec![("WAYPOST_WEBHOOK_NETWORKS".to_owned(), "127.0.0.0/8".to_owned())];
        if let Some((mosquitto, _)) = &self.broker {
            let (credentials, address) = (mosquitto.credentials(), mosquitto.address());
            let broker = format!(
                "mqtt://{credentials}@{address}/{organization}?publish=fleet&payload=flespi&topic={DEVICES}/+"
            );
            settings.push(("WAYPOST_MQTT_BROKERS".to_owned(), broker));
        }
        settings
    }

    /// Has the organization's events sent from now on.
    pub(crate) async fn order(&self, api: &Api, organization: &str) {
        let webhook = json!({ "organizationId": organization, "url": self.receiver.url,
            "eventTypes": ["geofence.*"] });
        api.send(Method::POST, "/v1/webhooks", &webhook).await.unwrap();
    }

    /// The broker, if there is one.
    pub(crate) fn broker(&self) -> Option<&Mosquitto> {
        self.broker.as_ref().map(|(mosquitto, _)| mosquitto)
    }

    /// How many brokers there are.
    pub(crate) fn brokers(&self) -> i64 {
        i64::from(self.broker.is_some())
    }

    /// What each was told, in the order in which it came.
    fn told(&self) -> Vec<(&'static str, Vec<Value>)> {
        let hook = self.receiver.got.borrow().iter().map(|got| got.body.clone()).collect();
        let mut told = vec![("webhook", hook)];
        if let Some((_, subscribed)) = &self.broker {
            let of_fence = |heard: &Heard| heard.topic.contains("/events/geofence");
            let heard = subscribed.heard().into_iter().filter(of_fence);
            told.push(("broker", heard.map(|heard| serde_json::from_str(&heard.payload).unwrap()).collect()));
        }
        told
    }

    /// How much all were told so far; cheap to ask.
    fn many(&self) -> (usize, u64) {
        let broker = self.broker.as_ref().map_or(0, |(_, subscribed)| subscribed.heard_bytes());
        (self.receiver.got.borrow().len(), broker)
    }

    /// Waits until nothing more comes for a while; answers how much all were told by then.
    async fn come_to_rest(&self) -> (usize, u64) {
        let (mut many, mut since) = (self.many(), Instant::now());
        while since.elapsed() < AT_REST {
            sleep(LOOK_EVERY).await;
            if self.many() != many {
                (many, since) = (self.many(), Instant::now());
            }
        }
        many
    }

    /// Waits until all are told of these records as they are stored, by id and revision, and checks in which order that came.
    pub(crate) async fn told_all(&self, stored: &BTreeMap<(String, i64), i64>) {
        let complete = || {
            for (whom, told) in self.told() {
                let told: BTreeSet<(String, i64)> = told.iter().map(key).collect();
                let missing = stored.iter().filter(|(key, _)| !told.contains(key));
                let numbers: BTreeSet<i64> = missing.map(|(_, number)| *number).collect();
                if let (Some(first), Some(last)) = (numbers.first(), numbers.last()) {
                    let (many, of, end) = (numbers.len(), stored.len(), stored.values().max());
                    return Err(format!(
                        "{whom}: {many} of {of} missing, from {first} to {last}; the log ends at {end:?}"
                    ));
                }
            }
            Ok(())
        };
        // To read all that came takes long, and the receiver answers on this thread: a delivery that is not answered twice would
        // come again only after minutes. As long as more comes than was there before it was read, it is not stuck: the broker's
        // subscriber is a program of its own, which is told more meanwhile.
        loop {
            let before = self.come_to_rest().await;
            let Err(missing) = complete() else { break };
            eventually(DEADLINE, async || if self.many() > before { Ok(()) } else { Err(missing.clone()) })
                .await;
        }
        for (whom, told) in self.told() {
            let mut known: BTreeMap<(String, i64), &Value> = BTreeMap::new();
            let mut newest: BTreeMap<&str, i64> = BTreeMap::new();
            let mut again = 0;
            for one in &told {
                if let Some(first) = known.insert(key(one), one) {
                    again += 1;
                    assert_eq!(first["data"], one["data"], "{whom}: the same each time");
                    continue;
                }
                let (vehicle, sequence) =
                    (one["data"]["vehicleId"].as_str().unwrap(), number(one, "sequence"));
                let before = newest.insert(vehicle, sequence).unwrap_or(0);
                assert!(before < sequence, "{whom}: {one} after {before}");
            }
            println!("{whom}: told of {} records, of {again} of them again", stored.len());
        }
    }
}

fn key(told: &Value) -> (String, i64) {
    (told["data"]["id"].as_str().unwrap().to_owned(), number(told, "revision"))
}

fn number(told: &Value, name: &str) -> i64 {
    told["data"][name].as_i64().unwrap()
}
