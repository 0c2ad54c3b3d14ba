//! Instants: milliseconds of UTC, RFC 3339 outside.
//!
//! Everything Waypost says about an instant has milliseconds, so nothing finer is kept: an instant that is written
//! and read back (by a client, from a stored state) stays equal.

use std::fmt;
use std::num::NonZeroU64;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

// Microseconds since 1970 above the least `i64`, so that the order is that of the numbers and none is 0: an `Option<Timestamp>` takes no
// more room, and every vehicle's state has several.
/// An instant, to the millisecond. RFC 3339 with milliseconds and `Z` when written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "schema", schema(value_type = String, format = DateTime))]
pub struct Timestamp(NonZeroU64);

/// A text or number that is no instant Waypost accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an RFC 3339 date-time with an offset, such as 2026-05-01T12:00:00Z")]
pub struct InvalidTimestamp;

impl Timestamp {
    /// Later than any instant that can be parsed.
    pub const MAX: Self = Self(NonZeroU64::MAX);
    /// Earlier than any instant that can be parsed.
    pub const MIN: Self = Self(NonZeroU64::MIN);
    /// The earliest instant that can be parsed: 0000-01-01T00:00:00Z.
    pub const FIRST: Self = Self::from_micros(Self::FIRST_MICROS);
    /// The last instant that can be parsed or written: 9999-12-30T22:00:00Z.
    pub const LAST: Self = Self::from_micros(Self::LAST_MICROS);
    /// 9999-12-30T22:00:00Z, the last instant jiff writes; RFC 3339 ends a day later.
    const LAST_MICROS: i64 = 253_402_207_200_000_000;
    /// 0000-01-01T00:00:00Z.
    const FIRST_MICROS: i64 = -62_167_219_200_000_000;

    /// The instant `micros` microseconds after 1970-01-01T00:00:00Z, as a store keeps it; [`Self::MIN`] for the least number there is.
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        match NonZeroU64::new(micros.abs_diff(i64::MIN)) {
            Some(above_least) => Self(above_least),
            None => Self::MIN,
        }
    }

    /// The instant `millis` milliseconds after 1970-01-01T00:00:00Z, if RFC 3339 can write it.
    pub fn from_millis(millis: i64) -> Result<Self, InvalidTimestamp> {
        let micros = millis.checked_mul(1000).ok_or(InvalidTimestamp)?;
        Self::in_range(micros)
    }

    /// Parses RFC 3339: date, `T`, time with seconds, and `Z` or an offset. Fractions finer
    /// than a millisecond are cut.
    pub fn parse(text: &str) -> Result<Self, InvalidTimestamp> {
        if !is_rfc3339(text.as_bytes()) {
            return Err(InvalidTimestamp);
        }
        let parsed: jiff::Timestamp = text.parse().map_err(|_| InvalidTimestamp)?;
        // Floored, before 1970 too.
        let millis = parsed.as_nanosecond().div_euclid(1_000_000);
        Self::from_millis(i64::try_from(millis).map_err(|_| InvalidTimestamp)?)
    }

    /// Microseconds since 1970-01-01T00:00:00Z.
    #[must_use]
    pub const fn as_micros(self) -> i64 {
        i64::MIN.wrapping_add_unsigned(self.0.get())
    }

    /// The last whole millisecond before it.
    #[must_use]
    pub const fn millisecond_before(self) -> Self {
        Self::from_micros(self.as_micros().saturating_sub(1).div_euclid(1000).saturating_mul(1000))
    }

    /// Milliseconds since 1970-01-01T00:00:00Z, rounded down.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.as_micros().div_euclid(1000)
    }

    /// Seconds from `earlier` to this instant; negative when this one is the earlier.
    #[must_use]
    pub fn seconds_since(self, earlier: Self) -> f64 {
        self.as_micros().saturating_sub(earlier.as_micros()) as f64 / 1e6
    }

    /// This instant moved by `seconds`, to the nearest millisecond.
    #[must_use]
    pub fn plus_seconds(self, seconds: f64) -> Self {
        let micros = ((seconds * 1e3).round() as i64).saturating_mul(1000);
        Self::from_micros(self.as_micros().saturating_add(micros))
    }

    fn in_range(micros: i64) -> Result<Self, InvalidTimestamp> {
        if (Self::FIRST_MICROS..=Self::LAST_MICROS).contains(&micros) {
            Ok(Self::from_micros(micros))
        } else {
            Err(InvalidTimestamp)
        }
    }
}

/// 1970-01-01T00:00:00Z.
impl Default for Timestamp {
    fn default() -> Self {
        Self::from_micros(0)
    }
}

/// The shape `YYYY-MM-DDTHH:MM:SS[.f…](Z|±HH:MM)`; the calendar itself is jiff's to check.
fn is_rfc3339(text: &[u8]) -> bool {
    let shape = b"dddd-dd-ddTdd:dd:dd";
    let fits = |(byte, want): (&u8, &u8)| match want {
        b'd' => byte.is_ascii_digit(),
        b'T' => matches!(byte, b'T' | b't'),
        literal => byte == literal,
    };
    if text.len() <= shape.len() || !text.iter().zip(shape).all(fits) {
        return false;
    }
    let mut rest = &text[shape.len()..];
    if rest[0] == b'.' {
        let digits = rest[1..].iter().take_while(|b| b.is_ascii_digit()).count();
        if digits == 0 {
            return false;
        }
        rest = &rest[1 + digits..];
    }
    match rest {
        [b'Z' | b'z'] => true,
        [b'+' | b'-', h1, h2, b':', m1, m2] => [h1, h2, m1, m2].iter().all(|b| b.is_ascii_digit()),
        _ => false,
    }
}

