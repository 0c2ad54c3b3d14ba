//! What happens is sent to receivers: signed, in order of each vehicle, again after failures and over a restart.

use std::time::Duration;

use serde_json::{Value, json};
use waypost_actors::model::Timestamp;
use waypost_test_support::{TestStore, eventually, for_each_engine, port_for_restarts};

use crate::receiver::{Got, Receiver, status};
use crate::server::{DEADLINE, Fleet, Server, text};

for_each_engine!(
    what_happens_is_sent_signed_and_in_order_of_each_vehicle,
    a_failing_receiver_is_sent_the_same_again_after_a_restart_too,
    one_that_hangs_or_is_gone_costs_another_nothing,
    one_that_refuses_connections_or_trickles_misses_nothing_and_delays_no_other,
    one_that_asks_to_wait_is_waited_for_and_one_that_lies_about_its_length_is_believed_its_status,
    what_was_missed_is_sent_again_when_asked_for,
    one_that_names_vehicles_and_geofences_is_sent_nothing_of_others,
);

async fn start(store: &TestStore) -> Server {
    Server::start_with(store, |settings| settings.webhook_networks = vec!["127.0.0.0/8".parse().unwrap()])
        .await
}

/// A new webhook: its path, and its secret.
async fn webhook(fleet: &Fleet<'_>, receiver: &Receiver, types: &[&str]) -> (String, String) {
    let body = json!({ "url": receiver.url, "eventTypes": types });
    let made = fleet.server.post("/v1/webhooks", &fleet.admin, body).await.ok(201);
    (format!("/v1/webhooks/{}", text(&made["id"])), text(&made["secret"]))
}

async fn attempts(fleet: &Fleet<'_>, path: &str, many: usize) -> Vec<Value> {
    eventually(DEADLINE, || async {
        let said = fleet.server.get(&format!("{path}/attempts?sort=attemptedAt"), &fleet.admin).await.ok(200);
        let found = said["data"].as_array().unwrap().clone();
        (found.len() >= many).then_some(found)
    })
    .await
}

async fn until_got(receiver: &Receiver, many: usize) -> Vec<Got> {
    eventually(DEADLINE, async || receiver.got.borrow().len() >= many).await;
    receiver.got.borrow().clone()
}

async fn what_happens_is_sent_signed_and_in_order_of_each_vehicle(store: TestStore) {
    let server = start(&store).await;
    let (fleet, stranger) = (server.fleet("own").await, server.fleet("stranger").await);
    let (all, few, foreign) = (Receiver::start().await, Receiver::start().await, Receiver::start().await);
    let (path, secret) = webhook(&fleet, &all, &["*"]).await;
    webhook(&fleet, &few, &["geofence.exit"]).await;
    webhook(&stranger, &foreign, &["*"]).await;
    let (one, two) = (fleet.bus("one").await, fleet.bus("two").await);
    fleet.fence("Depot").await;
    one.cross(&server, 1, 6).await;
    two.cross(&server, 1, 6).await;
    let events = fleet.events().await;
    assert_eq!(events.len(), 12);
    eventually(DEADLINE, async || {
        all.of_type("geofence.entry").len() + all.of_type("geofence.exit").len() >= 12
            && all.of_type("change.geofence.created").len() == 1
            && few.got.borrow().len() >= 6
    })
    .await;
    for got in all.got.borrow().iter() {
        assert!(got.is_signed_by(&secret), "{got:?}");
    }
    for bus in [&one, &two] {
        let of_bus = |got: &&Got| got.body["data"]["vehicleId"] == json!(bus.vehicle);
        let numbers: Vec<i64> = all
            .got
            .borrow()
            .iter()
            .filter(of_bus)
            .map(|got| got.body["data"]["sequence"].as_i64().unwrap())
            .collect();
        assert!(numbers.len() == 6 && numbers.is_sorted(), "{numbers:?}");
    }
    assert!(few.got.borrow().iter().all(|got| got.kind() == "geofence.exit"));
    // As GET gives it.
    let got = all.of_type("geofence.entry").remove(0);
    let id = text(&got.body["data"]["id"]);
    assert_eq!(got.id, format!("{id}_1"));
    let shown = server.get(&format!("/v1/geofence-events/{id}"), &fleet.admin).await.ok(200);
    assert_eq!((&got.body["data"], &got.body["timestamp"]), (&shown, &shown["occurredAt"]));
    let got = all.of_type("change.geofence.created").remove(0);
    assert_eq!(got.body["data"]["data"]["name"], "Depot");
    // A change made before the webhook may get its number after it: of its own organization, it is sent.
    let is_own = |got: &Got| got.body["data"]["organizationId"] == json!(stranger.id);
    assert!(foreign.got.borrow().iter().all(is_own), "{:?}", foreign.got.borrow());
    // Both secrets sign for a day after a new one was made.
    let new = text(&server.post(&format!("{path}/secret"), &fleet.admin, json!({})).await.ok(200)["secret"]);
    let sent = server.post(&format!("{path}/test"), &fleet.admin, json!({})).await.ok(200);
    assert_eq!((&sent["outcome"], &sent["status"]), (&json!("delivered"), &json!(204)), "{sent}");
    let got = all.of_type("webhook.test").remove(0);
    assert!(got.is_signed_by(&secret) && got.is_signed_by(&new));
    server.pass(86_400);
    let admin = server.sign_in(&fleet.id, waypost::domain::account::Role::OrgAdmin).await.0;
    server.post(&format!("{path}/test"), &admin, json!({})).await.ok(200);
    let got = all.of_type("webhook.test").remove(1);
    assert!(!got.is_signed_by(&secret) && got.is_signed_by(&new));
    server.stop().await;
}

