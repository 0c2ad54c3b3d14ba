//! Metrics in the library's format, with one method for each type. Knows no metric by name.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use waypost_actors::meters::HistogramSnapshot;

/// The text format of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// OpenMetrics 1.0: a counter's family has no `_total` suffix, its samples do.
    OpenMetrics,
    /// Prometheus 0.0.4: a counter's family and samples share one name.
    Prometheus,
}

/// A page of metrics being written.
pub(super) struct Page<'a> {
    encoder: DescriptorEncoder<'a>,
    format: Format,
}

impl<'a> Page<'a> {
    pub(super) fn new(encoder: DescriptorEncoder<'a>, format: Format) -> Self {
        Self { encoder, format }
    }

    fn begin<'s>(
        &'s mut self,
        name: &'s str,
        help: &str,
        kind: MetricType,
    ) -> Result<MetricEncoder<'s>, fmt::Error> {
        self.encoder.encode_descriptor(name, help, None, kind)
    }

    /// A number that only grows; its samples are `name` with `_total`.
    pub(super) fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        let (format, family) = (self.format, self.counter_family(name));
        count(&mut self.begin(&family, help, MetricType::Counter)?, format, value)
    }

    /// One counter for each value of a label.
    pub(super) fn counters<'v>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: impl IntoIterator<Item = (&'v str, u64)>,
    ) -> fmt::Result {
        let (format, family) = (self.format, self.counter_family(name));
        let mut metric = self.begin(&family, help, MetricType::Counter)?;
        for (of, value) in values {
            count(&mut metric.encode_family(&[(label, of)])?, format, value)?;
        }
        Ok(())
    }

    fn counter_family(&self, name: &str) -> String {
        match self.format {
            Format::OpenMetrics => name.to_owned(),
            Format::Prometheus => format!("{name}_total"),
        }
    }

    /// A number that can go up and down.
    pub(super) fn gauge(&mut self, name: &str, help: &str, value: f64) -> fmt::Result {
        self.begin(name, help, MetricType::Gauge)?.encode_gauge(&value)
    }

    /// One gauge for each value of a label.
    pub(super) fn gauges<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: [(&str, f64); N],
    ) -> fmt::Result {
        let mut metric = self.begin(name, help, MetricType::Gauge)?;
        for (of, value) in values {
            metric.encode_family(&[(label, of)])?.encode_gauge(&value)?;
        }
        Ok(())
    }

    /// A histogram.
    pub(super) fn histogram(&mut self, name: &str, help: &str, value: &HistogramSnapshot) -> fmt::Result {
        histogram(&mut self.begin(name, help, MetricType::Histogram)?, value)
    }

    /// One histogram for each value of a label.
    pub(super) fn histograms(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: &[(&str, HistogramSnapshot)],
    ) -> fmt::Result {
        let mut metric = self.begin(name, help, MetricType::Histogram)?;
        for (of, value) in values {
            histogram(&mut metric.encode_family(&[(label, *of)])?, value)?;
        }
        Ok(())
    }
}

fn count(metric: &mut MetricEncoder<'_>, format: Format, value: u64) -> fmt::Result {
    match format {
        Format::OpenMetrics => metric.encode_counter::<NoLabelSet, u64, u64>(&value, None),
        // The library would append `_total` again.
        Format::Prometheus => metric.encode_gauge(&value),
    }
}

fn histogram(metric: &mut MetricEncoder<'_>, value: &HistogramSnapshot) -> fmt::Result {
    metric.encode_histogram::<NoLabelSet>(value.sum, value.count(), &value.buckets, None)
}
