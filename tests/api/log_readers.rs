//! Who is told what by itself: every kind of entry of the log × every principal × own and foreign organization, of each reader
//! of the log, against one table. Whoever is told something is given the same by GET. What brokers are sent is chosen as
//! webhooks of an orgAdmin are.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use uuid::Uuid;
use waypost::domain::account::Role;
use waypost::domain::system_user::Scope;
use waypost::feed::cursor;
use waypost_actors::watch::Audience;
use waypost_test_support::eventually;

use crate::changes::{given, routes, told};
use crate::event_stream::Stream;
use crate::feed_rights::{hear, subscribe};
use crate::harness::{ANSWER_WITHIN, App, on_each_engine, text};
use crate::matrix::{Principal, World, principals, world};
use crate::receiver::Receiver;
use crate::sockets::{opened, say};
use crate::whole_log::{CHANGES, EVENTS, Entry, FUEL, key, log};

/// A reader's question.
struct Ask<'a> {
    token: &'a str,
    is_operator: bool,
    topics: Vec<&'static str>,
    /// As an operator names it.
    organization: Option<&'a str>,
    cursor: String,
    /// The number of the last entry that is told.
    last: i64,
}

impl Ask<'_> {
    fn is_everyone(&self) -> bool {
        self.is_operator && self.organization.is_none()
    }

    fn in_query(&self) -> String {
        self.organization.map(|id| format!("&organizationId={id}")).unwrap_or_default()
    }

    /// What the socket of the feed tells.
    async fn of_socket(&self, app: &App) -> Vec<Value> {
        let mut socket = opened(app, "/v1/ws/live", self.token).await.unwrap();
        let filter = json!({ "organizationId": self.organization });
        let ask = json!({ "type": "subscribe", "id": "a", "topics": self.topics, "filter": filter,
            "cursor": self.cursor });
        say(&mut socket, &ask).await;
        let mut heard = Vec::new();
        while heard.last().is_none_or(|said: &Value| said["sequence"] != self.last) {
            let said = hear(&mut socket, &["event", "change", "error", "reset"]).await;
            let entry = said.get(text(&said["type"]));
            heard.push(entry.unwrap_or_else(|| panic!("{said}")).clone());
        }
        heard
    }

    /// What the stream of Server-Sent Events tells.
    async fn of_stream(&self, app: &App) -> Vec<Value> {
        let (topics, organization) = (self.topics.join("&topics="), self.in_query());
        let query = format!("topics={topics}&cursor={}{organization}", self.cursor);
        let mut stream = Stream::of(app, &query, self.token, "").await;
        let mut heard = Vec::new();
        while heard.last().is_none_or(|said: &Value| said["sequence"] != self.last) {
            let (name, _, said) = stream.hear(&["event", "change", "problem", "reset"]).await;
            heard.push(said.get(name).unwrap_or_else(|| panic!("{said}")).clone());
        }
        heard
    }

    /// What GET gives of the records that were told; operators name an organization. Who may read fuel need not read events.
    async fn records(&self, app: &App, told: &[Value]) -> BTreeMap<String, Value> {
        let is_of_fuel = |kind: &&str| ["refuel", "drain"].contains(kind);
        let kinds: BTreeSet<&str> = told.iter().filter_map(|said| said["type"].as_str()).collect();
        let (of_fuel, others): (Vec<_>, Vec<_>) = kinds.into_iter().partition(is_of_fuel);
        let mut found = BTreeMap::new();
        for (list, kinds) in [("/v1/fuel/events", of_fuel), ("/v1/events", others)] {
            if !kinds.is_empty() && !self.is_everyone() {
                let path = format!("{list}?limit=200&type={}{}", kinds.join("&type="), self.in_query());
                let listed = app.get(&path, self.token).await.ok(200);
                found.extend(
                    listed["data"].as_array().unwrap().iter().map(|one| (text(&one["id"]), one.clone())),
                );
            }
        }
        found
    }
}

