//! Languages and time zones, as settings name them.

use jiff::tz::{TimeZone, TimeZoneDatabase};
use waypost_actors::model::Timestamp;

use super::members::Read;

/// A well-formed BCP 47 language tag (RFC 5646 §2.1), such as `de-DE` or `zh-Hant-TW`.
pub fn language_tag(value: &serde_json::Value) -> Read<String> {
    let text = value.as_str().ok_or_else(|| ("type", "a text".to_owned()))?;
    if is_language_tag(text) {
        Ok(text.to_owned())
    } else {
        Err(("format", "a language tag (BCP 47), such as en or de-DE".to_owned()))
    }
}

/// An IANA time zone, in the spelling of the database.
pub fn timezone(value: &serde_json::Value) -> Read<String> {
    let text = value.as_str().ok_or_else(|| ("type", "a text".to_owned()))?;
    named_zone(text).ok_or_else(|| ("format", "an IANA time zone, such as Europe/Berlin".to_owned()))
}

/// An instant in the local time of an IANA time zone, in the same form for every language: `2026-05-02 08:00
/// (America/New_York)`.
#[must_use]
pub fn told(at: Timestamp, timezone: &str) -> String {
    let zone = TimeZoneDatabase::bundled().get(timezone).unwrap_or(TimeZone::UTC);
    let at = jiff::Timestamp::from_microsecond(at.as_micros()).unwrap_or_default().to_zoned(zone);
    let zone = at.time_zone().iana_name().unwrap_or("UTC");
    format!("{} ({zone})", at.strftime("%Y-%m-%d %H:%M"))
}

/// Matches the parts of a tag in their order, each as often as it may occur.
fn is_language_tag(tag: &str) -> bool {
    if tag.len() > 35
        || tag.split('-').any(|part| part.is_empty() || part.len() > 8 || !is_alphanumeric(part))
    {
        return false;
    }
    let mut parts = tag.split('-').peekable();
    if parts.peek().is_some_and(|part| part.eq_ignore_ascii_case("x")) {
        return tag.contains('-'); // private use: agreed between friends
    }
    let Some(language) = parts.next().filter(|part| part.len() >= 2 && is_alphabetic(part)) else {
        return false;
    };
    if language.len() <= 3 {
        for _ in 0..3 {
            parts.next_if(|part| part.len() == 3 && is_alphabetic(part));
        }
    }
    parts.next_if(|part| part.len() == 4 && is_alphabetic(part));
    parts.next_if(|part| part.len() == 2 && is_alphabetic(part) || part.len() == 3 && is_numeric(part));
    let is_variant = |part: &str| part.len() >= 5 || part.len() == 4 && is_numeric(&part[..1]);
    while parts.next_if(|part| is_variant(part)).is_some() {}
    while let Some(singleton) = parts.next() {
        let least = if singleton.eq_ignore_ascii_case("x") { 1 } else { 2 };
        let is_open = singleton.len() == 1 && parts.next_if(|part| part.len() >= least).is_some();
        if !is_open {
            return false;
        }
        while parts.next_if(|part| part.len() >= least).is_some() {}
    }
    true
}

fn is_alphanumeric(part: &str) -> bool {
    part.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn is_alphabetic(part: &str) -> bool {
    part.bytes().all(|byte| byte.is_ascii_alphabetic())
}

fn is_numeric(part: &str) -> bool {
    part.bytes().all(|byte| byte.is_ascii_digit())
}

fn named_zone(name: &str) -> Option<String> {
    // Copies of the database that count leap seconds, and the machine's own zone, are not IANA names.
    let foreign = ["posix/", "right/", "posixrules", "localtime"];
    let lower = name.to_ascii_lowercase();
    let shaped = (1..=64).contains(&name.len()) && !foreign.iter().any(|prefix| lower.starts_with(prefix));
    // The bundled database is the same on every machine, including those that have none.
    let zone = TimeZoneDatabase::bundled().get(name).ok().filter(|_| shaped)?;
    zone.iana_name().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn language_tags() {
        for good in [
            "en",
            "de-DE",
            "zh-Hant-TW",
            "sl-rozaj-biske",
            "de-CH-1901",
            "es-419",
            "hy-Latn-IT-arevela",
            "zh-cmn-Hans-CN",
            "de-a-value",
            "en-u-ca-gregory-x-own",
            "x-own",
            "DE-de",
        ] {
            assert!(is_language_tag(good), "{good}");
        }
        for bad in [
            "",
            "d",
            "de_DE",
            "de-",
            "-de",
            "german-language-of-old",
            "de-DE-DE",
            "de-419-DE",
            "en-a",
            "en-u-x",
            "x",
            "12",
            "d1",
            "de-DE-Latn",
            "ünï",
        ] {
            assert!(!is_language_tag(bad), "{bad}");
        }
    }

    #[test]
    fn an_instant_is_told_by_the_clocks_of_its_zone() {
        let at = Timestamp::from_micros(1_777_636_800_000_000); // 2026-05-01T12:00:00Z
        assert_eq!(told(at, "America/New_York"), "2026-05-01 08:00 (America/New_York)");
        assert_eq!(told(at, "Asia/Kathmandu"), "2026-05-01 17:45 (Asia/Kathmandu)");
        assert_eq!(told(at, "Mars/Olympus"), "2026-05-01 12:00 (UTC)");
    }

    #[test]
    fn time_zones_are_those_of_the_database() {
        assert_eq!(timezone(&json!("europe/berlin")), Ok("Europe/Berlin".to_owned()));
        for good in ["UTC", "America/Argentina/Buenos_Aires", "Etc/GMT+5"] {
            assert_eq!(timezone(&json!(good)), Ok(good.to_owned()));
        }
        for bad in
            ["", "Mars/Olympus", "Europe", "posix/Europe/Berlin", "../etc/passwd", "CEST+2", "localtime"]
        {
            assert!(timezone(&json!(bad)).is_err(), "{bad}");
        }
        assert!(timezone(&json!(1)).is_err());
    }
}
