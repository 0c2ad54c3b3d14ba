//! Fewer points for a chart, none of the extremes lost.

use std::collections::BTreeSet;

use crate::model::Timestamp;

/// The most points of a bucket: first, lowest, highest, last (M4; Jugel et al., VLDB 2014).
const POINTS_IN_BUCKET: usize = 4;

/// A point of a chart; one without litres breaks the line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChartPoint {
    /// The instant.
    pub at: Timestamp,
    /// Litres as read; `None` in the middle of a gap.
    pub liters: Option<f64>,
    /// The smoothed level at that reading, in litres.
    pub smoothed_liters: Option<f64>,
}

/// A reading: the raw level decides whether it is kept, the smoothed one goes with it.
#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Timestamp,
    liters: f64,
    smoothed_liters: Option<f64>,
}

/// Takes a series point by point, in order of time, and keeps no more than it returns.
#[derive(Clone, Debug)]
pub struct Downsampler {
    from: Timestamp,
    to: Timestamp,
    limit: usize,
    gap_seconds: f64,
    /// Instants that are kept whatever lies around them.
    edges: BTreeSet<Timestamp>,
    /// All points, while there are few.
    all: Vec<Sample>,
    buckets: Vec<Option<Bucket>>,
    kept: Vec<Sample>,
    /// The middle of each gap, and its length in seconds.
    breaks: Vec<(Timestamp, f64)>,
    newest: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    first: Sample,
    lowest: Sample,
    highest: Sample,
    last: Sample,
}

impl Downsampler {
    /// A sampler for a series within `from..to` that keeps at most `limit` points (4 or more). `edges`: where
    /// events begin and end; points there are always kept, using up to half the limit. A gap is a time longer than
    /// `gap_seconds` without a point.
    #[must_use]
    pub fn new(
        from: Timestamp,
        to: Timestamp,
        limit: usize,
        gap_seconds: f64,
        edges: impl IntoIterator<Item = Timestamp>,
    ) -> Self {
        Self {
            from,
            to,
            limit: limit.max(POINTS_IN_BUCKET),
            gap_seconds,
            edges: edges.into_iter().collect(),
            all: Vec::new(),
            buckets: Vec::new(),
            kept: Vec::new(),
            breaks: Vec::new(),
            newest: None,
        }
    }

    /// Takes the next reading, with the smoothed level at it.
    pub fn push(&mut self, at: Timestamp, liters: f64, smoothed_liters: Option<f64>) {
        self.note_gap(at);
        self.newest = Some(at);
        let sample = Sample { at, liters, smoothed_liters };
        if self.buckets.is_empty() {
            self.all.push(sample);
            if self.all.len() > self.limit {
                self.begin_buckets();
            }
        } else {
            self.fold(sample);
        }
    }

    /// The points of the chart, in order of time.
    #[must_use]
    pub fn finish(self) -> Vec<ChartPoint> {
        let corners = |bucket: Bucket| [bucket.first, bucket.lowest, bucket.highest, bucket.last];
        let of_buckets = self.buckets.into_iter().flatten().flat_map(corners);
        let values = self.all.into_iter().chain(of_buckets).chain(self.kept);
        let values = values.map(|Sample { at, liters, smoothed_liters }| ChartPoint {
            at,
            liters: Some(liters),
            smoothed_liters,
        });
        let breaks = self.breaks.into_iter();
        let breaks = breaks.map(|(at, _)| ChartPoint { at, liters: None, smoothed_liters: None });
        let mut points: Vec<ChartPoint> = values.chain(breaks).collect();
        points.sort_by_key(|point| point.at);
        points.dedup_by_key(|point| point.at);
        points
    }

    fn begin_buckets(&mut self) {
        let for_edges = self.edges.len().min(self.limit / 2);
        let count = ((self.limit - for_edges) / POINTS_IN_BUCKET).max(1);
        self.buckets = vec![None; count];
        for point in std::mem::take(&mut self.all) {
            self.fold(point);
        }
        // A gap narrower than a bucket is narrower than the distance between two points.
        self.gap_seconds = self.gap_seconds.max(self.bucket_seconds());
        self.breaks.retain(|(_, seconds)| *seconds > self.gap_seconds);
    }

    fn bucket_seconds(&self) -> f64 {
        (self.to.seconds_since(self.from) / self.buckets.len() as f64).max(f64::MIN_POSITIVE)
    }

    fn note_gap(&mut self, at: Timestamp) {
        let Some(newest) = self.newest else { return };
        let seconds = at.seconds_since(newest);
        if seconds > self.gap_seconds {
            self.breaks.push((newest.plus_seconds(seconds / 2.0), seconds));
        }
    }

    fn fold(&mut self, point: Sample) {
        if self.edges.contains(&point.at) {
            self.kept.push(point);
        }
        let index = point.at.seconds_since(self.from).max(0.0) / self.bucket_seconds();
        let index = (index as usize).min(self.buckets.len() - 1);
        let bucket = &mut self.buckets[index];
        *bucket = Some(bucket.map_or_else(|| Bucket::of(point), |bucket| bucket.with(point)));
    }
}

impl Bucket {
    const fn of(point: Sample) -> Self {
        Self { first: point, lowest: point, highest: point, last: point }
    }