/// Where what is told is not what the table says, and what is told is not what GET gives.
async fn wrong(app: &App, reader: &str, ask: &Ask<'_>, told: &[Value], expected: &[&Entry]) -> Vec<String> {
    let mut wrong = Vec::new();
    let sequences: Vec<i64> = told.iter().filter_map(|said| said["sequence"].as_i64()).collect();
    let wanted: Vec<i64> = expected.iter().map(|entry| entry.sequence).collect();
    if sequences != wanted {
        let keys = |keys: BTreeSet<(String, String)>| keys.into_iter().collect::<Vec<_>>();
        let (told, expected): (BTreeSet<_>, BTreeSet<_>) =
            (told.iter().map(key).collect(), expected.iter().map(|entry| entry.key.clone()).collect());
        let (more, less) = (keys(&told - &expected), keys(&expected - &told));
        wrong.push(format!("{reader}: told beside the table {more:?}, not told {less:?}"));
    }
    let records = ask.records(app, told).await;
    for said in told {
        let of = match said.get("resource") {
            Some(_) if said["kind"] == "deleted" => continue,
            Some(_) => {
                let routes = routes(said, ask.is_operator);
                if routes.is_empty() {
                    continue;
                }
                given(app, ask.token, &routes, &said["resourceId"]).await
            }
            None if ask.is_everyone() => continue,
            None => records.get(&text(&said["id"])).cloned(),
        };
        let shown = said.get("data").unwrap_or(said);
        if of.as_ref() != Some(shown) {
            wrong.push(format!("{reader}: told {shown} where GET gives {of:?}"));
        }
    }
    wrong
}

/// What each reader says to a principal, by the table.
async fn heard_by(
    app: &App,
    log: &[Entry],
    principal: &Principal,
    organization: Option<&str>,
) -> Vec<String> {
    let Principal { token, is, is_operator, .. } = principal;
    let topics = [("events", EVENTS), ("fuel", FUEL), ("changes", CHANGES)];
    let topics: Vec<_> = topics.iter().filter(|(_, may)| may.holds(is)).map(|(topic, _)| *topic).collect();
    let named = organization.filter(|_| *is_operator);
    let is_told = |entry: &&Entry| {
        entry.may.holds(is) && (organization.is_none() || entry.organization.as_deref() == organization)
    };
    let expected: Vec<&Entry> = log.iter().filter(is_told).collect();
    let Some(last) = expected.last() else {
        // Who is not signed in may open one, for a ticket.
        if let Ok(mut socket) = opened(app, "/v1/ws/live", token).await
            && is != "N"
        {
            for topic in ["events", "fuel", "changes"] {
                let said = subscribe(&mut socket, &[topic], json!({})).await;
                assert_eq!(said["code"], "forbidden", "{}: {said}", principal.name);
            }
        }
        let bearer = format!("Bearer {token}");
        let (status, _) = Stream::open(app, "", &[("authorization", &bearer)]).await;
        let polled = app.get("/v1/changes", token).await.status;
        assert!([status, polled].iter().all(|status| [401, 403].contains(status)), "{}", principal.name);
        return Vec::new();
    };
    let audience = match organization {
        Some(id) => Audience::Organization(id.parse::<Uuid>().unwrap().into()),
        None => Audience::Everyone,
    };
    let (signer, now) = (&app.context.auth.cursor_signer, app.context.clock.now());
    let cursor = cursor::sign(signer, audience, log[0].sequence, now);
    let last = last.sequence;
    let ask = Ask { token, is_operator: *is_operator, topics, organization: named, cursor, last };
    let mut found = wrong(app, "socket", &ask, &ask.of_socket(app).await, &expected).await;
    found.extend(wrong(app, "stream", &ask, &ask.of_stream(app).await, &expected).await);
    if ask.topics.contains(&"changes") {
        let end = log.last().map_or(0, |entry| entry.sequence);
        let (mut polled, _) = told(app, token, &ask.in_query(), Some(&ask.cursor)).await;
        polled.retain(|said| said["sequence"].as_i64().is_some_and(|number| number <= end));
        let changes: Vec<&Entry> = expected.into_iter().filter(|entry| entry.is_change).collect();
        found.extend(wrong(app, "poller", &ask, &polled, &changes).await);
    }
    found
}

