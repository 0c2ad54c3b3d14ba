//! What a store holds of one vehicle, in memory, by the rules of `TrackStore::commit`.

mod fuel;

use std::collections::BTreeMap;
use std::ops::Bound;

use waypost_actors::fuel::FuelRow;
use waypost_actors::geofence::{FenceTimeline, GeoBox};
use waypost_actors::model::{Event, EventId, EventStatus, Fix, Merged, Origin, Place, Timestamp, VisitId};
use waypost_actors::ports::{Committed, Counts};
use waypost_actors::tracking::{
    Checkpoint, Context, Correction, DryRun, Effects, Freshness, Mark, NearSpan, PositionRow, Quarantine,
    Record, RecordKind, RecordView, Slice, StoredFix, Stretch, VehicleState, VisitRow, apply, by_rank,
    catch_up, diff,
};

/// The key by which a stored fix is recognized.
pub(crate) type Key = (Timestamp, u64, u64);

pub(crate) fn key(fix: &Fix) -> Key {
    (fix.recorded_at, fix.place.latitude.to_bits(), fix.place.longitude.to_bits())
}

/// The books of one vehicle.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) fixes: BTreeMap<Key, StoredFix>,
    pub(crate) records: BTreeMap<EventId, Record>,
    pub(crate) visits: BTreeMap<VisitId, VisitRow>,
    pub(crate) checkpoints: BTreeMap<Timestamp, VehicleState>,
    pub(crate) mark: Option<Mark>,
    pub(crate) state: VehicleState,
    pub(crate) fuel_rows: BTreeMap<Timestamp, FuelRow>,
    /// What must never happen.
    pub(crate) wrong: Vec<String>,
}

impl Ledger {
    /// One write, in a transaction of its own.
    pub(crate) fn write(
        &mut self,
        effects: &Effects,
        state: &VehicleState,
        next_sequence: &mut i64,
    ) -> Committed {
        let mut counts = Counts::default();
        for row in &effects.rows {
            self.write_row(row, state, &mut counts);
        }
        for fix in &effects.confirmed {
            self.set_quarantine(fix, None);
        }
        let mut told: Vec<Record> = Vec::new();
        for record in &effects.records {
            let earlier = told.iter().position(|told| told.id == record.id);
            if let Some(record) = self.news(record, earlier.map(|earlier| &told[earlier])) {
                earlier.map(|earlier| told.remove(earlier));
                told.push(record);
            }
        }
        let is_told = |visit: &&VisitRow| told.iter().any(|record| record.id == visit.record());
        self.put_visits(&effects.visits.iter().filter(is_told).copied().collect::<Vec<_>>());
        for Checkpoint { at, state } in &effects.checkpoints {
            self.checkpoints.insert(*at, state.clone());
        }
        if let Some(late) = effects.late {
            self.dirty(late);
        }
        if let Some(correction) = &effects.correction {
            told.extend(self.correct(correction));
        }
        for record in &mut told {
            record.sequence = *next_sequence;
            *next_sequence += 1;
            self.records.insert(record.id, record.clone());
        }
        self.write_fuel(effects);
        self.state = state.clone();
        Committed {
            counts,
            records: told,
            dirty_from: self.mark.map(|mark| mark.from),
            ..Committed::default()
        }
    }

    fn write_row(&mut self, row: &PositionRow, state: &VehicleState, counts: &mut Counts) {
        let late = row.freshness == Freshness::Recheck { late: true };
        let mark = Mark::of_fix(row.fix.recorded_at);
        let has_fuel =
            state.fuel.is_some() || row.fix.has_fuel() || row.fix.recorded_at <= state.corrected_to;
        let may_count = (has_fuel || row.fix.ignition.is_some()) && row.freshness != Freshness::Repeat;
        let Some(stored) = self.fixes.get_mut(&key(&row.fix)) else {
            if row.freshness == Freshness::Repeat {
                self.wrong.push(format!("called a repetition and is not stored: {row:?}"));
            }
            let PositionRow { fix, quarantine, ref attributes, .. } = *row;
            self.fixes.insert(key(&fix), StoredFix { fix, quarantine, attributes: attributes.clone() });
            counts.stored += 1;
            if late {
                self.dirty(mark);
            }
            return;
        };
        counts.duplicates += 1;
        if let Some(more) = &row.attributes {
            let whole = stored.attributes.as_ref().map_or_else(|| more.clone(), |known| known.merge(more));
            stored.attributes = Some(whole);
        }
        if row.freshness == Freshness::Fresh {
            self.wrong.push(format!("called new and is stored: {row:?}"));
        }
        let doubtful = matches!(stored.quarantine, Some(Quarantine::Future | Quarantine::Accuracy));
        let not_so_now = doubtful && matches!(row.quarantine, None | Some(Quarantine::Speed));
        let changes = match stored.fix.merge(&row.fix) {
            Merged::Same => false,
            Merged::Unjudged => may_count,
            Merged::Judged => true,
        };
        if changes || not_so_now {
            self.dirty(mark);
        }
    }

