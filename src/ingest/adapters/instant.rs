//! Instants as clients write them: seconds or milliseconds since 1970, and ISO 8601 in several dialects.

use waypost_actors::model::Timestamp;

/// Numbers from this one on are milliseconds, from March 1973 on; as seconds they would be after the year 5138. A clock
/// that is decades ahead is told as such, not taken for one of 1970.
const MILLIS_FROM: f64 = 100_000_000_000.0;

/// Characters of `yyyy-MM-ddTHH:mm:ss`.
const TO_SECONDS: usize = 19;

/// Seconds since 1970, with a fraction, or milliseconds. A clock that was never set says 0, which is no time.
pub(super) fn number(sent: f64) -> Result<Timestamp, String> {
    let millis = if sent >= MILLIS_FROM { sent } else { sent * 1000.0 };
    let read = (millis >= 1.0).then(|| Timestamp::from_millis(millis.round() as i64).ok()).flatten();
    read.ok_or_else(|| format!("the time {sent} is neither seconds nor milliseconds since 1970"))
}

/// A number as text, or an ISO 8601 date-time: with `T` or a blank, and without an offset in UTC.
pub(super) fn text(sent: &str) -> Result<Timestamp, String> {
    let sent = sent.trim();
    match sent.parse::<f64>() {
        Ok(value) => number(value),
        Err(_) => Timestamp::parse(&rfc3339(sent)).map_err(|_| {
            format!("the time {sent:?} is neither a number since 1970 nor like 2026-05-01T12:00:00Z")
        }),
    }
}

fn rfc3339(sent: &str) -> String {
    if !sent.is_ascii() || sent.len() < TO_SECONDS {
        return sent.to_owned();
    }
    let (date_time, rest) = sent.split_at(TO_SECONDS);
    let digits = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    let (fraction, zone) = rest.split_at(digits);
    // In a query, a plus sign that is not encoded arrives as a blank.
    let zone = zone.replacen(' ', "+", 1);
    let zone = match zone.len() {
        0 => "Z".to_owned(),
        // -0700
        5 if !zone.contains(':') => format!("{}:{}", &zone[..3], &zone[3..]),
        _ => zone,
    };
    format!("{}{fraction}{zone}", date_time.replacen(' ', "T", 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_to_write_an_instant() {
        let expected = "2014-06-04T09:10:11.000Z";
        for sent in [
            "1401873011",
            "1401873011000",
            "1401873011.0",
            "2014-06-04 09:10:11",
            "2014-06-04T09:10:11",
            "2014-06-04T09:10:11Z",
            "2014-06-04T09:10:11.000Z",
            "2014-06-04T11:10:11+02:00",
            "2014-06-04T11:10:11 02:00",
            "2014-06-04T02:10:11-0700",
            "2014-06-04T09:10:11.000+0000",
        ] {
            assert_eq!(text(sent).unwrap().to_string(), expected, "{sent}");
        }
        assert_eq!(number(3_471_292_800.0).unwrap().to_string(), "2080-01-01T00:00:00.000Z");
        assert_eq!(number(1_508_508_510.013_227).unwrap().to_string(), "2017-10-20T14:08:30.013Z");
    }

    #[test]
    fn what_is_no_instant() {
        for sent in [
            "",
            "0",
            "-1",
            "NaN",
            "inf",
            "1e300",
            "yesterday",
            "2014-06-04",
            "2014-13-04 09:10:11",
            "é014-06-04 09:10:11",
        ] {
            assert!(text(sent).is_err(), "{sent}");
        }
    }
}
