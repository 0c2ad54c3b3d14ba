//! What the records of a replay show about jitter, and whether visits cover what the fixes saw.

use std::collections::HashMap;
use std::fmt;

use waypost_actors::geofence::haversine_meters;
use waypost_actors::model::{Event, EventKind, Fix, GeofenceId, Place, Rules, Timestamp};
use waypost_actors::tracking::Effects;

use crate::replay::{Replay, events, judged};

/// The result of a replay.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Figures {
    pub(crate) entries: usize,
    pub(crate) exits: usize,
    /// Of the entries.
    pub(crate) inferred: usize,
    /// Exits followed by an entry into the same fence, no fix between them beyond the margin.
    pub(crate) jitter: usize,
    /// Those of them whose fixes on either side of the boundary are less than 30 m apart: it stood there.
    pub(crate) standing: usize,
    /// Exits followed by an entry with no fix between them: two chords of one way.
    pub(crate) between_chords: usize,
    /// Pairs of a judged fix and a fence that covers it.
    pub(crate) inside: usize,
    /// Those of them that no visit covers.
    pub(crate) uncovered: usize,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} entries ({} inferred), {} exits; {} exits back within the margin ({} standing), \
             {} between chords; {} fixes inside, {} of them in no visit",
            self.entries,
            self.inferred,
            self.exits,
            self.jitter,
            self.standing,
            self.between_chords,
            self.inside,
            self.uncovered
        )
    }
}

pub(crate) fn figures(replay: &Replay) -> Figures {
    let mut figures = Figures::default();
    for (_, effects) in &replay.effects {
        let fixes = judged(effects);
        for event in events(effects) {
            figures.entries += usize::from(event.kind == EventKind::Entry);
            figures.exits += usize::from(event.kind == EventKind::Exit);
            figures.inferred += usize::from(event.kind == EventKind::Entry && event.inferred);
        }
        excursions(replay, effects, &fixes, &mut figures);
        coverage(replay, effects, &fixes, &mut figures);
    }
    figures
}

/// Each exit and the entry into the same fence after it.
fn excursions(replay: &Replay, effects: &Effects, fixes: &[Fix], figures: &mut Figures) {
    let mut left: HashMap<GeofenceId, &Event> = HashMap::new();
    let events = events(effects);
    for event in &events {
        if event.kind == EventKind::Exit {
            left.insert(event.geofence_id, event);
        }
        if event.kind != EventKind::Entry {
            continue;
        }
        let Some(exit) = left.remove(&event.geofence_id) else { continue };
        // A passage enters before the fix it rests on, which is outside again.
        let from = fixes.partition_point(|fix| fix.recorded_at < exit.fix.recorded_at);
        let to = fixes.partition_point(|fix| fix.recorded_at < event.fix.recorded_at);
        let fence = replay.fences.get(event.geofence_id).expect("an event names a fence there is");
        let margin = Rules::default().exit_margin_meters;
        let beyond = |fix: &Fix| fence.newest().shape.is_farther_outside_than(fix.place, margin);
        figures.between_chords += usize::from(from == to);
        let is_jitter = from < to && !fixes[from..to].iter().any(beyond);
        let place = |event: &Event| Place::new(event.fix.latitude, event.fix.longitude);
        figures.jitter += usize::from(is_jitter);
        figures.standing += usize::from(is_jitter && haversine_meters(place(exit), place(event)) < 30.0);
    }
}

fn coverage(replay: &Replay, effects: &Effects, fixes: &[Fix], figures: &mut Figures) {
    let mut visits: HashMap<GeofenceId, Vec<(Timestamp, Timestamp)>> = HashMap::new();
    let mut places = HashMap::new();
    for visit in &effects.visits {
        let spans = visits.entry(visit.geofence_id).or_default();
        let at = *places.entry(visit.id).or_insert_with(|| {
            spans.push((visit.entered_at, Timestamp::MAX));
            spans.len() - 1
        });
        spans[at] = (visit.entered_at, visit.exit.map_or(Timestamp::MAX, |(_, at)| at));
    }
    for fix in fixes {
        replay.fences.for_each_near(fix.place, |near| {
            if near.fence.newest().shape.covers(fix.place) {
                figures.inside += 1;
                let spans = visits.get(&near.fence.id).map_or(&[][..], Vec::as_slice);
                // Visits of a fence follow one another.
                let last = spans.partition_point(|(entered, _)| *entered <= fix.recorded_at);
                let covered = last > 0 && spans[last - 1].1 >= fix.recorded_at;
                figures.uncovered += usize::from(!covered);
            }
        });
    }
}
