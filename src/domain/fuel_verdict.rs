//! Refuels and drains with what a dispatcher found of them.

use serde::Serialize;
use utoipa::ToSchema;
use waypost_actors::fuel::FuelRecord;
use waypost_actors::model::Timestamp;

use super::body::body;
use super::handled_by::HandledBy;
use super::words::words;

words!(
    /// What somebody found of a refuel or drain.
    FuelOutcome {
        /// It was one.
        Confirmed = "confirmed",
        /// It was none.
        Rejected = "rejected",
        /// Nobody can tell.
        Unsure = "unsure",
    }
);

body!(
    /// What is found of a refuel or drain.
    pub struct FuelVerdictIn {
        /// Whether it was one.
        outcome "outcome": required FuelOutcome, word;
        /// Why, 1 to 1,000 characters.
        note "note": optional String, text(1..=1000);
    }
    READ_ONLY: &["decidedAt", "decidedBy"];
);

/// What was found of a refuel or drain, by whom and when. The event itself stays what the readings say.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuelVerdict {
    /// What was found.
    #[serde(flatten)]
    pub found: FuelVerdictIn,
    /// When.
    pub decided_at: Timestamp,
    /// By whom.
    pub decided_by: HandledBy,
}

/// A refuel or drain, with what somebody found of it.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct JudgedFuelEvent {
    /// The record.
    #[serde(flatten)]
    pub event: FuelRecord,
    /// What was found; absent while nobody has said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<FuelVerdict>,
}