    fn with(self, point: Sample) -> Self {
        Self {
            first: self.first,
            lowest: if point.liters < self.lowest.liters { point } else { self.lowest },
            highest: if point.liters > self.highest.liters { point } else { self.highest },
            last: point,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: Timestamp = Timestamp::from_micros(1_700_000_000_000_000);

    fn at(seconds: u32) -> Timestamp {
        START.plus_seconds(f64::from(seconds))
    }

    fn sampled(
        series: impl Iterator<Item = (u32, f64)>,
        limit: usize,
        edges: &[Timestamp],
    ) -> Vec<ChartPoint> {
        let mut sampler = Downsampler::new(START, at(100_000), limit, 600.0, edges.iter().copied());
        series.for_each(|(seconds, liters)| sampler.push(at(seconds), liters, Some(60.0)));
        sampler.finish()
    }

    #[test]
    fn a_theft_of_one_reading_survives_fifty_points() {
        let series = (0..10_000).map(|step| (step * 10, if step == 6_543 { 12.0 } else { 60.0 }));
        let points = sampled(series, 50, &[]);
        assert!(points.len() <= 50, "{}", points.len());
        assert!(points.contains(&ChartPoint {
            at: at(65_430),
            liters: Some(12.0),
            smoothed_liters: Some(60.0)
        }));
        assert_eq!(points.first().map(|point| point.at), Some(START));
        assert_eq!(points.last().map(|point| point.at), Some(at(99_990)));
        assert!(points.is_sorted_by_key(|point| point.at));
    }

    #[test]
    fn edges_are_kept_within_the_limit() {
        let series = (0..10_000).map(|step| (step * 10, f64::from(step % 7)));
        let edges: Vec<Timestamp> = (1..=10).map(|event| at(event * 9_990)).collect();
        let points = sampled(series, 50, &edges);
        assert!(edges.iter().all(|edge| points.iter().any(|point| point.at == *edge)));
        assert!(points.len() <= 50, "{}", points.len());
    }

    #[test]
    fn few_points_stay_as_they_are() {
        let points = sampled((0..50).map(|step| (step * 60, f64::from(step))), 50, &[]);
        assert_eq!(points.len(), 50);
        assert!(points.iter().all(|point| point.liters.is_some()));
    }

    #[test]
    fn a_gap_breaks_the_line() {
        let few = sampled([(0, 1.0), (600, 2.0), (1_201, 3.0)].into_iter(), 50, &[]);
        let broken: Vec<bool> = few.iter().map(|point| point.liters.is_none()).collect();
        assert_eq!(broken, [false, false, true, false]);
        // Many points; the gap of 1,000 s is narrower than a bucket, that of 30,000 s is not.
        let narrow = (0..6_000).map(|step| (if step < 3_000 { step * 10 } else { step * 10 + 1_000 }, 5.0));
        let narrow = sampled(narrow, 50, &[]);
        assert!(narrow.iter().all(|point| point.liters.is_some()));
        let wide = (0..6_000).map(|step| (if step < 3_000 { step * 10 } else { step * 10 + 30_000 }, 5.0));
        let wide = sampled(wide, 50, &[]);
        assert_eq!(wide.iter().filter(|point| point.liters.is_none()).count(), 1);
    }

    #[test]
    fn every_bucket_has_its_extremes() {
        let series: Vec<(u32, f64)> =
            (0..5_000).map(|step| (step * 20, f64::from(step * 7_919 % 1_000))).collect();
        let points = sampled(series.iter().copied(), 80, &[]);
        for bucket in 0..20 {
            let within = |seconds: u32| (bucket * 5_000..(bucket + 1) * 5_000).contains(&seconds);
            let most = series.iter().filter(|(seconds, _)| within(*seconds)).map(|point| point.1);
            let most = most.fold(0.0, f64::max);
            let shown = points.iter().filter(|point| within(point.at.seconds_since(START) as u32));
            assert_eq!(shown.filter_map(|point| point.liters).fold(0.0, f64::max), most, "{bucket}");
        }
    }

    #[test]
    fn many_edges_leave_half_of_the_points_to_the_rest() {
        let series = (0..10_000).map(|step| (step * 10, f64::from(step % 7)));
        let edges: Vec<Timestamp> = (1..=200).map(|event| at(event * 490)).collect();
        let points = sampled(series, 50, &edges);
        assert!(edges.iter().all(|edge| points.iter().any(|point| point.at == *edge)));
        let others = points.iter().filter(|point| !edges.contains(&point.at)).count();
        assert!((12..=25).contains(&others), "{others}");
    }

    #[test]
    fn a_point_at_the_end_is_in_the_last_bucket() {
        let series = (0..=10_000).map(|step| (step * 10, 5.0));
        assert_eq!(sampled(series, 50, &[]).last().map(|point| point.at), Some(at(100_000)));
    }

    #[test]
    fn a_gap_among_the_first_points_breaks_the_line_if_it_is_wider_than_a_bucket() {
        for (gap, breaks) in [(1_000, 0), (30_000, 1)] {
            let series = (0..6_000).map(|step| (if step < 10 { step * 10 } else { step * 10 + gap }, 5.0));
            let points = sampled(series, 50, &[]);
            assert_eq!(points.iter().filter(|point| point.liters.is_none()).count(), breaks, "{gap}");
        }
    }
}
