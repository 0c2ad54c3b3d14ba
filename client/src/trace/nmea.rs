//! NMEA 0183: RMC for place, speed, course and the date; GGA for place and height. Sentences of one
//! time of day are one fix.
//!
//! Sentences other than these two, comments and binary bytes are skipped. The date is the receiver's, even after a
//! GPS week roll-over; a fix from GGA alone takes it from the last RMC.

use jiff::civil;
use waypost_actors::model::{Place, Timestamp};

use super::point::number;
use super::point::{Point, Reading, Skip, TracePoint};

/// km/h in a knot, exactly.
const KMH_PER_KNOT: f64 = 1.852;

/// Whether any line of the first ones holds a sentence.
pub(super) fn looks_alike(content: &[u8]) -> bool {
    let start = &content[..content.len().min(64 * 1024)];
    lines(start).filter_map(sentence).any(|found| found.is_ok())
}

/// Reads a file.
pub(super) fn read(content: &[u8]) -> impl Iterator<Item = Reading> {
    let mut epochs = Epochs::default();
    let mut sentences = lines(content).filter_map(sentence).fuse();
    std::iter::from_fn(move || {
        loop {
            match sentences.next() {
                Some(Ok(fields)) => {
                    if let Some(reading) = epochs.take(&fields) {
                        return Some(reading);
                    }
                }
                Some(Err(skip)) => return Some(Err(skip)),
                None => return epochs.flush(),
            }
        }
    })
}

fn lines(content: &[u8]) -> impl Iterator<Item = &[u8]> {
    content.split(|byte| matches!(byte, b'\n' | b'\r'))
}

/// The fields of an RMC or GGA sentence; `None` for any other line. Garbage before the `$` is cut.
fn sentence(line: &[u8]) -> Option<Result<Vec<&str>, Skip>> {
    let dollar = line.iter().rposition(|byte| *byte == b'$')?;
    let body = &line[dollar + 1..];
    if !matches!(body.get(2..6), Some(b"RMC," | b"GGA,")) {
        return None;
    }
    Some(checked(body).map(|text| text.split(',').collect()))
}

/// The text between `$` and `*`, if the two digits after that are its checksum.
fn checked(body: &[u8]) -> Result<&str, Skip> {
    let star = body.iter().position(|byte| *byte == b'*').ok_or(Skip::BadChecksum)?;
    let digits = body.get(star + 1..star + 3).and_then(|digits| std::str::from_utf8(digits).ok());
    let told = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).ok_or(Skip::BadChecksum)?;
    let sum = body[..star].iter().fold(0, |sum, byte| sum ^ byte);
    if sum != told {
        return Err(Skip::BadChecksum);
    }
    std::str::from_utf8(&body[..star]).map_err(|_| Skip::BadRow)
}

/// The sentences of one time of day.
#[derive(Default)]
struct Epoch {
    time: String,
    date: Option<civil::Date>,
    no_fix: bool,
    place: Option<Place>,
    speed_kmh: Option<f64>,
    heading_degrees: Option<f64>,
    altitude_meters: Option<f64>,
}

/// Gathers sentences into epochs.
#[derive(Default)]
struct Epochs {
    open: Option<Epoch>,
    /// The last date, with the time of day of its sentence.
    dated: Option<(civil::Date, civil::Time)>,
}

impl Epochs {
    /// Adds a sentence; returns the previous epoch if this one begins the next.
    fn take(&mut self, fields: &[&str]) -> Option<Reading> {
        let time = fields.get(1).copied().unwrap_or_default();
        // A sentence without a time stands alone: the receiver does not know anything yet.
        let same = self.open.as_ref().is_some_and(|open| !time.is_empty() && same_time(&open.time, time));
        let done = if same { None } else { self.flush() };
        let epoch = self.open.get_or_insert_with(Epoch::default);
        time.clone_into(&mut epoch.time);
        if fields[0].ends_with("RMC") {
            epoch.add_rmc(fields)
        } else {
            epoch.add_gga(fields)
        }
        done
    }

    /// Ends the open epoch.
    fn flush(&mut self) -> Option<Reading> {
        let epoch = self.open.take()?;
        Some(self.point(&epoch).map(|point| TracePoint { vehicle: None, point }))
    }