/// What operators see: attempts by outcome, webhooks that fail, seconds behind the log.
fn told(server: &Server) -> (Vec<u64>, i64, u64) {
    let of = &server.context.webhooks.meters;
    (of.outcomes().map(|(_, count)| count).collect(), of.failing.get(), of.lag().as_secs())
}

async fn a_failing_receiver_is_sent_the_same_again_after_a_restart_too(store: TestStore) {
    let server = start(&store).await;
    let fleet = server.fleet("org").await;
    let receiver = Receiver::start().await;
    receiver.answer(|_| status(500));
    let (bus, _) = (fleet.bus("one").await, fleet.fence("Depot").await);
    let (path, _) = webhook(&fleet, &receiver, &["geofence.*"]).await;
    bus.cross(&server, 1, 4).await;
    let first = until_got(&receiver, 1).await.remove(0);
    let failed = attempts(&fleet, &path, 1).await.remove(0);
    assert_eq!(
        (&failed["outcome"], &failed["status"], &failed["attempt"]),
        (&json!("failed"), &json!(500), &json!(1))
    );
    // Not before its time, and then it alone.
    assert_eq!(receiver.got.borrow().len(), 1);
    eventually(DEADLINE, async || told(&server).1 == 1).await;
    assert_eq!(told(&server).0, [0, 1, 0]);
    server.pass(6);
    let again = until_got(&receiver, 2).await.remove(1);
    assert_eq!((&again.id, &again.text), (&first.id, &first.text));
    assert_ne!(again.timestamp, first.timestamp);
    attempts(&fleet, &path, 2).await;
    eventually(DEADLINE, async || told(&server).2 >= 6).await;
    let (id, path) = (fleet.id.clone(), path);
    server.stop().await;
    // After a restart the pause goes on: the next attempt is due after 5 minutes and a bit.
    let server = start(&store).await;
    receiver.answer(|_| status(200));
    server.pass(340);
    let got = eventually(DEADLINE, async || {
        let got = receiver.got.borrow().clone();
        (got.len() >= 6).then_some(got)
    })
    .await;
    assert_eq!(got[2].id, first.id);
    let mut ids: Vec<String> = got.iter().map(|got| got.id.clone()).collect();
    ids.dedup();
    assert_eq!(ids.len(), 4, "{ids:?}");
    let admin = server.sign_in(&id, waypost::domain::account::Role::OrgAdmin).await.0;
    eventually(DEADLINE, async || {
        let shown = server.get(&path, &admin).await.ok(200);
        shown.get("failingSince").is_none() && shown.get("nextAttemptAt").is_none()
    })
    .await;
    eventually(DEADLINE, async || told(&server) == (vec![4, 0, 0], 0, 0)).await;
    let took = server.context.webhooks.meters.attempt_seconds.read();
    assert_eq!((took.count(), server.context.webhooks.meters.served.get()), (4, 1));
    server.stop().await;
}

