//! Apache ECharts: an option with a line over time.

use serde::Serialize;
use utoipa::ToSchema;

use super::chart::{Chart, Mark, lines};

/// An option: `chart.setOption(option)`.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ECharts {
    /// The axis of time.
    pub x_axis: EAxis,
    /// The axis of litres.
    pub y_axis: EAxis,
    /// A legend with the names of the lines.
    pub legend: ELegend,
    /// Shows the level under the pointer.
    pub tooltip: ETooltip,
    /// The lines; the first has the marks.
    pub series: Vec<ESeries>,
}

/// An axis.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct EAxis {
    /// `time` or `value`.
    #[serde(rename = "type")]
    pub kind: &'static str,
}

/// A legend with its defaults.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct ELegend {
    /// Whether it is shown.
    pub show: bool,
}

/// What is told under the pointer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
pub struct ETooltip {
    /// `axis`.
    pub trigger: &'static str,
}

/// A line.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ESeries {
    /// `line`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Its name.
    pub name: &'static str,
    /// Its colour.
    pub color: &'static str,
    /// Never: what nobody read is not drawn.
    pub connect_nulls: bool,
    /// A circle around each of hundreds of points hides the line.
    pub show_symbol: bool,
    /// Milliseconds since 1970 and litres; null breaks the line.
    pub data: Vec<(i64, Option<f64>)>,
    /// Refuels and drains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark_area: Option<EMarkArea>,
}

/// Marks.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct EMarkArea {
    /// Each from its beginning to its end.
    pub data: Vec<(EAreaStart, EAreaEnd)>,
}

/// Where an area begins, and what it says.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EAreaStart {
    /// Such as `Refuel +40.0 l`.
    pub name: String,
    /// Milliseconds since 1970.
    pub x_axis: i64,
    /// How it looks.
    #[schema(inline)]
    pub item_style: EItemStyle,
}

/// Where an area ends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EAreaEnd {
    /// Milliseconds since 1970.
    pub x_axis: i64,
}

/// How an area looks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct EItemStyle {
    /// Of the area.
    pub color: &'static str,
    /// Of the border.
    pub border_color: &'static str,
    /// Pixels: a short event on a long axis is still a line.
    pub border_width: u8,
}

impl ECharts {
    pub(super) fn of(chart: &Chart) -> Self {
        let millis: Vec<i64> = chart.points.iter().map(|point| point.at.as_millis()).collect();
        let mut marks = Some(EMarkArea { data: chart.marks.iter().map(area).collect() });
        let series = |(name, color, liters): (_, _, Vec<_>)| ESeries {
            kind: "line",
            name,
            color,
            connect_nulls: false,
            show_symbol: false,
            data: millis.iter().copied().zip(liters).collect(),
            mark_area: marks.take(),
        };
        Self {
            x_axis: EAxis { kind: "time" },
            y_axis: EAxis { kind: "value" },
            legend: ELegend { show: true },
            tooltip: ETooltip { trigger: "axis" },
            series: lines(chart).into_iter().map(series).collect(),
        }
    }
}

fn area(mark: &Mark) -> (EAreaStart, EAreaEnd) {
    let (border_color, color) = mark.colors();
    let start = EAreaStart {
        name: mark.text(),
        x_axis: mark.started_at.as_millis(),
        item_style: EItemStyle { color, border_color, border_width: 2 },
    };
    (start, EAreaEnd { x_axis: mark.ended_at.as_millis() })
}