    fn point(&mut self, epoch: &Epoch) -> Result<Point, Skip> {
        let time = if epoch.time.is_empty() { None } else { Some(time_of_day(&epoch.time)) };
        if let (Some(date), Some(Some(time))) = (epoch.date, time) {
            self.dated = Some((date, time));
        }
        if epoch.no_fix {
            return Err(Skip::NoFix);
        }
        let time = time.ok_or(Skip::NoTime)?.ok_or(Skip::BadTime)?;
        let (date, before) = self.dated.ok_or(Skip::NoTime)?;
        // Twelve hours back on the same date is the next day, whose RMC has not come yet.
        let midnight_passed = epoch.date.is_none() && i32::from(time.hour()) + 12 <= i32::from(before.hour());
        let date = if midnight_passed { date.tomorrow().map_err(|_| Skip::BadTime)? } else { date };
        let instant = date.to_datetime(time).to_zoned(jiff::tz::TimeZone::UTC).map_err(|_| Skip::BadTime)?;
        let recorded_at = Timestamp::from_micros(instant.timestamp().as_microsecond());
        Ok(Point {
            speed_kmh: epoch.speed_kmh,
            heading_degrees: epoch.heading_degrees,
            altitude_meters: epoch.altitude_meters,
            ..Point::new(recorded_at, epoch.place.ok_or(Skip::BadCoordinates)?)
        })
    }
}

impl Epoch {
    /// `RMC,time,A|V,lat,N|S,lon,E|W,knots,course,ddmmyy,…`
    fn add_rmc(&mut self, fields: &[&str]) {
        let field = |index: usize| fields.get(index).copied().unwrap_or_default();
        self.no_fix |= field(2) != "A";
        self.date = date(field(9)).or(self.date);
        self.place = place([field(3), field(4), field(5), field(6)]).or(self.place);
        self.speed_kmh = number(field(7)).map(|knots| knots * KMH_PER_KNOT);
        self.heading_degrees = number(field(8));
    }

    /// `GGA,time,lat,N|S,lon,E|W,quality,satellites,hdop,altitude,M,…`; quality 0 is no fix.
    fn add_gga(&mut self, fields: &[&str]) {
        let field = |index: usize| fields.get(index).copied().unwrap_or_default();
        self.no_fix |= matches!(field(6), "" | "0");
        // RMC's place takes precedence if both have one.
        self.place = self.place.or_else(|| place([field(2), field(3), field(4), field(5)]));
        self.altitude_meters = number(field(9));
    }
}

/// Whether two texts are the same time of day: `204132.00` and `204132.000` are.
fn same_time(a: &str, b: &str) -> bool {
    a == b || time_of_day(a).is_some_and(|time| time_of_day(b) == Some(time))
}

/// `hhmmss` with or without a fraction.
fn time_of_day(text: &str) -> Option<civil::Time> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if whole.len() != 6 || fraction.len() > 9 {
        return None;
    }
    let nanos: i32 = format!("{fraction:0<9}").parse().ok()?;
    let part = |range| whole.get::<std::ops::Range<usize>>(range)?.parse::<i8>().ok();
    civil::Time::new(part(0..2)?, part(2..4)?, part(4..6)?, nanos).ok()
}

/// `ddmmyy`; two-digit years from 80 on are the last century's.
fn date(text: &str) -> Option<civil::Date> {
    let part = |range| text.get::<std::ops::Range<usize>>(range)?.parse::<i8>().ok();
    let year = i16::from(part(4..6).filter(|_| text.len() == 6)?);
    civil::Date::new(if year < 80 { 2000 } else { 1900 } + year, part(2..4)?, part(0..2)?).ok()
}

/// A place from `ddmm.mmmm,N|S,dddmm.mmmm,E|W`.
fn place([latitude, north, longitude, east]: [&str; 4]) -> Option<Place> {
    Some(Place {
        latitude: degrees(latitude)? * sign(north, "N", "S")?,
        longitude: degrees(longitude)? * sign(east, "E", "W")?,
    })
}

