//! The part of a vehicle's timeline that a geofence may have to do with, told by boxes around stretches of its way: all that
//! a version dated back has to be settled against.

use crate::geofence::{FenceTimeline, GeoBox};
use crate::model::Timestamp;

/// Consecutive fixes that count, and a box that holds them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// When the oldest was recorded.
    pub began_at: Timestamp,
    /// When the newest was recorded.
    pub ended_at: Timestamp,
    /// Holds their places and the ways between them. `None`: not known.
    pub area: Option<GeoBox>,
}

/// A part of a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NearSpan {
    /// Where it begins.
    pub from: Timestamp,
    /// Where it ends; `None`: not before the present.
    pub until: Option<Timestamp>,
}

impl NearSpan {
    /// Everything from an instant on.
    #[must_use]
    pub const fn since(from: Timestamp) -> Self {
        Self { from, until: None }
    }

    /// The part after `from` in which any version of the fence may change what is judged. `None`: there is none.
    ///
    /// `stretches`: the vehicle's, oldest first and none overlapping the next, with at least its last two fixes before
    /// `from`: at that instant the last one may have waited to be believed, and the change is settled against the one before. A
    /// way from one stretch to the next lies in the box around both.
    #[must_use]
    pub fn of(
        fence: &FenceTimeline,
        from: Timestamp,
        stretches: impl IntoIterator<Item = Stretch>,
    ) -> Option<Self> {
        let mut before: Option<Stretch> = None;
        let mut near: Option<Self> = None;
        for stretch in stretches {
            let area = match before {
                Some(before) => before.area.zip(stretch.area).map(|(a, b)| a.with(&b)),
                None => stretch.area,
            };
            let left_at = before.map_or(stretch.began_at, |before| before.ended_at);
            let is_near = area.is_none_or(|area| fence.meets(&area));
            match &mut near {
                Some(near) if is_near => near.until = None,
                Some(near) => {
                    near.until.get_or_insert(left_at);
                }
                None if is_near => near = Some(Self { from: left_at.max(from), until: None }),
                None => {}
            }
            before = Some(stretch);
        }
        near
    }
}
