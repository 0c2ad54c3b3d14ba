//! The law of late data: in whatever order fixes, fence versions and times out of service arrive, and however
//! often, the result is what in-order input with everything known would have made.

use std::collections::BTreeMap;

use proptest::prelude::*;
use waypost_actors::geofence::{FenceSet, FenceTimeline};
use waypost_actors::model::{
    Calibration, EventKind, Fence, FenceVersion, Fix, Origin, Place, Rules, Timestamp, Vehicle, VehicleId,
    VehicleLimits,
};
use waypost_actors::tracking::{
    Applied, Context, Effects, Freshness, Mark, Meanwhile, NearSpan, Slice, VehicleState, apply, by_rank,
    catch_up, correct, replay, settle_change,
};

use crate::fences::{any_rules, fences};
use crate::ledger::Ledger;
use crate::ledger::geofence_events;
use crate::properties::told;
use crate::script::at;
use crate::timelines::{Dated, Drawn, FixReport, Step, THE_END, changes, schedule, tracks};

/// A vehicle, its fences, and its stored data.
pub(crate) struct Life {
    pub(crate) vehicle: Vehicle,
    fences: Vec<Fence>,
    set: FenceSet,
    now: Timestamp,
    state: VehicleState,
    pub(crate) ledger: Ledger,
    next_sequence: i64,
    /// The number of writes after which the state is kept.
    keeps: usize,
    writes: usize,
    /// How many fixes the corrections at the end read at once.
    pub(crate) slice: usize,
    correcting: Option<(Slice, Meanwhile, usize)>,
    /// Where each correction ended; `None` at the present.
    pub(crate) corrected: Vec<Option<Timestamp>>,
    /// The state as last stored, and what was applied since.
    stored: (VehicleState, Vec<Applied>),
}

impl Life {
    pub(crate) fn new(fences: &[Fence], max_speed_kmh: Option<f64>, keeps: usize) -> Self {
        let fences = fences.to_vec();
        let vehicle = Vehicle {
            id: VehicleId(uuid::Uuid::from_u128(2)),
            organization_id: fences[0].organization_id,
            name: "V".into(),
            limits: VehicleLimits {
                max_speed_kmh,
                max_accuracy_meters: Some(200.0),
                overspeed_kmh: Some(100.0),
            },
            out_of_service: vec![],
            calibrations: vec![Calibration::new(1, None, Some(60.0), None)],
        };
        Self {
            vehicle,
            set: prepared(&fences),
            fences,
            now: at(0.0),
            state: VehicleState::default(),
            ledger: Ledger::default(),
            next_sequence: 1,
            keeps,
            writes: 0,
            slice: 3,
            correcting: None,
            corrected: Vec::new(),
            stored: (VehicleState::default(), Vec::new()),
        }
    }

