//! A tank's level over time in the formats of common chart libraries: lines with gaps, and marks where fuel came or
//! went.
//!
//! Each format is the library's own and needs no conversion. Knows no store and no HTTP.

mod apexcharts;
mod chart;
mod chartjs;
mod columns;
mod echarts;

use serde::Serialize;
use utoipa::ToSchema;

use super::words::words;
pub use apexcharts::ApexCharts;
pub use chart::{Chart, Mark};
pub use chartjs::ChartJs;
pub use columns::Columns;
pub use echarts::ECharts;

words!(
    /// Whose form a chart has.
    ChartFormat {
        /// The `data` of a Chart.js configuration, and annotations for chartjs-plugin-annotation.
        ChartJs = "chartjs",
        /// The options of an ApexCharts chart.
        ApexCharts = "apexcharts",
        /// An option of Apache ECharts.
        ECharts = "echarts",
        /// Plain columns, for everything else.
        Columns = "columns",
    }
);

/// A chart in a library's own form.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum FuelChart {
    /// For Chart.js.
    ChartJs(ChartJs),
    /// For ApexCharts.
    ApexCharts(ApexCharts),
    /// For Apache ECharts.
    ECharts(ECharts),
    /// For everything else.
    Columns(Columns),
}

impl FuelChart {
    /// A chart in a format.
    #[must_use]
    pub fn new(format: ChartFormat, chart: &Chart) -> Self {
        match format {
            ChartFormat::ChartJs => Self::ChartJs(ChartJs::of(chart)),
            ChartFormat::ApexCharts => Self::ApexCharts(ApexCharts::of(chart)),
            ChartFormat::ECharts => Self::ECharts(ECharts::of(chart)),
            ChartFormat::Columns => Self::Columns(Columns::of(chart)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use uuid::Uuid;
    use waypost_actors::fuel::{ChartPoint, FuelEventKind};
    use waypost_actors::model::{EventId, Timestamp};

    use super::*;

    /// 2026-05-01T12:00:00Z, in milliseconds.
    const NOON: i64 = 1_777_636_800_000;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros((NOON + seconds * 1000) * 1000)
    }

    fn point(seconds: i64, liters: Option<f64>) -> ChartPoint {
        ChartPoint { at: at(seconds), liters, smoothed_liters: liters.map(|liters| liters + 0.5) }
    }

    /// A level, a gap, a refuel to another level, and a drain whose end is not in the chart.
    fn chart() -> Chart {
        let mark = |id: u128, kind, from: i64, to: i64, volume_liters| Mark {
            id: EventId(Uuid::from_u128(id)),
            kind,
            started_at: at(from),
            ended_at: at(to),
            volume_liters,
        };
        Chart {
            points: vec![
                point(0, Some(40.0)),
                point(600, None),
                point(1200, Some(39.900_04)),
                point(1260, Some(80.0)),
            ],
            marks: vec![
                mark(1, FuelEventKind::Refuel, 1200, 1260, 40.1),
                mark(2, FuelEventKind::Drain, 1260, 5000, 30.0),
            ],
            tank_capacity_liters: Some(90.0),
        }
    }

    fn written(format: ChartFormat) -> Value {
        serde_json::to_value(FuelChart::new(format, &chart())).unwrap()
    }

    #[test]
    fn chartjs_has_labels_lines_and_boxes_between_labels() {
        let data = written(ChartFormat::ChartJs);
        let labels = [0, 600, 1200, 1260].map(at);
        assert_eq!(data["labels"], json!(labels));
        assert_eq!(data["datasets"][0]["data"], json!([40.0, null, 39.9, 80.0]));
        assert_eq!(data["datasets"][1]["data"], json!([40.5, null, 40.4, 80.5]));
        assert_eq!(data["datasets"][0]["spanGaps"], false);
        let boxes = data["annotations"].as_object().unwrap();
        assert_eq!(boxes.len(), 2);
        let refuel = &boxes[&Uuid::from_u128(1).to_string()];
        assert_eq!((&refuel["type"], &refuel["xScaleID"]), (&json!("box"), &json!("x")));
        assert_eq!((&refuel["xMin"], &refuel["xMax"]), (&json!(at(1200)), &json!(at(1260))));
        assert_eq!(refuel["label"]["content"], "Refuel +40.1 l");
        let drain = &boxes[&Uuid::from_u128(2).to_string()];
        assert_eq!(drain["xMax"], json!(at(1260)), "on an axis of labels there is nothing beyond the last");
    }

    #[test]
    fn apexcharts_has_pairs_with_nulls_and_ranges() {
        let options = written(ChartFormat::ApexCharts);
        assert_eq!(options["series"][0]["data"][1], json!([NOON + 600_000, null]));
        assert_eq!(options["series"][1]["data"][3], json!([NOON + 1_260_000, 80.5]));
        assert_eq!(
            (&options["xaxis"]["type"], &options["chart"]["type"]),
            (&json!("datetime"), &json!("line"))
        );
        let ranges = options["annotations"]["xaxis"].as_array().unwrap();
        assert_eq!((&ranges[0]["x"], &ranges[0]["x2"]), (&json!(NOON + 1_200_000), &json!(NOON + 1_260_000)));
        assert_eq!(ranges[1]["label"]["text"], "Drain -30.0 l");
    }

    #[test]
    fn echarts_has_pairs_with_nulls_and_areas() {
        let option = written(ChartFormat::ECharts);
        let line = &option["series"][0];
        assert_eq!((&line["type"], &line["connectNulls"]), (&json!("line"), &json!(false)));
        assert_eq!(line["data"][1], json!([NOON + 600_000, null]));
        let area = &line["markArea"]["data"][0];
        assert_eq!(
            (&area[0]["name"], &area[0]["xAxis"]),
            (&json!("Refuel +40.1 l"), &json!(NOON + 1_200_000))
        );
        assert_eq!(area[1]["xAxis"], json!(NOON + 1_260_000));
        assert_eq!(option["series"][1].get("markArea"), None, "once");
        assert_eq!(option["xAxis"]["type"], "time");
    }

    #[test]
    fn columns_are_as_long_as_each_other() {
        let columns = written(ChartFormat::Columns);
        for name in ["recordedAt", "levelRawLiters", "levelLiters"] {
            assert_eq!(columns[name].as_array().unwrap().len(), 4, "{name}");
        }
        assert_eq!(columns["events"][1]["type"], "drain");
        assert_eq!(columns["tankCapacityLiters"], 90.0);
    }

    #[test]
    fn nothing_to_show_is_a_chart_too() {
        for (_, format) in ChartFormat::WORDS {
            let text = serde_json::to_string(&FuelChart::new(*format, &Chart::default())).unwrap();
            assert!(!text.contains("smoothed"), "{text}");
        }
        // Marks between readings that the chart does not show have no place on an axis of labels.
        let marks = chart().marks;
        let ChartJs { annotations, .. } = ChartJs::of(&Chart { marks, ..Chart::default() });
        assert!(annotations.is_empty());
    }
}
