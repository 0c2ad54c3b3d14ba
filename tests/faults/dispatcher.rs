//! A dispatcher on the live feed: writes down every record and continues from its cursor after each cut.

use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use waypost_client::Api;
use waypost_client::socket::{feed, feed_of, say};

use crate::book::Book;
use crate::ledger::FeedRecord;
use crate::wire::{connect, next};

/// Heartbeats come every 15 s; without any for this long the connection is dead.
const PATIENCE: Duration = Duration::from_secs(40);
/// The pause before it reconnects.
const AWAY: Duration = Duration::from_millis(50);

/// Watches an organization, or as an operator all of them, until the run is over.
pub(crate) async fn watch(
    (api, servers): (Rc<Api>, Vec<String>),
    organization: Option<String>,
    book: Rc<Book>,
) {
    let mut cursor = Value::Null;
    // The next time at another node, if there are any.
    for server in servers.iter().cycle() {
        let end = session((&api, server), organization.as_deref(), &book, &mut cursor).await;
        if end == "401" {
            // The access token has expired; if the server does not answer, the next attempt will show that.
            let _ = api.renew().await;
        }
        sleep(AWAY).await;
    }
}

/// One connection; returns how it ended.
async fn session(
    (api, server): (&Api, &str),
    organization: Option<&str>,
    book: &Book,
    cursor: &mut Value,
) -> String {
    let request = match organization {
        Some(organization) => feed_of(server, &api.token(), organization),
        None => feed(server, &api.token()),
    };
    let mut socket = match connect(request).await {
        Ok(socket) => socket,
        Err(why) => return why,
    };
    let mut subscribe = json!({ "type": "subscribe", "id": "log", "topics": ["events", "occupancy"] });
    if let Some(organization) = organization {
        subscribe["filter"] = json!({ "organizationId": organization });
    }
    let resumes = !cursor.is_null();
    if resumes {
        subscribe["cursor"] = cursor.clone();
    }
    if say(&mut socket, subscribe.to_string()).await.is_err() {
        return "broken".to_owned();
    }
    loop {
        let said = match timeout(PATIENCE, next(&mut socket)).await {
            Ok(Ok(said)) => said,
            Ok(Err(end)) => return end,
            Err(_) => return "silent".to_owned(),
        };
        match said["type"].as_str() {
            Some("event") => {
                *cursor = said["cursor"].clone();
                book.told(FeedRecord::read(&said["event"]));
            }
            Some("subscribed") => {
                if resumes && said["mode"] != "resumed" {
                    book.broken_off(&said.to_string());
                }
                *cursor = said["cursor"].clone();
                book.count(|counts| counts.subscriptions += 1);
            }
            Some("heartbeat") => *cursor = said["cursors"]["log"].clone(),
            Some("reset") if said["reason"] != "slowReader" => book.broken_off(&said.to_string()),
            _ => {}
        }
    }
}