    fn context(&self) -> Context<'_> {
        Context { vehicle: &self.vehicle, fences: &self.set, detected_at: self.now }
    }

    /// One step of the live path, written at once.
    fn run(&mut self, step: impl FnOnce(&mut VehicleState, &Context<'_>, &mut Effects)) {
        let (mut state, mut effects) = (self.state.clone(), Effects::default());
        step(&mut state, &self.context(), &mut effects);
        if let Some((_, meanwhile, _)) = &mut self.correcting {
            let rechecked =
                effects.rows.iter().filter(|row| matches!(row.freshness, Freshness::Recheck { .. }));
            let marks = rechecked.map(|row| Mark::of_fix(row.fix.recorded_at)).chain(effects.late);
            meanwhile.late = marks.chain(meanwhile.late).reduce(Mark::merge);
        }
        self.state = state;
        self.write(&effects);
    }

    fn write(&mut self, effects: &Effects) {
        let mark = self.ledger.mark;
        self.ledger.write(effects, &self.state, &mut self.next_sequence);
        self.log(effects, self.ledger.mark != mark);
        self.writes += 1;
        let is_newer = self.state.newest() > self.state.corrected_to;
        if self.writes.is_multiple_of(self.keeps) && effects.correction.is_none() && is_newer {
            self.state.unsaved = 0;
            self.stored = (self.state.clone(), Vec::new());
            self.ledger.checkpoints.insert(self.state.newest(), self.state.clone());
        }
    }

    /// As the store does: effects other than a plain report are stored with their state, and so is one of which it found that
    /// something is late; a server that starts now finds the state.
    fn log(&mut self, effects: &Effects, was_late: bool) {
        let (stored, log) = &mut self.stored;
        if effects.rows.is_empty() || effects.late.is_some() || was_late {
            (*stored, *log) = (self.state.clone(), Vec::new());
        } else {
            let (rows, records) = (effects.rows.to_vec(), effects.records.len());
            log.push(Applied { judged_at: self.now, rows, records });
        }
        let (mut state, log) = self.stored.clone();
        for applied in &log {
            assert!(replay(&mut state, applied, &self.context()), "it came to something else: {applied:#?}");
        }
        assert_eq!(state, self.state);
    }

    pub(crate) fn through(&mut self, schedule: &[(f64, Step)]) {
        for (seconds, step) in schedule {
            self.now = at(*seconds);
            self.step(step);
            if let Some((_, _, waits)) = &mut self.correcting {
                *waits = waits.saturating_sub(1);
                if *waits == 0 {
                    self.end_correction();
                }
            }
        }
        self.end_correction();
        self.now = at(THE_END);
        self.run(catch_up);
        let mut steps = 0;
        while self.ledger.mark.is_some() {
            self.begin_correction(self.slice, 0);
            self.end_correction();
            steps += 1;
            assert!(steps < 1_000, "no end of corrections: {:?}", self.ledger.mark);
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Report(fixes) => {
                let mut fixes = fixes.clone();
                fixes.sort_by(by_rank);
                if let Some((_, meanwhile, _)) = &mut self.correcting {
                    meanwhile.fixes.extend(&fixes);
                }
                self.run(|state, context, effects| {
                    for fix in fixes {
                        apply(state, fix, context, effects);
                    }
                    catch_up(state, context, effects);
                });
            }
            Step::Change { .. } => self.change(step),
            Step::Calibrate { liters, dated } => {
                let (number, from) = (self.vehicle.calibrations.len() as i64 + 1, self.dated(*dated));
                let tank = Calibration::new(number, from, Some(f64::from(*liters)), None);
                self.vehicle.calibrations.push(tank);
                self.settle(from.unwrap_or(Timestamp::FIRST));
            }
            Step::TakesEffect(from) => self.settle(*from),
            Step::Out => {
                if self.vehicle.out_since().is_none() {
                    let now = self.now;
                    self.vehicle.out_of_service.push((now, None));
                    self.settle(now);
                }
            }
            Step::Back => {
                let now = self.now;
                if let Some((from, to @ None)) = self.vehicle.out_of_service.last_mut()
                    && *from < now
                {
                    *to = Some(now);
                    self.settle(now);
                }
            }
            Step::Correct { fixes, waits } => {
                if self.correcting.is_none() {
                    self.begin_correction(*fixes, *waits);
                }
            }
        }
    }

    fn change(&mut self, change: &Step) {
        let Step::Change { fence, shape, active, deleted, rules, dated } = change else { return };
        let effective_from = self.dated(*dated);
        let number = fence % self.fences.len();
        let fence = &mut self.fences[number];
        if fence.versions.iter().any(|version| version.deleted) {
            return;
        }
        fence.versions.push(FenceVersion {
            version: fence.versions.len() as i64 + 1,
            effective_from,
            changed_at: self.now,
            active: *active && !deleted,
            deleted: *deleted,
            shape: shape.clone(),
            rules: *rules,
        });
        let fence = FenceTimeline::prepare(fence);
        self.set = prepared(&self.fences);
        // As the core does for a change of long ago.
        let from = effective_from.unwrap_or(Timestamp::FIRST);
        let is_there = self.state.stay(fence.id).is_some()
            || self.state.last.is_some_and(|last| fence.newest().shape.covers(last.place));
        let near = self.ledger.near_span(&fence, from);
        if let Some(span) = near.or(is_there.then_some(NearSpan::since(from))) {
            self.settle_span(span);
        }
    }

    fn dated(&self, dated: Dated) -> Option<Timestamp> {
        match dated {
            Dated::Always => None,
            Dated::Back(by) => Some(self.now.plus_seconds(-f64::from(by))),
            Dated::Now => Some(self.now),
            Dated::Ahead(by) => Some(self.now.plus_seconds(f64::from(by))),
        }
    }

    fn settle(&mut self, from: Timestamp) {
        self.settle_span(NearSpan::since(from));
    }

    fn settle_span(&mut self, span: NearSpan) {
        self.run(|state, context, effects| settle_change(state, span, context, effects));
    }

    fn begin_correction(&mut self, fixes: usize, waits: usize) {
        self.correcting = self.ledger.slice(fixes).map(|slice| (slice, Meanwhile::default(), waits));
    }

    fn end_correction(&mut self) {
        let Some((slice, meanwhile, _)) = self.correcting.take() else { return };
        let corrected = correct(&slice, &meanwhile, &self.context());
        self.corrected.push(corrected.correction.until);
        self.state = corrected.live(&self.state);
        let effects = Effects { correction: Some(Box::new(corrected.correction)), ..Effects::default() };
        self.write(&effects);
    }

    pub(crate) fn keeps_the_law(&self) {
        let effects = self.ledger.keeps_the_law(&self.context());
        assert!(self.state.agrees_with(&self.ledger.state));
        let inside = told(&geofence_events(&effects.records));
        let held: BTreeMap<_, _> =
            self.state.open_stays().map(|stay| (stay.geofence_id, stay.visit_id)).collect();
        assert_eq!(held, inside);
        for fence in self.fences.iter().filter(|fence| fence.versions.iter().any(|v| v.deleted)) {
            assert!(!held.contains_key(&fence.id), "open on a deleted fence");
        }
    }
}

