//! GPX 1.0 and 1.1, recognized by element names alone, so that a missing namespace, a byte order mark or any
//! extension does not matter.
//!
//! Track points are fixes, in the order of the file, whatever the order of its segments. A waypoint's
//! time is when it was made or edited; waypoints and route points count as fixes only in a file that
//! has no track. Times without an offset are UTC, as the format says. Speed is metres per second.

use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;
use waypost_actors::model::{Place, Timestamp};

use super::point::number;
use super::point::{Point, Reading, Skip, TracePoint};

/// Reads a file.
pub(super) fn read(content: &[u8]) -> std::vec::IntoIter<Reading> {
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    let mut points = Points::default();
    let mut reader = Reader::from_reader(content);
    loop {
        match reader.read_event() {
            Ok(Event::Eof) => {
                if !points.open.is_empty() {
                    points.track.push(Err(Skip::BadMarkup));
                }
                break;
            }
            Ok(event) => points.take(&event),
            Err(_) => {
                points.track.push(Err(Skip::BadMarkup));
                break;
            }
        }
    }
    points.finish().into_iter()
}

/// A point whose end tag has not come yet.
struct Draft {
    place: Option<Place>,
    time: String,
    speed: String,
    course: String,
    elevation: String,
}

/// What has been read of a file.
#[derive(Default)]
struct Points {
    /// Names of the elements that are open.
    open: Vec<Vec<u8>>,
    draft: Option<Draft>,
    track: Vec<Reading>,
    marks: Vec<Reading>,
}

impl Points {
    fn take(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(start) => {
                self.start(start);
                self.open.push(start.local_name().as_ref().to_vec());
            }
            Event::Empty(start) => {
                self.start(start);
                self.end(start.local_name().as_ref());
            }
            Event::End(end) => {
                self.open.pop();
                self.end(end.local_name().as_ref());
            }
            Event::Text(text) => self.text(text),
            Event::CData(text) => self.text(text),
            _ => {}
        }
    }

    fn start(&mut self, start: &BytesStart<'_>) {
        if is_point(start.local_name().as_ref()) {
            let coordinate = |name: &str| {
                let attribute = start.try_get_attribute(name).ok()??;
                number(std::str::from_utf8(&attribute.value).ok()?)
            };
            let place = coordinate("lat").zip(coordinate("lon"));
            self.draft = Some(Draft {
                place: place.map(|(latitude, longitude)| Place { latitude, longitude }),
                time: String::new(),
                speed: String::new(),
                course: String::new(),
                elevation: String::new(),
            });
        }
    }

    fn text(&mut self, bytes: &[u8]) {
        let (Some(draft), [.., parent, element]) = (&mut self.draft, self.open.as_slice()) else { return };
        let field = match element.as_slice() {
            b"time" if is_point(parent) => &mut draft.time,
            b"ele" if is_point(parent) => &mut draft.elevation,
            // In GPX 1.1 these two live in an extension, however deep.
            b"speed" => &mut draft.speed,
            b"course" => &mut draft.course,
            _ => return,
        };
        field.push_str(&String::from_utf8_lossy(bytes));
    }

    fn end(&mut self, name: &[u8]) {
        if !is_point(name) {
            return;
        }
        let Some(draft) = self.draft.take() else { return };
        let list = if name == b"trkpt" { &mut self.track } else { &mut self.marks };
        list.push(draft.point().map(|point| TracePoint { vehicle: None, point }));
    }

    fn finish(self) -> Vec<Reading> {
        if self.track.iter().all(|reading| matches!(reading, Err(Skip::BadMarkup))) {
            return self.marks.into_iter().chain(self.track).collect();
        }
        let marks = self.marks.iter().map(|_| Err(Skip::Waypoint));
        self.track.into_iter().chain(marks).collect()
    }
}

