//! An item: one position as somebody reported it, before any of it is believed.

use std::borrow::Cow;

use waypost_actors::model::{Attributes, NewAttributes, Timestamp};
use waypost_actors::tracking::Reported;

use super::ignored_members::IgnoredMember;

/// A position item as sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Item<'a> {
    /// The client's own increasing number.
    pub seq: Option<i64>,
    /// The tracker it names, if any, by id or unique id.
    pub tracker: Option<Cow<'a, str>>,
    /// When it was recorded, or why that could not be read.
    pub recorded_at: Result<Timestamp, String>,
    /// The report itself.
    pub reported: Reported,
    /// What it carries beside that.
    pub attributes: Option<Attributes>,
    /// What of it was left out.
    pub ignored: Vec<IgnoredMember>,
}

impl<'a> Item<'a> {
    /// An item of a client that speaks other words than ours.
    #[must_use]
    pub fn of(
        tracker: Option<Cow<'a, str>>,
        recorded_at: Result<Timestamp, String>,
        reported: Reported,
        carried: NewAttributes,
    ) -> Self {
        // More than may be kept counts as not said: a fix is worth more than what it carries.
        let attributes = carried.seal().ok().flatten();
        // Nor is it lost for a heading that there is not.
        let heading_degrees = reported.heading_degrees.filter(|degrees| (0.0..=360.0).contains(degrees));
        let reported = Reported { heading_degrees, ..reported };
        Self { seq: None, tracker, recorded_at, reported, attributes, ignored: Vec::new() }
    }
}

/// An item that cannot be read, with its place in the frame and the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadItem {
    /// The client's number, if it could be read.
    pub seq: Option<i64>,
    /// The tracker it names, if that could be read.
    pub tracker: Option<String>,
    /// The problem, naming the member.
    pub detail: String,
}

impl BadItem {
    /// A problem of an item of which nothing else is known.
    pub fn new(detail: impl Into<String>) -> Self {
        Self { seq: None, tracker: None, detail: detail.into() }
    }

    /// The same, of the tracker that the item names.
    #[must_use]
    pub fn of(self, tracker: Option<Cow<'_, str>>) -> Self {
        Self { tracker: tracker.map(Cow::into_owned), ..self }
    }
}
