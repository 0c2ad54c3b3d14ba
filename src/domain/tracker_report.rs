//! What is known of a tracker beside its fixes.

use serde::Serialize;
use utoipa::ToSchema;
use waypost_actors::model::Timestamp;

/// When a tracker was last heard, and what it sent that was refused for good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrackerReports {
    /// When it last reported, whatever it said; after a crash of the server it may lag by a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_contact_at: Option<Timestamp>,
    /// When it last sent a position that was not refused; after a crash of the server it may lag by a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_position_at: Option<Timestamp>,
    /// The address under which people reach the server, if its settings say it: apps report at `/in` below it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = "https://fleet.example.com")]
    pub public_url: Option<String>,
    /// The newest hundred of its reports that were refused for good, newest first.
    #[schema(max_items = 100)]
    pub rejected: Vec<RejectedReport>,
}

/// A report that was refused for good. Its client was told that it is stored, so that it sends the next one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RejectedReport {
    /// When it arrived.
    pub received_at: Timestamp,
    /// By which adapter or protocol.
    #[schema(example = "osmand")]
    pub input: String,
    /// Why, for programs.
    #[schema(example = "nullIsland")]
    pub code: String,
    /// Why, for people.
    pub detail: String,
    /// The first kibibyte of what was sent, as text; in hexadecimal where it is none.
    pub raw: String,
}
