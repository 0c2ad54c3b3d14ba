//! Expected events, and how they compare with what a server stored. Pure.

use std::collections::HashMap;
use std::fmt::Write;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use waypost_actors::model::Timestamp;

/// How many differences are shown.
const SHOWN: usize = 20;

/// Numbers for names.
#[derive(Debug, Default)]
pub(super) struct Names {
    numbers: HashMap<String, u32>,
    names: Vec<String>,
}

impl Names {
    /// The number of a name; a new one if it has none yet.
    pub(super) fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.numbers.insert(name.to_owned(), number);
        self.names.push(name.to_owned());
        number
    }

    /// The name behind a number of [`Self::number`].
    #[must_use]
    pub(super) fn name(&self, number: u32) -> &str {
        &self.names[number as usize]
    }
}

/// An entry or exit, as far as two engines must agree on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    /// When the first fix on the new side was recorded, milliseconds: all that the interface writes.
    pub recorded_millis: i64,
    /// The vehicle.
    pub vehicle: u32,
    /// The fence.
    pub fence: u32,
    /// Entry or exit.
    pub entry: bool,
    latitude_bits: u64,
    longitude_bits: u64,
    /// Everything else that a record says, if the list of expected events has it.
    pub digest: Option<u64>,
}

impl Key {
    /// A key from what a record says.
    #[must_use]
    pub(super) fn new(
        vehicle: u32,
        fence: u32,
        entry: bool,
        recorded_at: Timestamp,
        place: (f64, f64),
    ) -> Self {
        // Adding zero turns -0 into 0.
        let (latitude_bits, longitude_bits) = ((place.0 + 0.0).to_bits(), (place.1 + 0.0).to_bits());
        let recorded_millis = recorded_at.as_millis();
        Self { recorded_millis, vehicle, fence, entry, latitude_bits, longitude_bits, digest: None }
    }

    /// The key without its digest.
    #[must_use]
    pub(super) const fn plain(self) -> Self {
        Self { digest: None, ..self }
    }

    fn describe(&self, names: &Names) -> String {
        self.row(names).join(",")
    }

    fn row(&self, names: &Names) -> [String; 6] {
        [
            names.name(self.vehicle).to_owned(),
            names.name(self.fence).to_owned(),
            if self.entry { "entry" } else { "exit" }.to_owned(),
            Timestamp::from_micros(self.recorded_millis * 1000).to_string(),
            f64::from_bits(self.latitude_bits).to_string(),
            f64::from_bits(self.longitude_bits).to_string(),
        ]
    }
}

/// Reads expected events: CSV with `vehicle,fence,kind,recorded_at,lat,lon`, kinds `enter` (or `entry`)
/// and `exit`; a column `digest` if the list was saved by a run.
pub(super) fn read(content: &[u8], names: &mut Names) -> Result<Vec<Key>> {
    let mut reader = csv::Reader::from_reader(content);
    let header = reader.headers()?.clone();
    let column = |name: &str| {
        header.iter().position(|found| found == name).with_context(|| format!("no column {name}"))
    };
    let [vehicle, fence, kind] = [column("vehicle")?, column("fence")?, column("kind")?];
    let [recorded_at, lat, lon] = [column("recorded_at")?, column("lat")?, column("lon")?];
    let digest = header.iter().position(|found| found == "digest");
    let mut keys = Vec::new();
    for row in reader.records() {
        let row = row?;
        let entry = match &row[kind] {
            "enter" | "entry" => true,
            "exit" => false,
            other => bail!("line {}: no kind of event: {other}", keys.len() + 2),
        };
        let instant = Timestamp::parse(&row[recorded_at])?;
        let place = (row[lat].parse()?, row[lon].parse()?);
        let key = Key::new(names.number(&row[vehicle]), names.number(&row[fence]), entry, instant, place);
        let digest = digest.map(|column| u64::from_str_radix(&row[column], 16)).transpose()?;
        keys.push(Key { digest, ..key });
    }
    Ok(keys)
}

/// Writes events as [`read`] reads them, in order.
pub(super) fn write(keys: impl Iterator<Item = Key>, names: &Names) -> Result<Vec<u8>> {
    let mut keys: Vec<Key> = keys.collect();
    keys.sort_unstable();
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(["vehicle", "fence", "kind", "recorded_at", "lat", "lon", "digest"])?;
    for key in keys {
        let digest = key.digest.map(|digest| format!("{digest:016x}")).unwrap_or_default();
        writer.write_record(key.row(names).into_iter().chain([digest]))?;
    }
    Ok(writer.into_inner()?)
}

/// How a server's events compare with the expected ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Comparison {
    /// Events expected.
    pub expected: usize,
    /// Events found.
    pub found: usize,
    /// Expected and not found.
    pub missing: usize,
    /// Found and not expected.
    pub unexpected: usize,
    /// Found once too often.
    pub doubled: usize,
    /// The first differences, oldest first: what it is, then as in the list of expected events.
    pub differences: Vec<String>,
}

impl Comparison {
    /// Whether all of them were found, and nothing else.
    #[must_use]
    pub const fn agrees(&self) -> bool {
        self.missing + self.unexpected + self.doubled == 0
    }
}

