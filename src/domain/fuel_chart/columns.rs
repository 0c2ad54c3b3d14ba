//! Plain columns, for any other library.

use serde::Serialize;
use utoipa::ToSchema;
use waypost_actors::model::Timestamp;

use super::chart::{Chart, Mark, shown};

/// Columns of one length.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Columns {
    /// The instant of each point.
    pub recorded_at: Vec<Timestamp>,
    /// Litres as read; null in a gap.
    pub level_raw_liters: Vec<Option<f64>>,
    /// Litres, smoothed.
    pub level_liters: Vec<Option<f64>>,
    /// Refuels and drains.
    pub events: Vec<Mark>,
    /// Litres that the tank held at the end of the period; null if nobody said.
    pub tank_capacity_liters: Option<f64>,
}

impl Columns {
    pub(super) fn of(chart: &Chart) -> Self {
        Self {
            recorded_at: chart.points.iter().map(|point| point.at).collect(),
            level_raw_liters: chart.points.iter().map(|point| point.liters.map(shown)).collect(),
            level_liters: chart.points.iter().map(|point| point.smoothed_liters.map(shown)).collect(),
            events: chart.marks.clone(),
            tank_capacity_liters: chart.tank_capacity_liters,
        }
    }
}