async fn one_that_hangs_or_is_gone_costs_another_nothing(store: TestStore) {
    let server = start(&store).await;
    let fleet = server.fleet("org").await;
    let (good, hangs, gone, moved) =
        (Receiver::start().await, Receiver::start().await, Receiver::start().await, Receiver::start().await);
    hangs.answer(|_| None);
    gone.answer(|_| status(410));
    let target = good.url.clone();
    moved.answer(move |_| {
        Some(format!("HTTP/1.1 301 Moved\r\nlocation: {target}\r\ncontent-length: 0\r\n\r\n"))
    });
    let (bus, _) = (fleet.bus("one").await, fleet.fence("Depot").await);
    for receiver in [&good, &hangs] {
        webhook(&fleet, receiver, &["geofence.*"]).await;
    }
    let (to_gone, _) = webhook(&fleet, &gone, &["geofence.*"]).await;
    let (to_moved, _) = webhook(&fleet, &moved, &["geofence.*"]).await;
    bus.cross(&server, 1, 10).await;
    until_got(&good, 10).await;
    until_got(&moved, 1).await;
    assert_eq!((good.got.borrow().len(), hangs.got.borrow().len()), (10, 1));
    let failed = attempts(&fleet, &to_moved, 1).await.remove(0);
    assert_eq!((&failed["outcome"], &failed["status"]), (&json!("failed"), &json!(301)));
    let disabled = eventually(DEADLINE, || async {
        let shown = server.get(&to_gone, &fleet.admin).await.ok(200);
        (shown["enabled"] == false).then_some(shown)
    })
    .await;
    assert_eq!(disabled["disabledReason"], "gone");
    let letters = "select count(*) from mail_outbox where letter = 'webhookDisabled'";
    let written = "select count(*) from letter_written where letter = 'webhookDisabled'";
    eventually(DEADLINE, async || {
        let count =
            async |select: &'static str| server.context.db.read().sql(select).scalar::<i64>().await.unwrap();
        count(letters).await + count(written).await > 0
    })
    .await;
    server.stop().await;
}

async fn one_that_refuses_connections_or_trickles_misses_nothing_and_delays_no_other(store: TestStore) {
    let server = start(&store).await;
    let fleet = server.fleet("org").await;
    let (good, drop_by_drop, endless) =
        (Receiver::start().await, Receiver::start().await, Receiver::start().await);
    drop_by_drop.trickles.set(Some(Duration::from_millis(5)));
    drop_by_drop.answer(|_| Some("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nfine".to_owned()));
    // Its status is whole; the rest of what it promises would take minutes.
    endless.trickles.set(Some(Duration::from_millis(5)));
    endless.answer(|_| {
        Some(format!("HTTP/1.1 201 Made\r\ncontent-length: 99999\r\n\r\n{}", "x".repeat(99_999)))
    });
    let (bus, _) = (fleet.bus("one").await, fleet.fence("Depot").await);
    let port = port_for_restarts();
    let body = json!({ "url": format!("http://127.0.0.1:{port}/hook"), "eventTypes": ["geofence.*"] });
    let made = server.post("/v1/webhooks", &fleet.admin, body).await.ok(201);
    let mut paths = Vec::new();
    for receiver in [&good, &drop_by_drop, &endless] {
        paths.push(webhook(&fleet, receiver, &["geofence.*"]).await.0);
    }
    bus.cross(&server, 1, 4).await;
    until_got(&good, 4).await;
    assert!(drop_by_drop.got.borrow().len() < 4 && endless.got.borrow().len() < 4, "nobody waits for them");
    let refused = attempts(&fleet, &format!("/v1/webhooks/{}", text(&made["id"])), 1).await.remove(0);
    assert_eq!((&refused["outcome"], &refused["attempt"]), (&json!("failed"), &json!(1)));
    assert!(refused.get("status").is_none() && text(&refused["detail"]).contains("refused"), "{refused}");
    // Once somebody listens there, all of it comes, in order.
    let late = Receiver::start_at(port).await;
    server.pass(400);
    let ids = |got: Vec<Got>| got.into_iter().map(|got| got.id).collect::<Vec<_>>();
    let expected = ids(until_got(&good, 4).await);
    for receiver in [&late, &drop_by_drop, &endless] {
        assert_eq!(ids(until_got(receiver, 4).await), expected);
    }
    assert_eq!(refused["messageId"], json!(expected[0]));
    for (path, status) in [(&paths[1], 200), (&paths[2], 201)] {
        for attempt in attempts(&fleet, path, 4).await {
            assert_eq!((&attempt["outcome"], &attempt["status"]), (&json!("delivered"), &json!(status)));
        }
    }
    server.stop().await;
}

