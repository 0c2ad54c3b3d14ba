//! The whole computation of a position, in one thread and nothing else: find the vehicle, the fences around, what
//! changed, and leave a row.

use std::collections::HashMap;

use geo::Coord;
use serde::Deserialize;

use super::rows::Row;
use crate::world::{Outline, SOUTH, Transition, WEST, WIDTH, World, make_fences};

mod cover;
mod stripes;

use cover::Cover;
use stripes::Stripes;

/// Fences that a vehicle is remembered to be in.
const MOST_HELD: usize = 16;

/// A frame of the tracker socket, as far as the floor reads it.
#[derive(Deserialize)]
struct FrameIn<'a> {
    #[serde(borrow)]
    items: Vec<ItemIn<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ItemIn<'a> {
    seq: i64,
    unique_id: Option<&'a str>,
    recorded_at: i64,
    latitude: f64,
    longitude: f64,
    speed_kmh: f32,
    heading_degrees: f32,
}

#[derive(Clone, Default)]
struct Vehicle {
    held: [u32; MOST_HELD],
    count: usize,
    newest: i64,
}

/// Fences, vehicles and rows.
pub(crate) struct Pipeline {
    cover: Cover,
    stripes: Vec<Stripes>,
    numbers: HashMap<String, u32>,
    vehicles: Vec<Vehicle>,
    /// Of the frames since they were taken.
    pub(super) rows: Vec<Row>,
    now_micros: i64,
    begin_millis: i64,
    pub(crate) transitions: Vec<Transition>,
}

impl Pipeline {
    pub(crate) fn new(world: &World, begin_millis: i64) -> Self {
        let rings: Vec<Vec<Coord>> = make_fences(world).iter().map(outer).collect();
        let stripes: Vec<Stripes> = rings.iter().map(|ring| Stripes::new(ring)).collect();
        Self {
            cover: Cover::new(&rings, &stripes),
            stripes,
            numbers: (0..world.vehicles).map(|number| (format!("v{number}"), number)).collect(),
            vehicles: vec![Vehicle::default(); world.vehicles as usize],
            rows: Vec::new(),
            now_micros: 0,
            begin_millis,
            transitions: Vec::new(),
        }
    }

    /// Takes a frame; returns the number of its last item. `own`: the vehicle whose socket it is.
    pub(crate) fn frame(&mut self, text: &str, own: Option<u32>) -> Option<i64> {
        let frame: FrameIn<'_> = serde_json::from_str(text).ok()?;
        self.now_micros = waypost_actors::clock::now().as_micros();
        for item in &frame.items {
            let vehicle = match item.unique_id {
                Some(name) => *self.numbers.get(name)?,
                None => own?,
            };
            self.item(vehicle, item);
        }
        frame.items.last().map(|item| item.seq)
    }

    fn item(&mut self, number: u32, item: &ItemIn<'_>) {
        let mut now = [0; MOST_HELD];
        let mut count = 0;
        let (entries, is_within) = self.cover.at(item.longitude, item.latitude);
        for entry in entries {
            let fence = entry >> 1;
            let is_inside = (entry & 1 == 0 && is_within)
                || self.stripes[fence as usize].holds(item.longitude, item.latitude);
            if is_inside && count < MOST_HELD {
                now[count] = fence;
                count += 1;
            }
        }
        let vehicle = &mut self.vehicles[number as usize];
        let (before, now_held) = (&vehicle.held[..vehicle.count], &now[..count]);
        if before != now_held {
            let round = u32::try_from((item.recorded_at - self.begin_millis) / 1_000).unwrap_or_default();
            let told = |fence: &u32, is_entry| Transition { vehicle: number, round, is_entry, fence: *fence };
            let left = before.iter().filter(|fence| !now_held.contains(fence));
            self.transitions.extend(left.map(|fence| told(fence, false)));
            let entered = now_held.iter().filter(|fence| !before.contains(fence));
            self.transitions.extend(entered.map(|fence| told(fence, true)));
            (vehicle.held, vehicle.count) = (now, count);
        }
        vehicle.newest = item.recorded_at;
        self.rows.push(Row {
            vehicle: number,
            recorded_at_micros: item.recorded_at * 1_000,
            latitude: item.latitude,
            longitude: item.longitude,
            received_at_micros: self.now_micros,
            speed_kmh: f64::from(item.speed_kmh),
            heading_degrees: f64::from(item.heading_degrees),
        });
    }
}

/// The floor knows no holes and no circles.
fn outer(outline: &Outline) -> Vec<Coord> {
    match outline {
        Outline::Rings(polygon) => polygon.exterior().0.clone(),
        Outline::Circle(..) => Vec::new(),
    }
}

/// A place's cell in a region of `side` × `side`, and whether it is within it: beyond the region it is the nearest one.
fn cell(x: f64, y: f64, side: usize) -> (usize, bool) {
    let scale = side as f64 / WIDTH;
    let (column, row) = ((x - WEST) * scale, (y - SOUTH) * scale);
    let (nearest_column, nearest_row) = ((column as usize).min(side - 1), (row as usize).min(side - 1));
    let is_within = [column, row].iter().all(|at| (0.0..side as f64).contains(at));
    (nearest_row * side + nearest_column, is_within)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Slice;
    use crate::systems::{Packing, encoder};
    use crate::world::{Drive, Mix, Motion};

    /// Fences reach beyond the region, and so do vehicles in them.
    #[test]
    fn a_place_beyond_the_region_is_in_the_fences_that_reach_there() {
        let world =
            World { seed: 5, vehicles: 1, fences: 2_000, vertices: 40, mix: Mix::Poly, motion: Motion::Jump };
        let pipeline = Pipeline::new(&world, 0);
        let mut beyond = 0;
        for (number, outline) in make_fences(&world).iter().enumerate() {
            let middle = outline.middle();
            if cell(middle.x, middle.y, 1).1 {
                continue;
            }
            let (entries, is_within) = pipeline.cover.at(middle.x, middle.y);
            assert!(
                !is_within && entries.iter().any(|entry| (entry >> 1) as usize == number),
                "fence {number}"
            );
            beyond += 1;
        }
        assert!(beyond > 0, "no fence whose middle lies beyond");
    }

    #[test]
    fn the_floor_finds_what_the_oracle_finds() {
        let world =
            World { seed: 5, vehicles: 200, fences: 500, vertices: 40, mix: Mix::Poly, motion: Motion::Jump };
        let slice = Slice::next(&mut Drive::new(&world), 10);
        let mut encode = encoder(0, Packing::Fleet { connections: 1, fixes: 1 }, "", &[]);
        let mut pipeline = Pipeline::new(&world, 0);
        for fix in 0..slice.fixes.len() as u32 {
            let mut frame = Vec::new();
            encode(&slice, 0, &[fix], &mut frame);
            let payload = &mut frame[8..];
            crate::floor::sockets::unmask(payload, [0x37, 0xfa, 0x21, 0x3d]);
            let text = std::str::from_utf8(payload).unwrap();
            assert_eq!(pipeline.frame(text, None), Some(i64::from(fix) + 1), "{text}");
        }
        pipeline.transitions.sort_unstable();
        assert_eq!(pipeline.transitions, slice.expected);
        assert!(slice.expected.len() > 1_000);
    }
}
