//! Programs that keep a copy of master data: one polls `/v1/changes`, one listens to Server-Sent Events and is cut off again and
//! again. Through kills of the server both hear nothing twice, and end with what `/v1` gives.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use futures_util::future::join;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval, sleep};
use waypost_client::{Api, Method};
use waypost_test_support::{Program, TestStore, eventually, for_each_engine, text};

use crate::events::Events;
use crate::kills::kills;
use crate::server::{DEADLINE, launch};

for_each_engine!(a_poller_and_a_stream_end_with_what_get_gives_through_kills,);

/// Edits between two kills.
const EDITS: usize = 30;
/// Changes after which the stream is cut.
const CUT_AFTER: usize = 7;
/// The things that are edited, and how they are made.
const KINDS: [(&str, &str); 3] = [("vehicle", "name"), ("geofence", "name"), ("driver", "firstName")];

/// A copy of master data.
#[derive(Default)]
struct Copy {
    /// What is known by kind and id.
    things: BTreeMap<(String, String), Value>,
    /// The numbers of the changes heard of.
    heard: Vec<i64>,
    /// Where it goes on.
    cursor: String,
}

impl Copy {
    fn apply(&mut self, change: &Value) {
        let key = (text(&change["resource"]), text(&change["resourceId"]));
        self.heard.push(change["sequence"].as_i64().unwrap());
        match &change["data"] {
            Value::Null => drop(self.things.remove(&key)),
            data => drop(self.things.insert(key, data.clone())),
        }
    }

    /// What it knows of what is edited.
    fn edited(&self) -> BTreeMap<(String, String), Value> {
        let is_edited = |kind: &str| KINDS.iter().any(|(known, _)| *known == kind);
        let things = self.things.iter().filter(|((kind, _), _)| is_edited(kind));
        things.map(|(key, data)| (key.clone(), data.clone())).collect()
    }
}

async fn poll(api: Rc<Api>, organization: String, copy: Rc<RefCell<Copy>>) {
    let mut ticks = interval(Duration::from_millis(20));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let after = copy.borrow().cursor.clone();
        let path = format!("/v1/changes?limit=5&organizationId={organization}&after={after}");
        let slice: Value = serde_json::from_slice(&api.get(&path).await.unwrap()).unwrap();
        let mut copy = copy.borrow_mut();
        slice["data"].as_array().unwrap().iter().for_each(|change| copy.apply(change));
        copy.cursor = text(&slice["pagination"]["endCursor"]);
    }
}

/// Listens until the connection ends, or is cut.
async fn listen(api: &Api, organization: &str, copy: &RefCell<Copy>) -> std::io::Result<()> {
    let query = format!("topics=changes&organizationId={organization}");
    let cursor = copy.borrow().cursor.clone();
    let (mut events, mut count) = (Events::open(api.server(), &query, &api.token(), &cursor).await?, 0);
    while count < CUT_AFTER
        && let Some(event) = events.next().await?
    {
        assert!(!["reset", "problem"].contains(&event.name.as_str()), "{}", event.data);
        if event.name == "change" {
            let mut copy = copy.borrow_mut();
            copy.apply(&event.data["change"]);
            copy.cursor = event.id;
            count += 1;
        }
    }
    Ok(())
}

/// Makes something, changes it or deletes it. What comes of it while the server is killed, nobody knows.
async fn edit(api: &Api, organization: &str, random: u64, made: &RefCell<Vec<String>>) {
    let (kind, name) = KINDS[random as usize % KINDS.len()];
    let known = made.borrow().iter().find(|path| path.contains(kind)).cloned();
    let named = json!({ name: format!("{kind} {random}") });
    match (known, random / 3 % 4) {
        (Some(path), 0) => {
            if api.ask(Method::DELETE, &path, None::<&()>).await.is_ok() {
                made.borrow_mut().retain(|known| *known != path);
            }
        }
        (Some(path), 1 | 2) => drop(api.ask(Method::PUT, &path, Some(&named)).await),
        _ => {
            let mut body = json!({ "organizationId": organization, "lastName": "Ruiz", "lock": false,
                "shape": { "type": "circle", "radiusMeters": 100.0, "center": { "latitude": 30.27, "longitude": -97.74 } } });
            let others = if kind == "driver" { vec!["shape"] } else { vec!["lastName", "lock"] };
            let others = if kind == "vehicle" { vec!["lastName", "lock", "shape"] } else { others };
            body.as_object_mut().unwrap().retain(|name, _| !others.contains(&name.as_str()));
            body[name] = named[name].clone();
            if let Ok(answer) = api.ask(Method::POST, &format!("/v1/{kind}s"), Some(&body)).await {
                assert_eq!(answer.status, 201, "{}", answer.json());
                let id = text(&answer.json()["id"]);
                made.borrow_mut().push(format!("/v1/{kind}s/{id}?organizationId={organization}"));
            }
        }
    }
}

