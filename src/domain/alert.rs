//! Alerts as dispatchers share them: the record, and what was done with it.

use serde::Serialize;
use utoipa::ToSchema;
use waypost_actors::model::{EventStatus, Timestamp};
use waypost_actors::tracking::{AlertEvent, AlertRule};

use super::body::body;
use super::fuel_verdict::FuelVerdict;
use super::handled_by::HandledBy;
use super::members::instant;

/// A drain asks for attention for so long, unless somebody has seen it: it has no end by itself. Seconds.
pub const DRAIN_SECONDS: f64 = 86_400.0;
/// An alert can be put off for so long at most. Seconds.
pub const MAX_SNOOZE_SECONDS: f64 = 30.0 * 86_400.0;

/// What was done with an alert.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Handling {
    /// When somebody said that it is seen, the first time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acknowledged_at: Option<Timestamp>,
    /// Who said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub acknowledged_by: Option<HandledBy>,
    /// Until when it is put off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snoozed_until: Option<Timestamp>,
    /// Who put it off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snoozed_by: Option<HandledBy>,
}

/// An alert, with what was done with it.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Alert {
    /// The record.
    #[serde(flatten)]
    pub event: AlertEvent,
    /// What was done with it.
    #[serde(flatten)]
    pub handling: Handling,
    /// Of a drain, what somebody found of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<FuelVerdict>,
    /// Whether it asks for somebody's attention: it holds, what lasts goes on, a drain is of the last day and nobody has seen it, and
    /// it is not put off.
    pub open: bool,
}

impl Alert {
    /// As of an instant.
    #[must_use]
    pub fn new(event: AlertEvent, handling: Handling, verdict: Option<FuelVerdict>, now: Timestamp) -> Self {
        let asks = match event.rule {
            AlertRule::Drain => {
                handling.acknowledged_at.is_none() && now.seconds_since(event.started_at) < DRAIN_SECONDS
            }
            _ => event.ended_at.is_none(),
        };
        let is_put_off = handling.snoozed_until.is_some_and(|until| until > now);
        let open = event.status == EventStatus::Active && asks && !is_put_off;
        Self { event, handling, verdict, open }
    }
}

body!(
    /// Puts an alert off.
    pub struct SnoozeAlert {
        /// Until when, at most 30 days ahead; an instant that has passed ends it.
        until "until": required Timestamp, by(instant);
    }
);
