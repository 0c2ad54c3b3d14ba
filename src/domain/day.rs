//! Calendar dates, without time or zone, as on licences and birth certificates.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;
use utoipa::ToSchema;
use waypost_actors::model::Timestamp;

use super::members::Read;

/// A calendar date of the years 1900 to 2200, `YYYY-MM-DD` when written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ToSchema)]
#[schema(value_type = String, format = Date)]
pub struct Day(jiff::civil::Date);

const YEARS: std::ops::RangeInclusive<i16> = 1900..=2200;

impl Day {
    /// Parses `YYYY-MM-DD`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        // jiff accepts longer forms too.
        let date: jiff::civil::Date = if text.len() == 10 { text.parse().ok()? } else { return None };
        YEARS.contains(&date.year()).then_some(Self(date))
    }

    /// The date of an instant in an IANA time zone; in UTC if this machine does not know the zone.
    #[must_use]
    pub fn of(instant: Timestamp, timezone: &str) -> Self {
        let zone = jiff::tz::db().get(timezone).unwrap_or(jiff::tz::TimeZone::UTC);
        let instant = jiff::Timestamp::from_microsecond(instant.as_micros()).unwrap_or_default();
        Self(instant.to_zoned(zone).date())
    }

    /// The instant at which it begins in an IANA time zone; in UTC if this machine does not know the zone.
    #[must_use]
    pub fn begins(self, timezone: &str) -> Timestamp {
        let zone = jiff::tz::db().get(timezone).unwrap_or(jiff::tz::TimeZone::UTC);
        let begins = self.0.to_zoned(zone).map(|zoned| zoned.timestamp().as_microsecond());
        Timestamp::from_micros(begins.unwrap_or_default())
    }

    /// The day this many days later.
    #[must_use]
    pub fn plus_days(self, days: i32) -> Self {
        Self(self.0.saturating_add(jiff::Span::new().days(days)))
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Day {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Day {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| de::Error::custom("not a date"))
    }
}

/// A date.
pub fn day(value: &Value) -> Read<Day> {
    let text = value.as_str().ok_or_else(|| ("type", "a date text".to_owned()))?;
    Day::parse(text).ok_or_else(|| ("format", "a date, such as 2026-05-01".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_and_written() {
        assert_eq!(Day::parse("2024-02-29").unwrap().to_string(), "2024-02-29");
        for bad in
            ["2023-02-29", "2024-2-29", "20240229", "2024-02-29T00:00:00", "1899-12-31", "0001-01-01", ""]
        {
            assert_eq!(Day::parse(bad), None, "{bad}");
        }
        assert_eq!(Day::parse("2024-02-28").unwrap().plus_days(2).to_string(), "2024-03-01");
    }

    #[test]
    fn the_date_depends_on_the_zone() {
        let instant = Timestamp::parse("2026-05-01T23:30:00Z").unwrap();
        assert_eq!(Day::of(instant, "UTC").to_string(), "2026-05-01");
        assert_eq!(Day::of(instant, "Europe/Berlin").to_string(), "2026-05-02");
        assert_eq!(Day::of(instant, "No/Where").to_string(), "2026-05-01");
        let begins = |zone| Day::parse("2026-05-01").unwrap().begins(zone).to_string();
        assert_eq!(begins("UTC"), "2026-05-01T00:00:00.000Z");
        assert_eq!(begins("Europe/Berlin"), "2026-04-30T22:00:00.000Z");
    }
}