/// Compares two lists as sets; repetitions in `found` count as doubled.
#[must_use]
pub(super) fn compare(expected: &[Key], found: &[Key], names: &Names) -> Comparison {
    let (mut want, mut have) = (expected.to_vec(), found.to_vec());
    want.sort_unstable();
    want.dedup();
    have.sort_unstable();
    let mut comparison = Comparison { expected: expected.len(), found: found.len(), ..Comparison::default() };
    let (mut w, mut h) = (0, 0);
    while w < want.len() || h < have.len() {
        let (kind, key) = match (want.get(w), have.get(h)) {
            (Some(a), Some(b)) if a == b => {
                (w, h) = (w + 1, h + 1);
                while have.get(h) == Some(a) {
                    h += 1;
                    comparison.doubled += 1;
                    note(&mut comparison, "doubled", a, names);
                }
                continue;
            }
            (Some(a), b) if b.is_none_or(|b| a < b) => {
                w += 1;
                comparison.missing += 1;
                ("missing", a)
            }
            (_, Some(b)) => {
                h += 1;
                comparison.unexpected += 1;
                ("unexpected", b)
            }
            (_, None) => break,
        };
        note(&mut comparison, kind, key, names);
    }
    comparison
}

fn note(comparison: &mut Comparison, kind: &str, key: &Key, names: &Names) {
    if comparison.differences.len() < SHOWN {
        let mut line = format!("{kind:<10} ");
        let _ = write!(line, "{}", key.describe(names));
        comparison.differences.push(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "vehicle,fence,kind,recorded_at,lat,lon\n\
        5020,circle-060,enter,2016-03-23T00:24:35Z,30.280704,-97.740814\n\
        5020,circle-060,exit,2016-03-23T00:26:35Z,30.281,-97.74\n\
        5021,hood-zilker,enter,2016-03-23T00:24:35Z,30.3,-97.7\n";

    fn keys() -> (Names, Vec<Key>) {
        let mut names = Names::default();
        let keys = read(LIST.as_bytes(), &mut names).unwrap();
        (names, keys)
    }

    #[test]
    fn the_same_events_in_another_order_agree() {
        let (names, keys) = keys();
        let found: Vec<Key> = keys.iter().rev().copied().collect();
        let comparison = compare(&keys, &found, &names);
        assert!(comparison.agrees());
        assert_eq!((comparison.expected, comparison.found), (3, 3));
        assert!(comparison.differences.is_empty());
    }

    #[test]
    fn what_is_missing_unexpected_or_doubled_is_counted_and_shown() {
        let (mut names, keys) = keys();
        let place = (30.280704, -97.740814);
        let instant = Timestamp::parse("2016-03-23T00:24:35Z").unwrap();
        let stranger = Key::new(names.number("5020"), names.number("hood-zilker"), true, instant, place);
        let comparison = compare(&keys, &[keys[0], keys[2], stranger, keys[0], keys[0]], &names);
        assert_eq!((comparison.missing, comparison.unexpected, comparison.doubled), (1, 1, 2));
        assert!(!comparison.agrees());
        let shown = comparison.differences.join("\n");
        assert!(
            shown.contains("missing    5020,circle-060,exit,2016-03-23T00:26:35.000Z,30.281,-97.74"),
            "{shown}"
        );
        assert!(shown.contains("unexpected 5020,hood-zilker,entry"), "{shown}");
    }

    #[test]
    fn each_part_of_an_event_counts() {
        let mut names = Names::default();
        let [a, b] = [names.number("a"), names.number("b")];
        let at = |text: &str| Timestamp::parse(text).unwrap();
        let key = Key::new(a, b, true, at("2026-01-01T00:00:00Z"), (1.0, 2.0));
        let others = [
            Key::new(b, b, true, at("2026-01-01T00:00:00Z"), (1.0, 2.0)),
            Key::new(a, a, true, at("2026-01-01T00:00:00Z"), (1.0, 2.0)),
            Key::new(a, b, false, at("2026-01-01T00:00:00Z"), (1.0, 2.0)),
            Key::new(a, b, true, at("2026-01-01T00:00:00.001Z"), (1.0, 2.0)),
            Key::new(a, b, true, at("2026-01-01T00:00:00Z"), (1.000001, 2.0)),
            Key::new(a, b, true, at("2026-01-01T00:00:00Z"), (1.0, 2.000001)),
        ];
        for other in others {
            let comparison = compare(&[key], &[other], &names);
            assert_eq!((comparison.missing, comparison.unexpected), (1, 1), "{other:?}");
        }
    }

    #[test]
    fn what_is_written_is_read_again_with_its_digests() {
        let (names, mut keys) = keys();
        for (index, key) in keys.iter_mut().enumerate() {
            key.digest = Some(u64::MAX - index as u64);
        }
        let text = write(keys.iter().copied(), &names).unwrap();
        let mut names = Names::default();
        let again = read(&text, &mut names).unwrap();
        keys.sort_unstable();
        assert_eq!(
            again.iter().map(|key| key.digest).collect::<Vec<_>>(),
            keys.iter().map(|key| key.digest).collect::<Vec<_>>()
        );
        assert!(compare(&again, &again, &names).agrees());
        let other = Key { digest: Some(1), ..again[0] };
        assert!(!compare(&again[..1], &[other], &names).agrees());
    }

    #[test]
    fn a_list_with_a_strange_kind_is_refused() {
        let text = "vehicle,fence,kind,recorded_at,lat,lon\na,b,dwell,2016-03-23T00:24:35Z,1,2\n";
        assert!(read(text.as_bytes(), &mut Names::default()).is_err());
    }
}
