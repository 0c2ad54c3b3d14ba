//! Fences of any shape and rules.
//!
//! Coordinates are multiples of 1/4096°, so that a move by whole degrees is exact.

use proptest::collection::vec;
use proptest::prelude::*;
use waypost_actors::model::{
    Circle, Fence, FenceVersion, GeofenceId, OrganizationId, Place, Polygon, Rules, ShapeSpec,
};

use crate::script::at;

/// Grid steps in a degree; one is 27 m on the equator.
const STEPS: f64 = 4096.0;

pub(crate) fn grid(north: i32, east: i32) -> Place {
    Place::new(f64::from(north) / STEPS, f64::from(east) / STEPS)
}

pub(crate) fn shapes() -> impl Strategy<Value = ShapeSpec> {
    let corner = || (-60..60, -60..60);
    prop_oneof![
        (corner(), 1..50, 1..50).prop_map(|((south, west), high, wide)| {
            let corners = [(0, 0), (0, wide), (high, wide), (high, 0)];
            let vertices = corners.map(|(dy, dx)| grid(south + dy, west + dx)).to_vec();
            ShapeSpec::Polygon(Polygon { vertices, holes: vec![] })
        }),
        (corner(), 1..40, 1..40, -30..30).prop_map(|((south, west), high, wide, slant)| {
            let vertices =
                vec![grid(south, west), grid(south, west + wide), grid(south + high, west + slant)];
            ShapeSpec::Polygon(Polygon { vertices, holes: vec![] })
        }),
        (corner(), 10.0..1500.0).prop_map(|((north, east), radius_meters)| {
            ShapeSpec::Circle(Circle { center: grid(north, east), radius_meters })
        }),
    ]
}

pub(crate) fn any_rules() -> impl Strategy<Value = Rules> {
    let seconds = || prop_oneof![3 => Just(0.0), 1 => 1.0..90.0];
    let margin = prop_oneof![Just(0.0), 1.0..200.0];
    let gap = prop_oneof![2 => Just(600.0), 1 => 20.0..900.0];
    let dwell = prop_oneof![1 => Just(None), 1 => (1_u8..120).prop_map(|seconds| Some(f64::from(seconds)))];
    let limit = prop_oneof![Just(None), Just(Some(40.0))];
    let random = (margin, (seconds(), seconds()), any::<[bool; 2]>(), gap, dwell, limit).prop_map(
        |(margin, (min_inside_seconds, min_outside_seconds), flags, max_gap_seconds, dwell, limit)| Rules {
            exit_margin_meters: margin,
            min_inside_seconds,
            min_outside_seconds,
            infer_passages: flags[0],
            hold_while_standing: flags[1],
            max_gap_seconds,
            dwell_after_seconds: dwell,
            speed_limit_kmh: limit,
        },
    );
    prop_oneof![1 => Just(Rules::EXACT), 2 => Just(Rules::default()), 3 => random]
}

pub(crate) fn fences(rules: impl Strategy<Value = Rules>) -> impl Strategy<Value = Vec<Fence>> {
    vec((shapes(), rules), 1..5).prop_map(|drawn| {
        let fence = |(number, (shape, rules)): (usize, (ShapeSpec, Rules))| Fence {
            id: GeofenceId(uuid::Uuid::from_u128(100 + number as u128)),
            organization_id: OrganizationId(uuid::Uuid::from_u128(1)),
            name: "F".into(),
            versions: vec![FenceVersion {
                version: 1,
                effective_from: None,
                changed_at: at(-1000.0),
                active: true,
                deleted: false,
                shape,
                rules,
            }],
        };
        drawn.into_iter().enumerate().map(fence).collect()
    })
}
