//! A list with cursors: where to continue, the slice to answer, and where that ends.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{from_slice, to_vec};

use super::error::OpError;
use crate::auth::CursorSigner;
use crate::context::Context;
use crate::domain::paging::{Slice, SliceRequest};

/// One read of a list.
pub(super) struct Listing<'a> {
    cursor_signer: &'a CursorSigner,
    purpose: String,
    request: &'a SliceRequest,
}

impl<'a> Listing<'a> {
    /// `purpose`: the list, its order and its owner. A cursor is only valid for the same purpose.
    pub(super) fn new(context: &'a Context, purpose: String, request: &'a SliceRequest) -> Self {
        Self { cursor_signer: &context.auth.cursor_signer, purpose, request }
    }

    /// The place after which to continue.
    pub(super) fn after<P: DeserializeOwned>(&self) -> Result<Option<P>, OpError> {
        let Some(cursor) = &self.request.after else { return Ok(None) };
        let payload = self.cursor_signer.open(&self.purpose, cursor).ok_or(OpError::Cursor)?;
        from_slice(&payload).map(Some).map_err(|_| OpError::Cursor)
    }

    /// Items to read: one more than asked for, which shows whether there are more.
    pub(super) const fn limit(&self) -> i64 {
        self.request.limit + 1
    }

    /// The slice to answer. `place`: the place of an item, as [`Listing::after`] reads it.
    pub(super) fn slice<T, P: Serialize>(
        &self,
        items: Vec<T>,
        place: impl Fn(&T) -> P,
    ) -> Result<Slice<T>, OpError> {
        self.slice_until(items, place, None)
    }

    /// The slice to answer, of items whose reading was given up at a place, if at any.
    pub(super) fn slice_until<T, P: Serialize>(
        &self,
        mut items: Vec<T>,
        place: impl Fn(&T) -> P,
        ended_at: Option<P>,
    ) -> Result<Slice<T>, OpError> {
        let limit = usize::try_from(self.request.limit).unwrap_or(usize::MAX);
        let has_next = ended_at.is_some() || items.len() > limit;
        items.truncate(limit);
        let end_cursor = match ended_at.or_else(|| items.last().map(place)) {
            Some(place) => {
                let payload = to_vec(&place).map_err(|error| OpError::Internal(error.into()))?;
                Some(self.cursor_signer.sign(&self.purpose, &payload))
            }
            None => self.request.after.clone(),
        };
        Ok(Slice { items, end_cursor, has_next })
    }
}