/// What GET gives of what is edited.
async fn given(api: &Api, organization: &str) -> BTreeMap<(String, String), Value> {
    let mut given = BTreeMap::new();
    let get =
        async |path: String| -> Value { serde_json::from_slice(&api.get(&path).await.unwrap()).unwrap() };
    for (kind, _) in KINDS {
        let listed = get(format!("/v1/{kind}s?limit=200&organizationId={organization}")).await;
        for thing in listed["data"].as_array().unwrap() {
            let id = text(&thing["id"]);
            let include = if kind == "vehicle" { "&include=none" } else { "" };
            let path = format!("/v1/{kind}s/{id}?organizationId={organization}{include}");
            given.insert((kind.to_owned(), id), get(path).await);
        }
    }
    given
}

async fn a_poller_and_a_stream_end_with_what_get_gives_through_kills(store: TestStore) {
    let launch = launch(&store);
    let mut server = Program::start(&launch).await;
    let api = Rc::new(server.operator().await);
    let body = json!({ "name": "org", "contactEmail": "org@example.org",
        "admin": { "email": "admin@example.org", "firstName": "A", "lastName": "B" } });
    let organization = text(&api.send(Method::POST, "/v1/organizations", &body).await.unwrap()["id"]);
    let activate = format!("/v1/organizations/activate/{organization}");
    api.send(Method::PUT, &activate, &json!({})).await.unwrap();
    let latest = format!("/v1/changes?after=latest&organizationId={organization}");
    let latest: Value = serde_json::from_slice(&api.get(&latest).await.unwrap()).unwrap();
    let copy = || {
        let cursor = text(&latest["pagination"]["endCursor"]);
        Rc::new(RefCell::new(Copy { cursor, ..Copy::default() }))
    };
    let (polled, streamed) = (copy(), copy());
    let polling = actix_rt::spawn(poll(Rc::clone(&api), organization.clone(), Rc::clone(&polled)));
    let (of, whose, into) = (Rc::clone(&api), organization.clone(), Rc::clone(&streamed));
    let streaming = actix_rt::spawn(async move {
        loop {
            // Whatever ended it, it goes on after the last that it heard of.
            drop(listen(&of, &whose, &into).await);
            sleep(Duration::from_millis(10)).await;
        }
    });
    let mut rng = StdRng::seed_from_u64(0x666f_6c64);
    let made = RefCell::default();
    for _ in 0..kills() {
        for _ in 0..EDITS {
            edit(&api, &organization, rng.random_range(0..1_000), &made).await;
        }
        let pause = Duration::from_micros(rng.random_range(0..5_000));
        let killed = async {
            sleep(pause).await;
            server.kill();
        };
        join(edit(&api, &organization, rng.random_range(0..1_000), &made), killed).await;
        server = Program::start(&launch).await;
    }
    let given = given(&api, &organization).await;
    assert!(given.len() > 5, "{given:?}");
    for (name, copy) in [("poller", &polled), ("stream", &streamed)] {
        eventually(DEADLINE, async || {
            let edited = copy.borrow().edited();
            (edited == given).then_some(()).ok_or(format!("{name}: {edited:#?} and not {given:#?}"))
        })
        .await;
        let heard = &copy.borrow().heard;
        assert!(
            heard.is_sorted_by(|before, after| before < after),
            "{name} hears something twice: {heard:?}"
        );
    }
    // The poller may come to a change only when its thing is gone, and is then told of its end alone.
    polling.abort();
    streaming.abort();
}