impl Draft {
    fn point(&self) -> Result<Point, Skip> {
        let time = self.time.trim();
        if time.is_empty() {
            return Err(Skip::NoTime);
        }
        let recorded_at = Timestamp::parse(time).or_else(|_| Timestamp::parse(&format!("{time}Z")));
        let mut point =
            Point::new(recorded_at.map_err(|_| Skip::BadTime)?, self.place.ok_or(Skip::BadCoordinates)?);
        point.speed_kmh = number(&self.speed).map(|metres_per_second| metres_per_second * 3.6);
        point.heading_degrees = number(&self.course);
        point.altitude_meters = number(&self.elevation);
        Ok(point)
    }
}

fn is_point(name: &[u8]) -> bool {
    matches!(name, b"trkpt" | b"wpt" | b"rtept")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn readings(content: &str) -> Vec<Reading> {
        read(content.as_bytes()).collect()
    }

    #[test]
    fn times_without_an_offset_are_utc_and_speed_is_metres_per_second() {
        let found = readings(
            r#"<gpx><trk><trkseg>
            <trkpt lat="52.330848" lon="5.541371"><ele>48.96</ele><time>2009-03-02T14:05:52</time><speed>1.2</speed></trkpt>
            <trkpt lon="9.992872" lat="57.011456"><time> 2015-12-11T15:43:13.994+01:00 </time></trkpt>
            </trkseg></trk></gpx>"#,
        );
        let first = found[0].as_ref().unwrap().point;
        assert_eq!(first.recorded_at, Timestamp::parse("2009-03-02T14:05:52Z").unwrap());
        assert_eq!((first.speed_kmh, first.altitude_meters), (Some(1.2 * 3.6), Some(48.96)));
        let second = found[1].as_ref().unwrap().point;
        assert_eq!(second.recorded_at, Timestamp::parse("2015-12-11T14:43:13.994Z").unwrap());
        assert_eq!(second.place, Place::new(57.011456, 9.992872));
    }

    #[test]
    fn a_point_without_a_time_is_skipped_and_metadata_times_are_not_its_own() {
        let found = readings(
            r#"<gpx><time>2010-08-06T10:36:35Z</time><trk><trkseg/><trkseg>
            <trkpt lat="45.1" lon="14.2"><ele>10</ele></trkpt><trkpt lat="x" lon="1"><time>2010-08-06T10:36:35Z</time></trkpt>
            <trkpt lat="1" lon="1"><time>never</time></trkpt></trkseg></trk></gpx>"#,
        );
        assert_eq!(found, [Err(Skip::NoTime), Err(Skip::BadCoordinates), Err(Skip::BadTime)]);
    }

    #[test]
    fn waypoints_count_only_where_there_is_no_track() {
        let mark = "<wpt lat='43.309634' lon='3.515386'><time>2016-05-27T10:08:47.8Z</time>\
            <extensions><a:time xmlns:a='x'>12</a:time></extensions></wpt>";
        let alone = readings(&format!("\u{feff}<?xml version='1.0'?><gpx>{mark}</gpx>"));
        assert_eq!(alone.len(), 1);
        assert_eq!(alone[0].as_ref().unwrap().point.place, Place::new(43.309634, 3.515386));
        let track =
            "<trk><trkseg><trkpt lat='1' lon='2'><time>2016-05-27T10:08:47Z</time></trkpt></trkseg></trk>";
        let both = readings(&format!("<gpx>{mark}{track}</gpx>"));
        assert!(both[0].is_ok());
        assert_eq!(both[1], Err(Skip::Waypoint));
    }

    #[test]
    fn a_file_that_breaks_off_keeps_what_came_before() {
        let whole = "<gpx><trk><trkseg><trkpt lat='1' lon='2'><time>2016-05-27T10:08:47Z</time></trkpt>";
        for rest in ["<trkpt lat='1", "<trkpt lat='1' lon='2'>", "</gpx>"] {
            let found = readings(&format!("{whole}{rest}"));
            assert!(found[0].is_ok(), "{rest}");
            assert_eq!(found[1..], [Err(Skip::BadMarkup)], "{rest}");
        }
    }
}