#[test]
fn nobody_is_told_by_any_reader_what_get_would_not_give() {
    on_each_engine(async |app| {
        let (own, foreign) = (world(&app, "own").await, world(&app, "foreign").await);
        for world in [&own, &foreign] {
            // They would begin with what is made room for.
            let path =
                format!("/v1/webhooks/{}?organizationId={}", world.owned["webhooks"], world.organization);
            app.delete(&path, &app.root).await.ok(204);
        }
        let principals = principals(&app, &own).await;
        let senders = senders(&app, &own).await;
        let log = log(&app, &own, &foreign).await;
        let mut found = Vec::new();
        for principal in &principals {
            let audiences = match principal.is_operator {
                true => vec![None, Some(&*own.organization), Some(&*foreign.organization)],
                false => vec![Some(&*own.organization)],
            };
            for organization in audiences {
                let of = heard_by(&app, &log, principal, organization).await;
                found.extend(of.into_iter().map(|wrong| format!("{}, {wrong}", principal.name)));
            }
        }
        assert!(found.is_empty(), "{} of them:\n{}", found.len(), found.join("\n"));
        assert_eq!(sent(&app, &log, &own, &senders).await, Vec::<String>::new());
        app
    });
}

/// Those by whose rights webhooks are sent: a role's letter or a scope, with an access token.
async fn senders(app: &App, own: &World) -> Vec<(&'static str, String)> {
    let admin = app.sign_in(app.account(Role::OrgAdmin, Some(&own.organization)).await).await;
    let mut senders = vec![("O", admin.clone())];
    for (scope, _) in Scope::WORDS {
        let (_, token) = app.system_user(&admin, &["webhooks:write", scope]).await;
        senders.push((scope, token));
    }
    senders
}

/// What webhooks are sent, by the table; all that it says is waited for.
async fn sent(app: &App, log: &[Entry], own: &World, senders: &[(&str, String)]) -> Vec<String> {
    let mut receivers = Vec::new();
    for (is, token) in senders {
        let receiver = Receiver::start().await;
        let body = json!({ "url": receiver.url, "eventTypes": ["*"] });
        let made = app.post("/v1/webhooks", token, body).await.ok(201);
        let since = app.context.clock.now().plus_seconds(-60.0).to_string();
        let path = format!("/v1/webhooks/{}/resend", text(&made["id"]));
        app.post(&path, token, json!({ "since": since })).await.ok(200);
        let own = Some(own.organization.as_str());
        let is_told = |entry: &&Entry| entry.may.holds(is) && entry.organization.as_deref() == own;
        receivers.push((is, token, receiver, log.iter().filter(is_told).collect::<Vec<_>>()));
    }
    // In the order of the log; what worlds are made of is before.
    let got = |receiver: &Receiver| -> BTreeMap<i64, Value> {
        let got = receiver.got.borrow();
        let told = got.iter().map(|got| (got.body["data"]["sequence"].as_i64(), got.body["data"].clone()));
        told.filter_map(|(number, said)| Some((number.filter(|number| *number >= log[0].sequence)?, said)))
            .collect()
    };
    for (_, _, receiver, expected) in &receivers {
        eventually(ANSWER_WITHIN, async || {
            let got = got(receiver);
            expected.iter().all(|entry| got.contains_key(&entry.sequence))
        })
        .await;
    }
    let mut found = Vec::new();
    for (is, token, receiver, expected) in &receivers {
        let ask = Ask {
            token,
            is_operator: false,
            topics: Vec::new(),
            organization: None,
            cursor: String::new(),
            last: 0,
        };
        let told: Vec<Value> = got(receiver).into_values().collect();
        found.extend(wrong(app, &format!("webhook of {is}"), &ask, &told, expected).await);
    }
    found
}
