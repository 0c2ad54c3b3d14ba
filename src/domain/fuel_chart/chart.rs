//! A chart independently of the library that draws it: lines of the level, marks where fuel came or went.

use serde::Serialize;
use utoipa::ToSchema;
use waypost_actors::fuel::{ChartPoint, FuelEvent, FuelEventKind};
use waypost_actors::model::{EventId, Timestamp};

/// The content of a chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// The level, in the order of time.
    pub points: Vec<ChartPoint>,
    /// Refuels and drains, in the order of time.
    pub marks: Vec<Mark>,
    /// Litres that the tank held at the end of the period.
    pub tank_capacity_liters: Option<f64>,
}

/// A refuel or a drain on a chart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Mark {
    /// The event.
    pub id: EventId,
    /// What happened.
    #[serde(rename = "type")]
    pub kind: FuelEventKind,
    /// The last reading of the level before.
    pub started_at: Timestamp,
    /// The first reading of the level after.
    pub ended_at: Timestamp,
    /// Litres that came in or went out.
    pub volume_liters: f64,
}

/// The label of the line of readings.
const READINGS: &str = "Fuel level, read (l)";
/// The label of the smoothed line.
const SMOOTHED: &str = "Fuel level, smoothed (l)";
const READINGS_COLOR: &str = "#93b4e8";
const SMOOTHED_COLOR: &str = "#1d4fa3";

/// The lines of a chart: name, colour, and the level at each point.
pub(super) fn lines(chart: &Chart) -> Vec<(&'static str, &'static str, Vec<Option<f64>>)> {
    let read = chart.points.iter().map(|point| point.liters.map(shown)).collect();
    let smoothed: Vec<_> = chart.points.iter().map(|point| point.smoothed_liters.map(shown)).collect();
    let mut lines = vec![(READINGS, READINGS_COLOR, read)];
    if smoothed.iter().any(Option::is_some) {
        lines.push((SMOOTHED, SMOOTHED_COLOR, smoothed));
    }
    lines
}

/// Litres, rounded to millilitres: neither sensors nor screens are more precise.
pub(super) fn shown(liters: f64) -> f64 {
    (liters * 1000.0).round() / 1000.0
}

impl From<&FuelEvent> for Mark {
    fn from(event: &FuelEvent) -> Self {
        Self {
            id: event.id,
            kind: event.kind,
            started_at: event.started_at,
            ended_at: event.ended_at,
            volume_liters: event.volume_liters,
        }
    }
}

impl Mark {
    pub(super) fn text(&self) -> String {
        match self.kind {
            FuelEventKind::Refuel => format!("Refuel +{:.1} l", self.volume_liters),
            FuelEventKind::Drain => format!("Drain -{:.1} l", self.volume_liters),
        }
    }

    /// The colours of the border and of the area.
    pub(super) const fn colors(&self) -> (&'static str, &'static str) {
        match self.kind {
            FuelEventKind::Refuel => ("#15803d", "rgba(21, 128, 61, 0.25)"),
            FuelEventKind::Drain => ("#b91c1c", "rgba(185, 28, 28, 0.25)"),
        }
    }
}
