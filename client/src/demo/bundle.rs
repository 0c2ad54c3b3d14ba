//! What the binary carries; `demo/README.md` says where it comes from and under which licences.

use serde::Deserialize;
use waypost_actors::model::Timestamp;

use crate::trace::fences::{self, FenceFileError, NamedShape};
use crate::trace::{self, Point, TraceError};

/// The traces: CSV, gzip.
const TRACES: &[u8] = include_bytes!("../../../demo/shown/traces.csv.gz");
/// The polygons: GeoJSON, gzip.
const FENCES: &[u8] = include_bytes!("../../../demo/shown/fences.geojson.gz");
/// The circles: JSON.
const CIRCLES: &[u8] = include_bytes!("../../../demo/shown/circles.json");
/// What the demo shows of the data of the repository, which the files above were cut by.
const SELECTION: &[u8] = include_bytes!("../../../demo/demo.json");

/// Why the bundle cannot be read. It is part of the binary, so a test rules this out.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The traces.
    #[error("bundled traces: {0}")]
    Traces(#[from] TraceError),
    /// The fences or the selection.
    #[error("bundled fences: {0}")]
    Fences(#[from] FenceFileError),
    /// The selection.
    #[error("bundled selection: {0}")]
    Selection(#[from] serde_json::Error),
}

/// What the demo shows.
#[derive(Clone, Debug, PartialEq)]
pub struct Bundle {
    /// The buses; a plan names them by their index here.
    pub vehicles: Vec<DemoVehicle>,
    /// Polygons and circles.
    pub fences: Vec<NamedShape>,
    /// The hours replayed begin here, in recorded time …
    pub from: Timestamp,
    /// … and end here, exclusive.
    pub to: Timestamp,
}

/// A bus of the demo.
#[derive(Clone, Debug, PartialEq)]
pub struct DemoVehicle {
    /// Its fleet number.
    pub name: String,
    /// Its fixes within the hours replayed, strictly later one after the other.
    pub fixes: Vec<Point>,
}

#[derive(Deserialize)]
struct Selection {
    from: Timestamp,
    to: Timestamp,
    vehicles: Vec<String>,
    polygons: Vec<String>,
    circles: Vec<String>,
}

/// Unpacks what the demo shows.
pub fn bundle() -> Result<Bundle, BundleError> {
    select(TRACES, FENCES, CIRCLES)
}

fn select(traces: &[u8], polygons: &[u8], circles: &[u8]) -> Result<Bundle, BundleError> {
    let selection: Selection = serde_json::from_slice(SELECTION)?;
    let mut fences = chosen(fences::polygons(&trace::inflate(polygons)?)?, &selection.polygons);
    fences.extend(chosen(fences::circles(circles)?, &selection.circles));
    let vehicles = vehicles(&selection, traces)?;
    Ok(Bundle { vehicles, fences, from: selection.from, to: selection.to })
}

fn chosen(mut shapes: Vec<NamedShape>, ids: &[String]) -> Vec<NamedShape> {
    shapes.retain(|fence| ids.contains(&fence.id));
    shapes
}

fn vehicles(selection: &Selection, traces: &[u8]) -> Result<Vec<DemoVehicle>, BundleError> {
    let empty = |name: &String| DemoVehicle { name: name.clone(), fixes: Vec::new() };
    let mut vehicles: Vec<_> = selection.vehicles.iter().map(empty).collect();
    let content = trace::inflate(traces)?;
    for found in trace::read(&content)?.flatten() {
        let owner =
            vehicles.iter_mut().find(|vehicle| found.vehicle.as_deref() == Some(vehicle.name.as_str()));
        let Some(vehicle) = owner else { continue };
        let shown = (selection.from..selection.to).contains(&found.point.recorded_at);
        let newer = vehicle.fixes.last().is_none_or(|last| last.recorded_at < found.point.recorded_at);
        let somewhere = found.point.place.latitude != 0.0;
        if shown && newer && somewhere {
            vehicle.fixes.push(found.point);
        }
    }
    Ok(vehicles)
}

#[cfg(test)]
mod tests {
    use waypost_actors::model::ShapeSpec;

    use super::*;

    #[test]
    fn the_bundle_holds_buses_and_every_kind_of_fence() {
        let bundle = bundle().unwrap();
        assert_eq!(bundle.vehicles.len(), 28);
        assert!(bundle.vehicles.iter().all(|vehicle| vehicle.fixes.len() > 100));
        assert_eq!(bundle.fences.len(), 31);
        let count = |test: fn(&ShapeSpec) -> bool| bundle.fences.iter().filter(|f| test(&f.shape)).count();
        assert_eq!(count(|shape| matches!(shape, ShapeSpec::Circle(_))), 10);
        assert!(count(|shape| matches!(shape, ShapeSpec::MultiPolygon(_))) > 1);
        let holed = |shape: &ShapeSpec| match shape {
            ShapeSpec::MultiPolygon(multi) => multi.polygons.iter().any(|part| !part.holes.is_empty()),
            ShapeSpec::Polygon(polygon) => !polygon.holes.is_empty(),
            ShapeSpec::Circle(_) => false,
        };
        assert!(count(holed) > 0);
    }

    #[test]
    fn the_program_carries_what_the_selection_takes_of_the_whole_and_little_more() {
        let whole = select(
            include_bytes!("../../../demo/traces.csv.gz"),
            include_bytes!("../../../demo/fences.geojson.gz"),
            include_bytes!("../../../demo/circles.json"),
        );
        assert!(bundle().unwrap() == whole.unwrap(), "demo/cut.py shown demo");
        assert!([TRACES, FENCES, CIRCLES, SELECTION].iter().map(|part| part.len()).sum::<usize>() < 300_000);
    }
}
