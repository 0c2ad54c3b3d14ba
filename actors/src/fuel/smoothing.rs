//! Hampel, then median: the robust level of several readings.

/// 1.4826 makes the median absolute deviation of a normal distribution its standard deviation.
const MAD_TO_DEVIATION: f64 = 1.4826;
/// Hampel's rule: a reading farther than three standard deviations from the median is an outlier.
const OUTLIER_DEVIATIONS: f64 = 3.0;

/// The middle of some levels and how far they scatter, both insensitive to a minority of wild ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Robust {
    /// The median without the outliers.
    pub level: f64,
    /// 1.4826 times the median absolute deviation of all.
    pub deviation: f64,
}

/// The robust middle of these levels; `None` if there are none. Finite numbers only.
#[must_use]
pub fn robust(levels: impl IntoIterator<Item = f64>) -> Option<Robust> {
    let mut levels: Vec<f64> = levels.into_iter().collect();
    let middle = median(&mut levels)?;
    let mut distances: Vec<f64> = levels.iter().map(|level| (level - middle).abs()).collect();
    let deviation = median(&mut distances)? * MAD_TO_DEVIATION;
    levels.retain(|level| (level - middle).abs() <= OUTLIER_DEVIATIONS * deviation);
    Some(Robust { level: median(&mut levels).unwrap_or(middle), deviation })
}

/// The median; the mean of the middle two if their number is even. Sorts `values`.
pub(super) fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let half = values.len() / 2;
    let upper = *values.get(half)?;
    Some(if values.len() % 2 == 1 { upper } else { f64::midpoint(values[half - 1], upper) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wild_readings_do_not_count() {
        let found = robust([40.0, 40.2, 0.0, 40.1, 39.9, 100.0, 40.0]).unwrap();
        assert!((found.level - 40.0).abs() < 0.06, "{found:?}");
        assert!(found.deviation < 0.2);
        assert_eq!(robust([]), None);
        assert_eq!(robust([7.0]), Some(Robust { level: 7.0, deviation: 0.0 }));
        assert_eq!(robust([5.0, 5.0, 5.0, 60.0]), Some(Robust { level: 5.0, deviation: 0.0 }));
    }

    #[test]
    fn an_even_number_has_two_in_the_middle() {
        assert_eq!(median(&mut [4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&mut []), None);
    }
}