/// `YYYY-MM-DDTHH:MM:SS.mmmZ`, by hand: every state, event and position that is written has some of them, and a
/// formatter reads its pattern anew each time.
struct Written([u8; 24]);

impl Written {
    fn of(instant: Timestamp) -> Self {
        let millis =
            instant.as_micros().clamp(Timestamp::FIRST_MICROS, Timestamp::LAST_MICROS).div_euclid(1000);
        let (days, of_day) = (millis.div_euclid(86_400_000), millis.rem_euclid(86_400_000));
        let (year, month, day) = civil(days);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let (hour, minute, second) = (of_day / 3_600_000, of_day / 60_000 % 60, of_day / 1000 % 60);
        for (end, digits, mut value) in [
            (4, 4, year),
            (7, 2, month),
            (10, 2, day),
            (13, 2, hour),
            (16, 2, minute),
            (19, 2, second),
            (23, 3, of_day % 1000),
        ] {
            for place in text[end - digits..end].iter_mut().rev() {
                *place = b'0' + (value % 10) as u8;
                value /= 10;
            }
        }
        Self(text)
    }

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("digits and signs")
    }
}

/// Year, month and day of a day since 1970-01-01, in the proleptic Gregorian calendar. Years here begin in March,
/// so that a leap day is the last one; eras have 400 years.
const fn civil(days: i64) -> (i64, i64, i64) {
    let since_0000_march = days + 719_468;
    let (era, of_era) = (since_0000_march.div_euclid(146_097), since_0000_march.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_of_year = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_of_year + 2) / 5 + 1;
    let month = if month_of_year < 10 { month_of_year + 3 } else { month_of_year - 9 };
    (era * 400 + year_of_era + (month <= 2) as i64, month, day)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Written::of(*self).as_str())
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(Written::of(*self).as_str())
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        Self::parse(&text).map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_3339_in_and_milliseconds_out() {
        for (text, want) in [
            ("2016-03-22T19:24:35-05:00", "2016-03-23T00:24:35.000Z"),
            ("2026-01-02t03:04:05.6789z", "2026-01-02T03:04:05.678Z"),
            ("1901-12-13T20:45:52.2073437Z", "1901-12-13T20:45:52.207Z"),
        ] {
            assert_eq!(Timestamp::parse(text).map(|t| t.to_string()), Ok(want.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_is_not_rfc_3339_is_refused() {
        for text in [
            "",
            "2026-01-02",
            "2026-01-02T03:04:05",
            "2026-01-02T03:04Z",
            "2026-01-02 03:04:05Z",
            "2026-02-30T03:04:05Z",
            "12026-01-02T03:04:05Z",
            "2026-01-02T03:04:05Z[UTC]",
            "2026-01-02T03:04:05.Z",
            "2026-01-02T03:04:05+0100",
        ] {
            assert_eq!(Timestamp::parse(text), Err(InvalidTimestamp), "{text}");
        }
        assert_eq!(Timestamp::from_millis(i64::MAX), Err(InvalidTimestamp));
    }

    #[test]
    fn instants_are_written_as_a_calendar_has_them() {
        // Steps that meet every month, leap days, and years before 1970.
        let span = Timestamp::LAST_MICROS - Timestamp::FIRST_MICROS;
        let steps = (0..40_000).map(|step| Timestamp::FIRST_MICROS + step * (span / 40_000));
        let days = (0..1_500_i64).map(|day| (day - 200) * 86_400_000_000 - 1);
        for micros in steps.chain(days).filter(|micros| *micros >= Timestamp::FIRST_MICROS) {
            let instant = jiff::Timestamp::from_microsecond(micros).unwrap();
            let want = instant.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string();
            assert_eq!(Timestamp::from_micros(micros).to_string(), want, "{micros}");
        }
    }

    #[test]
    fn a_number_of_microseconds_comes_back_in_its_order_and_no_instant_takes_no_room() {
        let numbers = [i64::MIN + 1, Timestamp::FIRST_MICROS, -1, 0, 1, Timestamp::LAST_MICROS, i64::MAX];
        let instants = numbers.map(Timestamp::from_micros);
        assert_eq!(instants.map(Timestamp::as_micros), numbers);
        assert!(instants.is_sorted());
        assert_eq!((instants[0], instants[6]), (Timestamp::MIN, Timestamp::MAX));
        assert_eq!(Timestamp::from_micros(i64::MIN), Timestamp::MIN);
        assert_eq!(size_of::<Option<Timestamp>>(), 8);
    }

    #[test]
    fn every_instant_can_be_written() {
        assert_eq!(Timestamp::MAX.to_string(), "9999-12-30T22:00:00.000Z");
        assert_eq!(Timestamp::MIN.to_string(), "0000-01-01T00:00:00.000Z");
    }
}
