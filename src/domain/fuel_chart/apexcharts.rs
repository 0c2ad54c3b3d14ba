//! ApexCharts: the options of a line chart over time.

use serde::Serialize;
use utoipa::ToSchema;

use super::chart::{Chart, Mark, lines};

/// The options of a chart: `new ApexCharts(element, options)`.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ApexCharts {
    /// What kind of chart.
    pub chart: ApexKind,
    /// The lines.
    pub series: Vec<ApexSeries>,
    /// The axis of time.
    pub xaxis: ApexAxis,
    /// The axis of litres.
    pub yaxis: ApexDecimals,
    /// One for each line.
    pub colors: Vec<&'static str>,
    /// How thick the lines are.
    pub stroke: ApexStroke,
    /// Refuels and drains.
    pub annotations: ApexAnnotations,
}

/// What kind of chart.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct ApexKind {
    /// `line`.
    #[serde(rename = "type")]
    pub kind: &'static str,
}

/// A line.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ApexSeries {
    /// Its name.
    pub name: &'static str,
    /// Milliseconds since 1970 and litres; null breaks the line.
    pub data: Vec<(i64, Option<f64>)>,
}

/// An axis.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct ApexAxis {
    /// `datetime`.
    #[serde(rename = "type")]
    pub kind: &'static str,
}

/// How litres are written.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApexDecimals {
    /// Digits after the point.
    pub decimals_in_float: u8,
}

/// How thick lines are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct ApexStroke {
    /// Pixels.
    pub width: u8,
}

/// Marks.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ApexAnnotations {
    /// Ranges of time.
    pub xaxis: Vec<ApexRange>,
}

/// A range of time.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApexRange {
    /// The event.
    pub id: String,
    /// From, in milliseconds since 1970.
    pub x: i64,
    /// To, in milliseconds since 1970.
    pub x2: i64,
    /// Of the area.
    pub fill_color: &'static str,
    /// Of the border.
    pub border_color: &'static str,
    /// What it says.
    pub label: ApexLabel,
}

/// What a range says.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApexLabel {
    /// Such as `Refuel +40.0 l`.
    pub text: String,
    /// Of its border.
    pub border_color: &'static str,
}

impl ApexCharts {
    pub(super) fn of(chart: &Chart) -> Self {
        let millis: Vec<i64> = chart.points.iter().map(|point| point.at.as_millis()).collect();
        let lines = lines(chart);
        let colors = lines.iter().map(|(_, color, _)| *color).collect();
        let series = |(name, _, liters): (_, _, Vec<_>)| ApexSeries {
            name,
            data: millis.iter().copied().zip(liters).collect(),
        };
        Self {
            chart: ApexKind { kind: "line" },
            series: lines.into_iter().map(series).collect(),
            xaxis: ApexAxis { kind: "datetime" },
            yaxis: ApexDecimals { decimals_in_float: 1 },
            colors,
            stroke: ApexStroke { width: 2 },
            annotations: ApexAnnotations { xaxis: chart.marks.iter().map(ApexRange::of).collect() },
        }
    }
}

impl ApexRange {
    fn of(mark: &Mark) -> Self {
        // The library adds an opacity of its own to areas.
        let (border_color, _) = mark.colors();
        Self {
            id: mark.id.0.to_string(),
            x: mark.started_at.as_millis(),
            x2: mark.ended_at.as_millis(),
            fill_color: border_color,
            border_color,
            label: ApexLabel { text: mark.text(), border_color },
        }
    }
}
