//! Chart.js: the `data` of a line chart, with boxes for chartjs-plugin-annotation.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;
use waypost_actors::fuel::ChartPoint;
use waypost_actors::model::Timestamp;

use super::chart::{Chart, Mark, lines};

/// The `data` of a Chart.js configuration of type `line`. Chart.js leaves `annotations` alone: they go to
/// `options.plugins.annotation.annotations`. The labels suit a category axis as well as a `time` axis.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ChartJs {
    /// The instant of each point.
    pub labels: Vec<Timestamp>,
    /// The lines.
    pub datasets: Vec<Dataset>,
    /// Refuels and drains by their ids, in the form of chartjs-plugin-annotation.
    pub annotations: BTreeMap<String, BoxAnnotation>,
}

/// A line.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Dataset {
    /// Its name.
    pub label: &'static str,
    /// Litres at each label; null breaks the line.
    pub data: Vec<Option<f64>>,
    /// Its colour.
    pub border_color: &'static str,
    /// The colour of its points.
    pub background_color: &'static str,
    /// Pixels.
    pub border_width: u8,
    /// Pixels; a circle around each of hundreds of points hides the line.
    pub point_radius: u8,
    /// Never: what nobody read is not drawn.
    pub span_gaps: bool,
}

/// A box from the last reading before to the first after.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct BoxAnnotation {
    /// `box`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Behind the lines.
    pub draw_time: &'static str,
    /// The axis.
    #[serde(rename = "xScaleID")]
    pub x_scale_id: &'static str,
    /// A label of the chart.
    pub x_min: Timestamp,
    /// A label of the chart.
    pub x_max: Timestamp,
    /// Of the area.
    pub background_color: &'static str,
    /// Of the border.
    pub border_color: &'static str,
    /// Pixels: a short event on a long axis is still a line.
    pub border_width: u8,
    /// What it says.
    pub label: BoxLabel,
}

/// What a box says.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct BoxLabel {
    /// Whether it is shown.
    pub display: bool,
    /// Such as `Refuel +40.0 l`.
    pub content: String,
    /// Of the letters.
    pub color: &'static str,
    /// Where in the box, from above.
    pub position: LabelPosition,
}

/// Where in its box a label is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct LabelPosition {
    /// From left to right.
    pub x: &'static str,
    /// From top to bottom.
    pub y: &'static str,
}

impl ChartJs {
    pub(super) fn of(chart: &Chart) -> Self {
        let dataset = |(label, color, data)| Dataset {
            label,
            data,
            border_color: color,
            background_color: color,
            border_width: 2,
            point_radius: 0,
            span_gaps: false,
        };
        let annotation = |mark: &Mark| Some((mark.id.0.to_string(), BoxAnnotation::of(mark, &chart.points)?));
        Self {
            labels: chart.points.iter().map(|point| point.at).collect(),
            datasets: lines(chart).into_iter().map(dataset).collect(),
            annotations: chart.marks.iter().filter_map(annotation).collect(),
        }
    }
}

impl BoxAnnotation {
    /// A category axis only knows its labels, so the ends must be labels.
    fn of(mark: &Mark, points: &[ChartPoint]) -> Option<Self> {
        let (border_color, background_color) = mark.colors();
        Some(Self {
            kind: "box",
            draw_time: "beforeDatasetsDraw",
            x_scale_id: "x",
            x_min: nearest(points, mark.started_at)?,
            x_max: nearest(points, mark.ended_at)?,
            background_color,
            border_color,
            border_width: 2,
            label: BoxLabel {
                display: true,
                content: mark.text(),
                color: border_color,
                position: LabelPosition { x: "center", y: "start" },
            },
        })
    }
}

/// The point nearest to an instant.
fn nearest(points: &[ChartPoint], at: Timestamp) -> Option<Timestamp> {
    let next = points.partition_point(|point| point.at < at);
    let around = points.get(next.saturating_sub(1)).into_iter().chain(points.get(next));
    let distance = |point: &&ChartPoint| (point.at.as_micros() - at.as_micros()).abs();
    around.min_by_key(distance).map(|point| point.at)
}
