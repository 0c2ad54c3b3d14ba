//! What a message of a broker is to its adapter: a request whose device the topic names.

use bytes::Bytes;
use rumqttc::Publish;
use tokio::sync::OwnedSemaphorePermit;
use waypost_actors::model::Timestamp;

use crate::config::{MqttInput, MqttPayload};
use crate::ingest::adapters::{Adapter, MOST_MESSAGES, Parsed, Request};
use crate::ingest::decode::BadFrame;

/// A message on its way.
pub(super) struct Message {
    pub(super) publish: Publish,
    /// The connection that brought it.
    pub(super) connection: u64,
    /// Its room among those that wait.
    pub(super) _room: OwnedSemaphorePermit,
}

/// A message as a request of the broker's adapter.
pub(super) fn request(input: &MqttInput, topic: &str, body: Bytes, received_at: Timestamp) -> Request {
    let limit_names = match input.payload {
        MqttPayload::OwnTracks => input.topics.iter().find_map(|filter| device(filter, topic)),
        MqttPayload::Traccar | MqttPayload::Flespi => None,
    };
    Request {
        rest: input.payload.as_str().to_owned(),
        query: String::new(),
        content_type: String::new(),
        limit_names,
        body,
        received_at,
    }
}

/// What a request says; what is too large will always be.
pub(super) fn parse(adapter: &Adapter, request: &Request) -> Result<Parsed<'static>, BadFrame> {
    if request.body.len() > adapter.body_bytes {
        return Err(BadFrame(format!("a message may have {} KiB", adapter.body_bytes / 1024)));
    }
    let parsed = (adapter.parse)(request)?.into_owned();
    if parsed.count() > MOST_MESSAGES {
        return Err(BadFrame(format!("a message may have {MOST_MESSAGES} reports")));
    }
    Ok(parsed)
}

/// User and device: the first two levels of a topic that a filter has wildcards for.
fn device(filter: &str, topic: &str) -> Option<(String, String)> {
    if !rumqttc::matches(topic, filter) {
        return None;
    }
    let end = filter.split('/').count();
    let levels = topic.split('/').enumerate();
    let is_wild =
        |at: usize| filter.split('/').nth(at.min(end - 1)).is_some_and(|level| level == "+" || level == "#");
    let mut wild = levels.filter(|(at, _)| is_wild(*at)).map(|(_, level)| level.to_owned());
    Some((wild.next()?, wild.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wildcards_of_a_filter_name_the_device() {
        let named = |user: &str, device: &str| Some((user.to_owned(), device.to_owned()));
        for (filter, topic, expected) in [
            ("owntracks/+/+", "owntracks/jane/phone", named("jane", "phone")),
            ("owntracks/+/+/event", "owntracks/jane/phone/event", named("jane", "phone")),
            ("owntracks/#", "owntracks/jane/phone/event", named("jane", "phone")),
            ("fleet/+/x/+", "fleet/a/x/b", named("a", "b")),
            ("fleet/+", "fleet/a", None),
            ("owntracks/jane/phone", "owntracks/jane/phone", None),
            ("owntracks/+/+", "other/jane/phone", None),
        ] {
            assert_eq!(device(filter, topic), expected, "{filter} {topic}");
        }
    }
}
