//! Webhooks: addresses that are sent what happens, and the attempts to deliver.

use serde::Serialize;
use serde_json::Value;
use url::{Host, Url};
use utoipa::ToSchema;
use uuid::Uuid;
use waypost_actors::model::{GeofenceId, OrganizationId, Timestamp, VehicleId};

use super::body::body;
use super::members::{Read, flag, id, instant};
use super::webhook_event::{EventTypes, event_types};
use super::words::words;

/// Most webhooks of one organization.
pub const MAX_WEBHOOKS: i64 = 50;
/// Most vehicles or geofences of a filter.
const MAX_FILTERED: usize = 200;
/// The longest address, in characters.
const MAX_URL: usize = 2_000;

words!(
    /// Why the server disabled a webhook.
    DisabledReason {
        /// The receiver answered 410 Gone.
        Gone = "gone",
        /// Nothing but failures for five days.
        Failing = "failing",
    }
);

words!(
    /// How an attempt ended.
    AttemptOutcome {
        /// The receiver answered 2xx.
        Delivered = "delivered",
        /// It did not; the event is sent again.
        Failed = "failed",
        /// It did not, and the event is not sent again by itself.
        GivenUp = "givenUp",
    }
);

body!(
    /// The attributes of a webhook that a client sets.
    pub struct WebhookIn {
        /// Where to: `https://…`; `http://…` only within the networks of the setting `webhookNetworks`.
        url "url": required String, by(address, format = "uri", max_length = 2000);
        /// What it is for, 1 to 200 characters.
        description "description": optional String, text(1..=200);
        /// What is sent: types such as `geofence.entry` and `change.vehicle.updated`, `geofence.*` for all that begin
        /// so, or `*`.
        event_types "eventTypes": required EventTypes, by(event_types, value_type = Vec<String>, min_items = 1, max_items = 50);
        /// Only of these vehicles; empty: of all. Of changes, only those of the vehicles and geofences that are named, and of
        /// nothing else.
        vehicle_ids "vehicleIds": required Vec<VehicleId>, by(ids, max_items = 200), or Vec::<VehicleId>::new();
        /// Only what concerns one of these geofences; empty: whatever happens. Of changes, as `vehicleIds` says.
        geofence_ids "geofenceIds": required Vec<GeofenceId>, by(ids, max_items = 200), or Vec::<GeofenceId>::new();
        /// Whether anything is sent. One that is enabled again is sent what happens from then on.
        enabled "enabled": required bool, by(flag), or true;
    }
);

body!(
    /// A new webhook.
    pub struct CreateWebhook {
        /// Whose; operators name it.
        organization_id "organizationId": optional OrganizationId, by(id);
        /// Its attributes.
        ..webhook: WebhookIn;
    }
);

body!(
    /// What may be changed of a webhook.
    pub struct UpdateWebhook {
        /// Its attributes.
        ..webhook: WebhookIn;
    }
    READ_ONLY: &["id", "organizationId", "disabledReason", "createdAt", "updatedAt"];
    DERIVED: &["failingSince", "nextAttemptAt"];
);

body!(
    /// From when on everything is sent again.
    pub struct ResendWebhook {
        /// At most seven days ago.
        since "since": required Timestamp, by(instant);
    }
);

/// A webhook, without its secret.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Webhook {
    /// Which.
    pub id: Uuid,
    /// Whose.
    pub organization_id: OrganizationId,
    /// What a client sets.
    #[serde(flatten)]
    pub attributes: WebhookIn,
    /// Why the server disabled it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disabled_reason: Option<DisabledReason>,
    /// Since when every attempt has failed; absent: the last one succeeded, there was none since the webhook was changed, or what failed
    /// was given up and nothing waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failing_since: Option<Timestamp>,
    /// When the event that holds up the others is sent again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_attempt_at: Option<Timestamp>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl Webhook {
    /// What `If-Match` guards.
    #[must_use]
    pub fn tagged(&self) -> Self {
        Self { failing_since: None, next_attempt_at: None, ..self.clone() }
    }
}

/// An attempt to deliver an event.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookAttempt {
    /// Which.
    pub id: Uuid,
    /// The header `webhook-id`: the same in all attempts of an event as it was.
    pub message_id: String,
    /// What was sent.
    pub event_type: String,
    /// Its place in the log; absent for a test event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<i64>,
    /// The how manieth attempt it was, from 1.
    pub attempt: i64,
    /// When it began.
    pub attempted_at: Timestamp,
    /// How long it took.
    pub duration_ms: i64,
    /// The status that the receiver answered; absent without an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<i64>,
    /// How it ended.
    pub outcome: AttemptOutcome,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The first 1,000 bytes of the answer's body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
}

/// An address of the web without credentials. What it leads to is checked with each attempt.
fn address(value: &Value) -> Read<String> {
    let text = value.as_str().ok_or_else(|| ("type", "a text".to_owned()))?.trim();
    if text.chars().count() > MAX_URL {
        return Err(("length", format!("at most {MAX_URL} characters long")));
    }
    let wrong = |must: &str| Err(("format", must.to_owned()));
    let Ok(url) = Url::parse(text) else {
        return wrong("an address such as https://example.org/events");
    };
    if !matches!(url.scheme(), "https" | "http")
        || !matches!(url.host(), Some(Host::Domain(name)) if !name.is_empty())
            && !matches!(url.host(), Some(Host::Ipv4(_) | Host::Ipv6(_)))
    {
        return wrong("an address such as https://example.org/events");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return wrong("an address without user and password: the signature tells the receiver who sends");
    }
    if url.fragment().is_some() {
        return wrong("an address without a fragment (#)");
    }
    Ok(url.into())
}

pub(super) fn ids<T: From<Uuid>>(value: &Value) -> Read<Vec<T>> {
    let wrong = || ("type", format!("a list of at most {MAX_FILTERED} ids"));
    let items = value.as_array().filter(|items| items.len() <= MAX_FILTERED).ok_or_else(wrong)?;
    items.iter().map(id).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_address_is_of_the_web_and_names_no_user() {
        for good in ["https://example.org/a?b=c", "http://10.0.0.7:8080", "https://[2001:db8::1]/x"] {
            assert!(address(&json!(good)).is_ok(), "{good}");
        }
        for bad in [
            "",
            "example.org",
            "ftp://example.org",
            "https://",
            "https://u:p@example.org",
            "https://a/#b",
            "file:///etc",
        ] {
            assert!(address(&json!(bad)).is_err(), "{bad}");
        }
        // Numbers in other forms are the addresses that they mean.
        assert_eq!(address(&json!("http://0x7f.1/")).unwrap(), "http://127.0.0.1/");
    }
}
