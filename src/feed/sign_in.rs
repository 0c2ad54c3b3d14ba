//! Whom a dispatcher's socket belongs to, and which vehicles and which parts of them it shows.

use std::sync::Arc;

use tokio::time::timeout;
use waypost_actors::model::OrganizationId;
use waypost_actors::watch::Audience;

use super::ending::{Close, Stop, broken, not_text};
use super::heard;
use super::parts::Feed;
use super::protocol::{Heard, Subscribe, Topic};
use crate::auth::{Action, Caller};
use crate::connections::Peer;
use crate::socket::{Message, Messages};

/// Bytes that the first message may have: a ticket in a few words.
const MOST_BYTES: usize = 4 * 1024;

/// Waits for the one-time ticket of a browser, which cannot set headers.
pub(super) async fn sign_in(
    messages: &mut Messages,
    peer: Option<Arc<Peer>>,
    feed: &Feed,
) -> Result<Caller, Stop> {
    let refused = |detail: &str| Stop::Close(Close(4401, "unauthenticated", detail.to_owned()));
    let first = async {
        loop {
            match messages.next_within(MOST_BYTES).await {
                Some(Ok(Message::Text(text))) => return Ok(text),
                Some(Ok(Message::Ping(_) | Message::Pong)) => {}
                Some(Ok(Message::Binary(_))) => return Err(not_text()),
                Some(Ok(Message::Close(code))) => return Err(Stop::Goodbye(code)),
                Some(Err(why)) => return Err(broken(why, MOST_BYTES)),
                None => return Err(Stop::Gone),
            }
        }
    };
    let first = timeout(feed.limits.sign_in_within, first);
    let first = Peer::waits_for(peer, first).await.ok_or(Stop::Gone)?;
    let text =
        first.map_err(|_| Stop::Close(Close(4408, "timeout", "no ticket came in time".to_owned())))??;
    match heard::read(&text) {
        Ok(Heard::Authenticate { ticket }) => feed
            .auth
            .tickets
            .redeem(&ticket, feed.live.now())
            .ok_or_else(|| refused("the ticket is unknown, used or older than 30 s")),
        _ => Err(refused("the first message must be {\"type\":\"authenticate\",\"ticket\":…}")),
    }
}

/// The audience of a caller's subscription on a socket that was opened for an organization, or for none; `None` for an organization the caller does not belong to.
pub(super) fn audience(
    caller: &Caller,
    opened_for: Option<OrganizationId>,
    asked: &Subscribe,
) -> Option<Audience> {
    match (caller.own_organization().ok()?, asked.filter.organization_id.or(opened_for)) {
        (Some(own), named) if named.is_none_or(|named| named == own) => Some(Audience::Organization(own)),
        (Some(_), _) => None,
        (None, Some(named)) => Some(Audience::Organization(named)),
        (None, None) => Some(Audience::Everyone),
    }
}

/// Checks the right to each topic, however the socket was signed in. The error names the topic and the required
/// right.
pub(super) fn may_subscribe(caller: &Caller, asked: &Subscribe) -> Result<(), (&'static str, String)> {
    let topics = asked.topics.iter().map(|topic| match topic {
        Topic::Positions => ("/topics", "positions: ", Action::ReadLivePositions),
        Topic::Occupancy => ("/topics", "occupancy: ", Action::ReadEvents),
        Topic::Events => ("/topics", "events: ", Action::ReadEvents),
        Topic::Fuel => ("/topics", "fuel: ", Action::ReadFuel),
        Topic::Changes => ("/topics", "changes: ", Action::ReadChanges),
    });
    // A filter by box reveals positions.
    let bbox = asked.filter.bbox.map(|_| ("/filter/bbox", "", Action::ReadLivePositions));
    topics.chain(bbox).try_for_each(|(pointer, what, action)| {
        caller.may(action).map_err(|_| (pointer, format!("{what}{}", action.needs())))
    })
}