/// Degrees from `[d]ddmm.mmmm`: the last two digits before the point are minutes.
fn degrees(text: &str) -> Option<f64> {
    let split = text.find('.').unwrap_or(text.len()).checked_sub(2)?;
    let whole = if split == 0 { 0.0 } else { number(text.get(..split)?)? };
    Some(whole + number(text.get(split..)?)? / 60.0)
}

fn sign(text: &str, plus: &str, minus: &str) -> Option<f64> {
    if text == plus {
        Some(1.0)
    } else if text == minus {
        Some(-1.0)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(content: &[u8]) -> Vec<Reading> {
        read(content).collect()
    }

    #[test]
    fn rmc_and_gga_of_one_time_are_one_fix() {
        let found = readings(
            b"# Name: a header\r\n$GPGGA,202640.000,4404.1306,N,12118.8515,W,2,10,0.98,1127.7,M,-19.6,M,0000,0000*6C\r\n\
            $GPGSA,A,3,20,16,09,03,07,10,23,19,27,30,,,1.64,0.98,1.31*05\r\n\
            $GPRMC,202640.000,A,4404.1306,N,12118.8515,W,0.03,225.97,130415,,,D*73\r\n",
        );
        assert_eq!(found.len(), 1);
        let point = found[0].as_ref().unwrap().point;
        assert_eq!(point.recorded_at, Timestamp::parse("2015-04-13T20:26:40Z").unwrap());
        assert_eq!(point.place, Place::new(44.0 + 4.1306 / 60.0, -(121.0 + 18.8515 / 60.0)));
        assert_eq!((point.heading_degrees, point.altitude_meters), (Some(225.97), Some(1127.7)));
        assert_eq!(point.speed_kmh, Some(0.03 * KMH_PER_KNOT));
    }

    #[test]
    fn no_fix_no_date_and_damage_are_told_apart() {
        let void = b"$GPGGA,,,,,,0,,,,M,,M,,*66\n";
        let undated = b"$GPGGA,185244.000,4854.2575,N,00219.9816,E,1,05,1.7,124.4,M,47.3,M,,0000*56\n";
        let damaged = b"$GPGGA,185244.000,4854.2575,N,00219.9817,E,1,05,1.7,124.4,M,47.3,M,,0000*56\n";
        let cut = b"$GPGGA,185244.000,4854.2";
        let content = [void.as_slice(), b"\xff\x00\xa2\xb0\x80", undated, damaged, cut].concat();
        let want = [Skip::BadChecksum, Skip::BadChecksum, Skip::NoFix, Skip::NoTime];
        let mut found: Vec<_> = readings(&content).into_iter().map(|reading| reading.unwrap_err()).collect();
        found.sort_by_key(|skip| want.iter().position(|reason| reason == skip));
        assert_eq!(found, want);
    }

    #[test]
    fn a_receiver_that_says_void_is_believed() {
        let demo = b"$GPRMC,125106,V,3854.5087,N,07726.4523,W,0.0,0.0,241011,10.5,W,S*28\n\
            $GPGGA,125106,3854.5087,N,07726.4523,W,8,10,2.0,268.8,M,-33.9,M,,*7F\n";
        assert_eq!(readings(demo), [Err(Skip::NoFix)]);
    }

    #[test]
    fn gga_between_two_rmc_takes_the_date_of_the_last() {
        let with_sum = |body: &str| format!("${body}*{:02X}\n", body.bytes().fold(0, |sum, byte| sum ^ byte));
        let content = [
            with_sum("GNRMC,235959.50,A,4804.14539,S,01621.54005,E,0.250,,210615,,,A"),
            with_sum("GNGGA,235959.60,4804.14539,S,01621.54005,E,1,10,0.96,205.3,M,42.0,M,,"),
            with_sum("GNGGA,000000.00,4804.14539,S,01621.54005,E,1,10,0.96,205.3,M,42.0,M,,"),
        ];
        let times: Vec<_> = readings(content.concat().as_bytes())
            .into_iter()
            .map(|reading| reading.unwrap().point.recorded_at.to_string())
            .collect();
        assert_eq!(
            times,
            ["2015-06-21T23:59:59.500Z", "2015-06-21T23:59:59.600Z", "2015-06-22T00:00:00.000Z"]
        );
    }
}