async fn one_that_asks_to_wait_is_waited_for_and_one_that_lies_about_its_length_is_believed_its_status(
    store: TestStore,
) {
    let server = start(&store).await;
    let fleet = server.fleet("org").await;
    let (busy, liar) = (Receiver::start().await, Receiver::start().await);
    let later = "HTTP/1.1 429 Later\r\nretry-after: 600\r\ncontent-length: 0\r\n\r\n";
    busy.answer(move |_| Some(later.to_owned()));
    // It promises more than it sends, and keeps the connection.
    liar.answer(|_| Some("HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\nshort".to_owned()));
    let (bus, _) = (fleet.bus("one").await, fleet.fence("Depot").await);
    let (to_busy, _) = webhook(&fleet, &busy, &["geofence.*"]).await;
    let (to_liar, _) = webhook(&fleet, &liar, &["geofence.*"]).await;
    bus.cross(&server, 1, 2).await;
    attempts(&fleet, &to_busy, 1).await;
    let instant = |shown: &Value| serde_json::from_value::<Timestamp>(shown.clone()).unwrap();
    let shown = eventually(DEADLINE, || async {
        let shown = server.get(&to_busy, &fleet.admin).await.ok(200);
        shown.get("nextAttemptAt").is_some().then_some(shown)
    })
    .await;
    let waits = instant(&shown["nextAttemptAt"]).seconds_since(instant(&shown["failingSince"]));
    assert!((600.0..601.0).contains(&waits), "{shown}");
    busy.answer(|_| status(204));
    server.pass(601);
    until_got(&busy, 3).await;
    let ids: Vec<String> = busy.got.borrow().iter().map(|got| got.id.clone()).collect();
    assert_eq!((&ids[0], ids.len()), (&ids[1], 3));
    let told = attempts(&fleet, &to_liar, 2).await;
    for (attempt, got) in told.iter().zip(liar.got.borrow().iter()) {
        assert_eq!(
            (&attempt["outcome"], &attempt["status"]),
            (&json!("delivered"), &json!(200)),
            "{attempt}"
        );
        assert_eq!((&attempt["answer"], &attempt["messageId"]), (&json!("short"), &json!(got.id)));
    }
    server.stop().await;
}

async fn what_was_missed_is_sent_again_when_asked_for(store: TestStore) {
    let server = start(&store).await;
    let fleet = server.fleet("org").await;
    let receiver = Receiver::start().await;
    let (bus, _) = (fleet.bus("one").await, fleet.fence("Depot").await);
    let (path, _) = webhook(&fleet, &receiver, &["geofence.*"]).await;
    let since = server.context.clock.now();
    bus.cross(&server, 1, 4).await;
    let before = until_got(&receiver, 4).await;
    let logged = attempts(&fleet, &path, 4).await;
    // One, and what it answered is told.
    let attempt = text(&logged[2]["id"]);
    receiver.answer(|_| Some("HTTP/1.1 400 Bad\r\ncontent-length: 4\r\n\r\nnope".to_owned()));
    let sent =
        server.post(&format!("{path}/attempts/{attempt}/resend"), &fleet.admin, json!({})).await.ok(200);
    assert_eq!((&sent["outcome"], &sent["answer"]), (&json!("failed"), &json!("nope")), "{sent}");
    assert_eq!(sent["messageId"], logged[2]["messageId"]);
    receiver.answer(|_| status(200));
    // While it is disabled nothing is sent, nor afterwards by itself.
    server.put(&path, &fleet.admin, json!({ "enabled": false })).await.ok(200);
    let refused = server.post(&format!("{path}/resend"), &fleet.admin, json!({ "since": since })).await;
    refused.problem(409, "invalidTransition");
    bus.cross(&server, 5, 6).await;
    server.put(&path, &fleet.admin, json!({ "enabled": true })).await.ok(200);
    server.post(&format!("{path}/resend"), &fleet.admin, json!({ "since": since })).await.ok(200);
    let got = until_got(&receiver, 11).await.split_off(5);
    let ids = |got: &[Got]| got.iter().map(|got| got.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&got[..4]), ids(&before));
    let expected: Vec<String> = fleet.events().await.iter().map(|id| format!("{id}_1")).collect();
    assert_eq!(ids(&got), expected);
    server.stop().await;
}

