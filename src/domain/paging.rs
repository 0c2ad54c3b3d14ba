//! Parts of lists: numbered pages for resources, cursors for events.

use serde::{Deserialize, Serialize};
use uuid::Uuid;
use waypost_actors::model::Timestamp;

/// Items per answer unless the client asks otherwise.
pub const DEFAULT_LIMIT: i64 = 50;
/// Items per answer at most.
pub const MAX_LIMIT: i64 = 200;
/// Vehicles per answer at most, without where they are or were: a fleet is read whole by whoever shows it, and no vehicle is
/// larger than 15 kB. Fences, drivers and trackers may have 1 MB, 130 kB and 60 kB each.
pub const MAX_VEHICLES_LIMIT: i64 = 1_000;
/// Items per answer of a long list unless the client asks otherwise.
pub const DEFAULT_LONG_LIMIT: i64 = 200;
/// Items per answer of a long list at most.
pub const MAX_LONG_LIMIT: i64 = 1_000;

/// A page number and its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// From 1.
    pub page: i64,
    /// Items on it at most.
    pub limit: i64,
}

impl PageRequest {
    /// Items before the page.
    #[must_use]
    pub const fn offset(&self) -> i64 {
        (self.page - 1).saturating_mul(self.limit)
    }
}

/// A page.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    /// Its items.
    pub items: Vec<T>,
    /// Items on all pages.
    pub total: i64,
}

impl<T> Page<T> {
    /// Converts the items of a page.
    #[must_use]
    pub fn map<U>(self, made: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(made).collect(), total: self.total }
    }
}

/// A request for the items after a cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SliceRequest {
    /// Items at most.
    pub limit: i64,
    /// The cursor, as the client sent it.
    pub after: Option<String>,
}

/// A part of a list, with a cursor to continue.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice<T> {
    /// Its items.
    pub items: Vec<T>,
    /// Where it ends; without items, where it starts.
    pub end_cursor: Option<String>,
    /// Whether there is more now.
    pub has_next: bool,
}

impl<T> Slice<T> {
    /// Converts the items of a slice, leaving out those that yield `None`.
    #[must_use]
    pub fn filter_map<U>(self, made: impl FnMut(T) -> Option<U>) -> Slice<U> {
        let Self { items, end_cursor, has_next } = self;
        Slice { items: items.into_iter().filter_map(made).collect(), end_cursor, has_next }
    }
}

/// Where to continue in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum After {
    /// After this happening, in the order of time.
    Happened(Timestamp, Uuid),
    /// After this number.
    Sequence(i64),
}

/// Sort keys, the most significant first. Ids break ties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sort(pub Vec<SortKey>);

/// A key of a sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortKey {
    /// The member's name, one that the list allows.
    pub name: &'static str,
    /// Greatest first.
    pub is_descending: bool,
}