fn prepared(fences: &[Fence]) -> FenceSet {
    FenceSet::new(fences.iter().map(|fence| FenceTimeline::prepare(fence).into()).collect())
}

/// More cases than usual, or as many as `PROPTEST_CASES` if that is more.
fn thorough() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig { cases: usual.cases.max(400), failure_persistence: None, ..usual }
}

proptest! {
    #![proptest_config(thorough())]

    #[test]
    fn what_holds_in_the_end_is_what_in_order_input_makes(
        fences in fences(any_rules()),
        track in tracks(50),
        changes in changes(),
        together in 1_usize..6,
        keeps in 1_usize..12,
        max_speed_kmh in prop_oneof![Just(None), Just(Some(120.0)), Just(Some(250.0))],
    ) {
        let mut life = Life::new(&fences, max_speed_kmh, keeps);
        life.through(&schedule(&track, &changes, together));
        life.keeps_the_law();
    }

    #[test]
    fn any_permutation_of_a_track_makes_the_same_records(
        fences in fences(any_rules()),
        track in tracks(40),
        seed in any::<u64>(),
        together in 1_usize..9,
    ) {
        let on_time: Vec<Drawn> = track
            .iter()
            .map(|drawn| {
                let reports = drawn.reports.iter().map(|told| FixReport { late: 0, ..told.clone() }).collect();
                Drawn { reports, ..drawn.clone() }
            })
            .collect();
        let mut reports: Vec<Fix> = schedule(&on_time, &[], 1)
            .into_iter()
            .flat_map(|(_, step)| match step { Step::Report(fixes) => fixes, _ => vec![] })
            .collect();
        // A shuffle that depends on nothing but the seed.
        let mut state = seed | 1;
        for i in (1..reports.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            reports.swap(i, (state >> 33) as usize % (i + 1));
        }
        let steps: Vec<(f64, Step)> =
            reports.chunks(together).map(|some| (THE_END, Step::Report(some.to_vec()))).collect();
        let mut life = Life::new(&fences, Some(250.0), 5);
        life.through(&steps);
        life.keeps_the_law();
    }
}

/// How corrections appear: a late fix adds a visit, another one takes it apart.
#[test]
fn corrections_are_told_as_new_records_revisions_and_retractions() {
    let fences = vec![Fence {
        id: waypost_actors::model::GeofenceId(uuid::Uuid::from_u128(3)),
        organization_id: waypost_actors::model::OrganizationId(uuid::Uuid::from_u128(1)),
        name: "F".into(),
        versions: vec![crate::script::version(1, Rules::EXACT)],
    }];
    let mut life = Life::new(&fences, None, 1);
    let fix = |seconds: f64, east: f64| Fix::new(at(seconds), at(THE_END), Place::new(0.005, east / 1000.0));
    let mut report = |fixes: Vec<Fix>| {
        let first = life.next_sequence;
        life.through(&[(1_000.0, Step::Report(fixes))]);
        let mut told: Vec<_> = geofence_events(life.ledger.records.values())
            .iter()
            .filter(|event| event.sequence >= first)
            .map(|e| (e.occurred_at.seconds_since(at(0.0)), e.kind, e.revision, e.status.as_str(), e.origin))
            .collect();
        told.sort_by(|a, b| a.0.total_cmp(&b.0));
        told
    };
    let (entry, exit) = (EventKind::Entry, EventKind::Exit);
    let told = report(vec![fix(0.0, -5.0), fix(20.0, 5.0), fix(40.0, 15.0)]);
    assert_eq!(told, [(10.0, entry, 1, "active", Origin::Live), (30.0, exit, 1, "active", Origin::Live)]);
    // It was outside for longer: the same entry, later, and an exit from a shorter visit.
    let told = report(vec![fix(15.0, -5.0)]);
    assert_eq!(
        told,
        [(17.5, entry, 2, "active", Origin::Backfill), (30.0, exit, 2, "active", Origin::Backfill)]
    );
    // And it was in before that; the entry at 17.5 stays.
    let told = report(vec![fix(5.0, 5.0)]);
    assert_eq!(
        told,
        [(2.5, entry, 1, "active", Origin::Backfill), (10.0, exit, 1, "active", Origin::Backfill)]
    );
    // It came out later, and farther: of two places at one instant the lower longitude counts.
    let told = report(vec![fix(15.0, -5.0), fix(14.0, 5.0), fix(15.0, -6.0)]);
    assert_eq!(
        told,
        [
            (14.455, exit, 2, "active", Origin::Backfill),
            (17.727, entry, 3, "active", Origin::Backfill),
            (30.0, exit, 3, "active", Origin::Backfill),
        ]
    );
    // It was never in, except for a moment.
    let told = report(vec![fix(19.0, -5.0), fix(21.0, -5.0)]);
    assert_eq!(told[0].1, entry, "{told:?}");
    life.keeps_the_law();
}