async fn one_that_names_vehicles_and_geofences_is_sent_nothing_of_others(store: TestStore) {
    let server = start(&store).await;
    let (fleet, stranger) = (server.fleet("own").await, server.fleet("stranger").await);
    let (one, two) = (fleet.bus("one").await, fleet.bus("two").await);
    let foreign = stranger.bus("foreign").await;
    let (depot, yard) = (fleet.fence("Depot").await, fleet.fence("Yard").await);
    let receivers = [Receiver::start().await, Receiver::start().await, Receiver::start().await];
    let [of_vehicle, of_fence, of_all] = &receivers;
    let with = |receiver: &Receiver, members: Value| {
        let mut body = json!({ "url": receiver.url, "eventTypes": ["change.*"] });
        body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        body
    };
    let made = async |body: Value| server.post("/v1/webhooks", &fleet.admin, body).await.ok(201);
    let narrowed = made(with(of_vehicle, json!({ "vehicleIds": [one.vehicle] }))).await;
    made(with(of_fence, json!({ "geofenceIds": [depot] }))).await;
    made(with(of_all, json!({}))).await;
    let renamed = async |path: String| {
        server.put(&path, &fleet.admin, json!({ "name": "Renamed" })).await.ok(200);
    };
    for bus in [&two, &one] {
        renamed(format!("/v1/vehicles/{}", bus.vehicle)).await;
    }
    for fence in [&yard, &depot] {
        renamed(format!("/v1/geofences/{fence}")).await;
    }
    let driver = json!({ "firstName": "A", "lastName": "B" });
    server.post("/v1/drivers", &fleet.admin, driver).await.ok(201);
    renamed(format!("/v1/vehicles/{}", one.vehicle)).await;
    // The last change of each is its own.
    server
        .put(&format!("/v1/vehicles/{}", one.vehicle), &fleet.admin, json!({ "name": "Last" }))
        .await
        .ok(200);
    server.put(&format!("/v1/geofences/{depot}"), &fleet.admin, json!({ "name": "Last" })).await.ok(200);
    eventually(DEADLINE, async || {
        receivers.iter().all(|receiver| {
            receiver.got.borrow().iter().any(|got| got.body["data"]["data"]["name"] == "Last")
        })
    })
    .await;
    eventually(DEADLINE, async || of_all.of_type("change.driver.created").len() == 1).await;
    for (receiver, own) in [(of_vehicle, &one.vehicle), (of_fence, &depot)] {
        let told: Vec<String> =
            receiver.got.borrow().iter().map(|got| text(&got.body["data"]["resourceId"])).collect();
        assert!(told.iter().all(|id| id == own), "{told:?}");
    }
    // What is not the organization's cannot be named.
    let nobody = waypost::clock::new_id();
    let strange = json!({ "vehicleIds": [one.vehicle, foreign.vehicle, nobody], "geofenceIds": [nobody] });
    let places = |said: waypost_test_support::Said| {
        let errors = said.body["errors"].as_array().unwrap().clone();
        errors
            .iter()
            .map(|error| format!("{} {}", text(&error["pointer"]), text(&error["code"])))
            .collect::<Vec<_>>()
    };
    let refused = ["/vehicleIds/1 notFound", "/vehicleIds/2 notFound", "/geofenceIds/0 notFound"];
    let said = server.post("/v1/webhooks", &fleet.admin, with(of_all, strange.clone())).await;
    assert_eq!((said.status, places(said)), (422, refused.map(String::from).to_vec()));
    let path = format!("/v1/webhooks/{}", text(&narrowed["id"]));
    let said = server.put(&path, &fleet.admin, strange).await;
    assert_eq!((said.status, places(said)), (422, refused.map(String::from).to_vec()));
    // One that was deleted since may stay.
    let vehicle = format!("/v1/vehicles/{}", one.vehicle);
    assert_eq!(server.send("DELETE", &vehicle, &fleet.admin, "").await.status, 204);
    let kept = json!({ "vehicleIds": [one.vehicle, two.vehicle], "description": "Later" });
    server.put(&path, &fleet.admin, kept).await.ok(200);
    server.stop().await;
}