    fn dirty(&mut self, mark: Mark) {
        self.mark = Some(self.mark.map_or(mark, |known| known.merge(mark)));
    }

    fn set_quarantine(&mut self, fix: &Fix, quarantine: Option<Quarantine>) {
        match self.fixes.get_mut(&key(fix)) {
            Some(stored) if stored.quarantine != Some(Quarantine::Future) => stored.quarantine = quarantine,
            Some(_) => {}
            None => self.wrong.push(format!("judged and not stored: {fix:?}")),
        }
    }

    /// A record of the live path, unless it is active already. `earlier`: those of the same write.
    fn news(&self, record: &Record, earlier: Option<&Record>) -> Option<Record> {
        let stored = self.records.get(&record.id);
        let revision = stored.map_or(1, |stored| stored.revision + 1);
        let is_news = earlier.or(stored).is_none_or(|known| record.supersedes(known));
        is_news.then(|| Record { revision, ..record.clone() })
    }

    /// An exit goes only with its record: it may belong to a part that stands.
    fn put_visits(&mut self, visits: &[VisitRow]) {
        for visit in visits {
            let known = self.visits.get(&visit.id).and_then(|known| known.exit);
            self.visits.insert(visit.id, VisitRow { exit: visit.exit.or(known), ..*visit });
        }
    }

    fn correct(&mut self, correction: &Correction) -> Vec<Record> {
        let asked =
            |record: &&Record| correction.record_ids(record.vehicle_id).any(|asked| asked == record.id);
        let in_part =
            |record: &&Record| record.status == EventStatus::Active && correction.covers(record.confirmed_at);
        let stored: Vec<Record> =
            self.records.values().filter(|record| asked(record) || in_part(record)).cloned().collect();
        let difference = diff(&stored, correction);
        for record in &difference.moved {
            self.records.insert(record.id, record.clone());
        }
        let mut holds = self.active();
        for record in &difference.changed {
            holds.insert(record.id, record.clone());
        }
        holds.retain(|_, record| record.status == EventStatus::Active);
        for id in &difference.undone {
            let Some(visit) = self.visits.remove(id) else { continue };
            let Some(entry) = holds.get(&visit.entry_event_id) else { continue };
            let ends = |record: &&Record| {
                record.kind() == RecordKind::Exit && record.geofence().is_some_and(|of| of.visit_id == *id)
            };
            let exit = holds.values().find(ends).map(|exit| (exit.id, exit.occurred_at));
            self.visits.insert(*id, VisitRow { entered_at: entry.occurred_at, exit, ..visit });
        }
        self.put_visits(&correction.visits);
        for (fix, quarantine) in &correction.quarantines {
            self.set_quarantine(fix, *quarantine);
        }
        self.checkpoints.retain(|at, _| !correction.covers(*at));
        for Checkpoint { at, state } in &correction.checkpoints {
            self.checkpoints.insert(*at, state.clone());
        }
        if let (Some(adjustment), Some(until)) = (&correction.adjustment, correction.until) {
            let behind = self.checkpoints.range_mut((Bound::Excluded(until), Bound::Unbounded));
            behind.map_while(|(_, state)| adjustment.apply(state).then_some(())).for_each(drop);
        }
        self.mark = correction.dirty;
        difference.changed
    }

    /// The next part that awaits a correction, of about `limit` fixes.
    pub(crate) fn slice(&self, limit: usize) -> Option<Slice> {
        let mark = self.mark?;
        let checkpoint = self.checkpoints.range(..mark.from).next_back();
        let after = checkpoint.map_or(Timestamp::MIN, |(at, _)| *at);
        let behind = self
            .fixes
            .values()
            .filter(|stored| stored.fix.recorded_at > after && stored.quarantine != Some(Quarantine::Future));
        let behind: Vec<StoredFix> = behind.cloned().collect();
        let last = behind.get(limit.max(1) - 1).map_or(Timestamp::MAX, |stored| stored.fix.recorded_at);
        let fixes: Vec<StoredFix> =
            behind.iter().filter(|stored| stored.fix.recorded_at <= last).cloned().collect();
        let is_last = fixes.len() == behind.len();
        let reach = if is_last { Timestamp::MAX } else { last };
        let kept = |(at, state): (&Timestamp, &VehicleState)| Checkpoint { at: *at, state: state.clone() };
        let checkpoints = self.checkpoints.iter().filter(|(at, _)| **at > after && **at <= reach);
        let mut checkpoint = checkpoint.map(kept);
        for fix in checkpoint.iter_mut().flat_map(|checkpoint| checkpoint.state.fixes_mut()) {
            *fix = self.fixes[&key(fix)].fix;
        }
        Some(Slice { mark, checkpoint, checkpoints: checkpoints.map(kept).collect(), fixes, is_last })
    }

