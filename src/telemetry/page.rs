//! Metrics as the library writes them: one line here for one of them in the table. Knows no name.

use std::fmt;

use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use waypost_actors::meters::Spreading;

/// What is being written.
pub(super) struct Page<'a>(DescriptorEncoder<'a>);

impl<'a> Page<'a> {
    pub(super) fn new(encoder: DescriptorEncoder<'a>) -> Self {
        Self(encoder)
    }

    fn begin<'s>(
        &'s mut self,
        name: &'s str,
        help: &str,
        kind: MetricType,
    ) -> Result<MetricEncoder<'s>, fmt::Error> {
        self.0.encode_descriptor(name, help, None, kind)
    }

    /// A number that only grows; the library adds `_total` to its name.
    pub(super) fn counter(&mut self, name: &str, help: &str, value: u64) -> fmt::Result {
        count(&mut self.begin(name, help, MetricType::Counter)?, value)
    }

    /// One for each value of a label.
    pub(super) fn counters<const N: usize>(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: [(&str, u64); N],
    ) -> fmt::Result {
        let mut metric = self.begin(name, help, MetricType::Counter)?;
        for (of, value) in values {
            count(&mut metric.encode_family(&[(label, of)])?, value)?;
        }
        Ok(())
    }

    /// A number that goes up and down.
    pub(super) fn gauge(&mut self, name: &str, help: &str, value: f64) -> fmt::Result {
        self.begin(name, help, MetricType::Gauge)?.encode_gauge(&value)
    }

    /// One for each value of a label.
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
    pub(super) fn spread(&mut self, name: &str, help: &str, value: &Spreading) -> fmt::Result {
        spread(&mut self.begin(name, help, MetricType::Histogram)?, value)
    }

    /// One for each value of a label.
    pub(super) fn spreads(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: &[(&str, Spreading)],
    ) -> fmt::Result {
        let mut metric = self.begin(name, help, MetricType::Histogram)?;
        for (of, value) in values {
            spread(&mut metric.encode_family(&[(label, *of)])?, value)?;
        }
        Ok(())
    }
}

fn count(metric: &mut MetricEncoder<'_>, value: u64) -> fmt::Result {
    metric.encode_counter::<NoLabelSet, u64, u64>(&value, None)
}

fn spread(metric: &mut MetricEncoder<'_>, value: &Spreading) -> fmt::Result {
    metric.encode_histogram::<NoLabelSet>(value.sum, value.count(), &value.buckets, None)
}
