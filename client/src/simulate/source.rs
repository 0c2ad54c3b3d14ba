//! What to play: tracks read from files or made up, and fences. The only place that reads files.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use waypost_actors::model::Timestamp;

use super::options::Options;
use super::tour::{Area, Tour};
use crate::trace::fences::{self, NamedShape};
use crate::trace::{self, Point, Skip};

/// What one vehicle will send.
#[derive(Debug)]
pub(super) struct Track {
    /// Its name.
    pub vehicle: String,
    /// Its fixes, in the order in which it sends them.
    pub fixes: Fixes,
}

/// Fixes read, or fixes made up while they are sent.
#[derive(Debug)]
pub(super) enum Fixes {
    /// From a file.
    Recorded(Vec<Point>),
    /// Made up.
    Tour(Box<Tour>),
}

impl Fixes {
    /// The number of fixes.
    #[must_use]
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Recorded(points) => points.len(),
            Self::Tour(tour) => tour.length() as usize,
        }
    }

    /// When fix number `index` was recorded.
    #[must_use]
    pub(super) fn recorded_at(&self, index: usize) -> Timestamp {
        match self {
            Self::Recorded(points) => points[index].recorded_at,
            Self::Tour(tour) => tour.recorded_at(index as u32),
        }
    }

    /// All of them, in order.
    #[must_use]
    pub(super) fn into_points(self) -> Box<dyn Iterator<Item = Point>> {
        match self {
            Self::Recorded(points) => Box::new(points.into_iter()),
            Self::Tour(tour) => tour,
        }
    }
}

/// What was read from one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FileReading {
    /// Its path as given.
    pub file: String,
    /// Points to send.
    pub points: u64,
    /// Points left out, by reason.
    pub skipped: BTreeMap<Skip, u64>,
}

/// Everything to play.
#[derive(Debug, Default)]
pub(super) struct Source {
    /// One track per vehicle.
    pub tracks: Vec<Track>,
    /// The fences.
    pub fences: Vec<NamedShape>,
    /// What was read from each trace file.
    pub files: Vec<FileReading>,
}

/// Reads the fences and the traces, or makes up tracks.
pub(super) fn load(options: &Options) -> Result<Source> {
    let mut source = Source::default();
    for path in &options.fences {
        source.fences.extend(fences::polygons(&content(path)?).with_context(|| named(path))?);
    }
    for path in &options.circles {
        source.fences.extend(fences::circles(&content(path)?).with_context(|| named(path))?);
    }
    match options.vehicles {
        Some(count) => source.tracks = tours(options, count, &source.fences),
        None if options.files.is_empty() => bail!("nothing to play: name trace files, or give --vehicles N"),
        None => read_traces(&options.files, &mut source)?,
    }
    Ok(source)
}

/// A file's content, unpacked if it is gzip.
pub(super) fn content(path: &Path) -> Result<Vec<u8>> {
    let bytes = std::fs::read(path).with_context(|| named(path))?;
    Ok(trace::inflate(&bytes).with_context(|| named(path))?.into_owned())
}

fn named(path: &Path) -> String {
    path.display().to_string()
}

fn tours(options: &Options, count: u32, fences: &[NamedShape]) -> Vec<Track> {
    let area = Area::around(fences.iter().map(|fence| &fence.shape));
    let tour = |number| Track {
        vehicle: format!("vehicle {:05}", number + 1),
        fixes: Fixes::Tour(Box::new(Tour::new(area, options.seed, number, options.fixes_per_vehicle))),
    };
    (0..count).map(tour).collect()
}

fn read_traces(files: &[impl AsRef<Path>], source: &mut Source) -> Result<()> {
    let mut index: HashMap<String, usize> = HashMap::new();
    let mut tracks: Vec<(String, Vec<Point>)> = Vec::new();
    for path in files.iter().map(AsRef::as_ref) {
        let content = content(path)?;
        let stem = path.file_name().unwrap_or_default().to_string_lossy();
        let stem = stem.split('.').next().unwrap_or_default();
        let mut reading = FileReading { file: named(path), points: 0, skipped: BTreeMap::new() };
        for found in trace::read(&content).with_context(|| named(path))? {
            match found {
                Ok(found) => {
                    let name = found.vehicle.as_deref().unwrap_or(stem);
                    let at = index.get(name).copied().unwrap_or_else(|| {
                        tracks.push((name.to_owned(), Vec::new()));
                        index.insert(name.to_owned(), tracks.len() - 1);
                        tracks.len() - 1
                    });
                    tracks[at].1.push(found.point);
                    reading.points += 1;
                }
                Err(skip) => *reading.skipped.entry(skip).or_default() += 1,
            }
        }
        source.files.push(reading);
    }
    let track = |(vehicle, points)| Track { vehicle, fixes: Fixes::Recorded(points) };
    source.tracks = tracks.into_iter().map(track).collect();
    Ok(())
}