    /// The part of the timeline after an instant that a fence may have to do with.
    pub(crate) fn near_span(&self, fence: &FenceTimeline, from: Timestamp) -> Option<NearSpan> {
        let counts =
            self.fixes.values().filter(|stored| stored.quarantine.is_none()).map(|stored| stored.fix);
        let instants: BTreeMap<Timestamp, Vec<Place>> = counts.fold(BTreeMap::new(), |mut instants, fix| {
            instants.entry(fix.recorded_at).or_insert_with(Vec::new).push(fix.place);
            instants
        });
        let begin = instants.range(..from).rev().take(2).last().map_or(from, |(at, _)| *at);
        let stretch = |(at, places): (&Timestamp, &Vec<Place>)| Stretch {
            began_at: *at,
            ended_at: *at,
            area: GeoBox::around(places.iter().copied()),
        };
        NearSpan::of(fence, from, instants.range(begin..).map(stretch))
    }

    /// The active records, by id.
    pub(crate) fn active(&self) -> BTreeMap<EventId, Record> {
        let active = self.records.values().filter(|record| record.status == EventStatus::Active);
        active.map(|record| (record.id, record.clone())).collect()
    }

    /// The law: the active records are what in-order input makes of the stored fixes, with every fence version and
    /// time out of service known from the beginning. Returns the effects of that.
    pub(crate) fn keeps_the_law(&self, context: &Context<'_>) -> Effects {
        assert!(self.wrong.is_empty(), "{:#?}", self.wrong);
        let mut fixes: Vec<Fix> = self.fixes.values().map(|stored| stored.fix).collect();
        fixes.sort_by(by_rank);
        let (mut state, mut effects) = (VehicleState::default(), Effects::default());
        for fix in fixes {
            apply(&mut state, fix, context, &mut effects);
        }
        catch_up(&mut state, context, &mut effects);
        assert_eq!(plain(self.active().into_values()), plain(effects.records.iter().cloned()));
        assert!(self.state.agrees_with(&state), "{:?}\n{state:?}", self.state);
        let mut visits: BTreeMap<VisitId, VisitRow> = BTreeMap::new();
        visits.extend(effects.visits.iter().map(|visit| (visit.id, *visit)));
        assert_eq!(self.visits, visits);
        self.dry_runs_make_the_same(context, visits.into_values());
        let mut quarantines: BTreeMap<Key, _> =
            effects.rows.iter().map(|row| (key(&row.fix), row.quarantine)).collect();
        quarantines.extend(effects.confirmed.iter().map(|fix| (key(fix), None)));
        let stored = self.fixes.iter().map(|(key, stored)| (*key, stored.quarantine)).collect();
        assert_eq!(quarantines, stored);
        self.keeps_the_law_of_fuel(&effects);
        effects
    }

    /// Fixes that are read in pieces, by instant, make the same stays.
    fn dry_runs_make_the_same(&self, context: &Context<'_>, visits: impl Iterator<Item = VisitRow>) {
        let mut run = DryRun::default();
        let fixes: Vec<Fix> = self.fixes.values().map(|stored| stored.fix).collect();
        for piece in fixes.chunks(3) {
            run.judge(piece.to_vec(), context);
        }
        run.settle(context.detected_at, context);
        let mut stays = run.stays().to_vec();
        stays.sort_unstable();
        let mut expected: Vec<_> =
            visits.map(|visit| (visit.entered_at, visit.exit.map(|(_, at)| at))).collect();
        expected.sort_unstable();
        assert_eq!(stays, expected);
    }
}

/// Records without the members that say how and when they were found.
fn plain(records: impl Iterator<Item = Record>) -> BTreeMap<EventId, Record> {
    let plain = |record: Record| Record {
        sequence: 0,
        revision: 0,
        origin: Origin::Live,
        detected_at: Timestamp::FIRST,
        ..record
    };
    records.map(|record| (record.id, plain(record))).collect()
}

/// The geofence events among some records, as clients see them.
pub(crate) fn geofence_events<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<Event> {
    records.into_iter().filter_map(|record| RecordView::from(record).geofence()).collect()
}
