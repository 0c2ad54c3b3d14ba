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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Fence, FenceVersion, GeofenceId, OrganizationId, Place, Polygon, Rules, ShapeSpec};

    /// A square of a degree from 0 to 1.
    fn fence() -> FenceTimeline {
        let corners = [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 0.0)];
        let vertices = corners.map(|(latitude, longitude)| Place::new(latitude, longitude)).into();
        FenceTimeline::prepare(&Fence {
            id: GeofenceId(uuid::Uuid::from_u128(1)),
            organization_id: OrganizationId(uuid::Uuid::from_u128(2)),
            name: "F".into(),
            versions: vec![FenceVersion {
                version: 1,
                effective_from: None,
                changed_at: Timestamp::from_micros(0),
                active: true,
                deleted: false,
                shape: ShapeSpec::Polygon(Polygon { vertices, holes: vec![] }),
                rules: Rules::EXACT,
            }],
        })
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_micros(second * 1_000_000)
    }

    /// Stretches of ten seconds each, one a minute, at these longitudes on the parallel of half a degree.
    fn near(from: i64, longitudes: &[Option<f64>]) -> Option<(Timestamp, Option<Timestamp>)> {
        let stretches = longitudes.iter().zip(0..).map(|(longitude, minute)| Stretch {
            began_at: at(minute * 60),
            ended_at: at(minute * 60 + 10),
            area: longitude.and_then(|longitude| GeoBox::around([Place::new(0.5, longitude)])),
        });
        NearSpan::of(&fence(), at(from), stretches).map(|span| (span.from, span.until))
    }

    const FAR: Option<f64> = Some(5.0);
    const INSIDE: Option<f64> = Some(0.5);

    #[test]
    fn who_never_came_near_has_no_span() {
        assert_eq!(near(0, &[FAR, FAR, Some(6.0)]), None);
        assert_eq!(near(0, &[]), None);
    }

    #[test]
    fn a_span_begins_where_the_way_there_does_and_ends_where_the_way_back_does() {
        // Near from the end of the first stretch on, for the way leads there, to the end of the third: the way from it leads back.
        assert_eq!(near(0, &[FAR, INSIDE, FAR, FAR, FAR]), Some((at(10), Some(at(130)))));
        assert_eq!(near(0, &[FAR, INSIDE]), Some((at(10), None)));
        // The instant of the change, where that is later.
        assert_eq!(near(30, &[FAR, INSIDE]), Some((at(30), None)));
        assert_eq!(near(0, &[INSIDE, FAR, FAR]), Some((at(0), Some(at(70)))));
    }

    #[test]
    fn a_second_visit_belongs_to_the_span_and_a_way_across_counts() {
        assert_eq!(near(0, &[INSIDE, FAR, FAR, INSIDE, FAR, FAR]), Some((at(0), Some(at(250)))));
        // Neither end is near, the box around the way is.
        assert_eq!(near(0, &[Some(-5.0), FAR, FAR]), Some((at(10), Some(at(70)))));
    }

    #[test]
    fn where_an_area_is_not_known_it_may_have_been_near() {
        assert_eq!(near(0, &[FAR, None, FAR, FAR]), Some((at(10), Some(at(130)))));
    }
}
