//! Parts of lists: numbered pages for what is kept, cursors for what happens.

use serde::{Deserialize, Serialize};
use uuid::Uuid;
use waypost_actors::model::Timestamp;

/// Items per answer when the client does not say.
pub const DEFAULT_LIMIT: i64 = 50;
/// Items per answer at most.
pub const MAX_LIMIT: i64 = 200;
/// Items per answer of a long list when the client does not say.
pub const DEFAULT_LONG_LIMIT: i64 = 200;
/// Items per answer of a long list at most.
pub const MAX_LONG_LIMIT: i64 = 1_000;

/// Which page.
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
    /// The same page of something made of its items.
    #[must_use]
    pub fn map<U>(self, made: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(made).collect(), total: self.total }
    }
}

/// What follows a cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SliceRequest {
    /// Items at most.
    pub limit: i64,
    /// The cursor, as the client sent it.
    pub after: Option<String>,
}

/// A part of a list that goes on.
#[derive(Clone, Debug, PartialEq)]
pub struct Slice<T> {
    /// Its items.
    pub items: Vec<T>,
    /// Where it ends; without items, where it began.
    pub end_cursor: Option<String>,
    /// Whether there is more now.
    pub has_next: bool,
}

impl<T> Slice<T> {
    /// The same slice, of what is made of its items.
    #[must_use]
    pub fn filter_map<U>(self, made: impl FnMut(T) -> Option<U>) -> Slice<U> {
        let Self { items, end_cursor, has_next } = self;
        Slice { items: items.into_iter().filter_map(made).collect(), end_cursor, has_next }
    }
}

/// Where a log goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum After {
    /// After this happening, in the order of time.
    Happened(Timestamp, Uuid),
    /// After this number.
    Sequence(i64),
}

/// What a list is sorted by, the first key first. Ids break ties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sort(pub Vec<SortKey>);

/// A key of a sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortKey {
    /// The member's name; one of those the list allows.
    pub name: &'static str,
    /// The greatest first.
    pub is_descending: bool,
}
