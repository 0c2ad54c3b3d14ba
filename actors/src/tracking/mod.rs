//! The tracking engine: `(vehicle state, fix or fence change) → (new state, effects)`.
//!
//! Owns acceptance, transitions and their records. A pure function: no clock, no I/O, no actor;
//! the same code serves live fixes, fence edits, restarts and tests.
//! The rules are those of docs/tracking.md; each module says which.

mod accept;
mod adjustment;
mod alert;
mod alert_detail;
mod alert_view;
mod analytics;
mod attributes;
mod change;
mod connection;
mod context;
mod correction;
mod crossing;
mod diff;
mod dry_run;
mod effects;
mod episode;
mod fuel;
mod future_spans;
mod identity;
mod journey;
mod judge;
mod leaving;
mod motion;
mod near_span;
mod overspeed;
mod overstay;
mod passage;
mod record;
mod record_kind;
mod record_view;
mod replay;
mod silence;
mod standstill;
mod state;
mod stay_check;
mod step;
mod timeline;
mod totals;
mod trip_view;
mod trips;

pub use accept::{MAX_CLOCK_AHEAD_SECONDS, Refusal, Reported, accept};
pub use adjustment::Adjustment;
pub use alert::license_expired;
pub use alert_detail::{AlertDetail, AlertRule};
pub use alert_view::{AlertEvent, AlertKind};
pub use analytics::Tally;
pub use attributes::apply_with;
pub use change::{catch_up, settle_change};
pub use connection::ConnectionChange;
pub use context::Context;
pub use correction::{Corrected, Meanwhile, Slice, StoredFix, checkpoint_at, correct};
pub use diff::{Difference, diff};
pub use dry_run::DryRun;
pub use effects::{Checkpoint, Correction, Effects, Freshness, Mark, PositionRow, Quarantine, VisitRow};
pub use episode::Overspeed;
pub use future_spans::FutureSpans;
pub use identity::alert_id;
pub use journey::Journey;
pub use motion::{MOVING_KMH, Trail};
pub use near_span::{NearSpan, Stretch};
pub use overstay::Overstay;
pub use record::{
    ConnectionDetail, Detail, FuelDetail, GeofenceDetail, OverspeedDetail, Record, TripDetail, TripKind,
};
pub use record_kind::RecordKind;
pub use record_view::{ConnectionEvent, OverspeedEvent, OverspeedKind, RecordView};
pub use replay::{Applied, replay};
pub use silence::{TOGETHER_SECONDS, silent_while_moving, was_on_its_way};
pub use standstill::Standstill;
pub use state::{Candidate, Chord, Crossing, Phase, Stay, VehicleState, Waypoint};
pub use stay_check::StayCheck;
pub use timeline::{apply, by_rank};
pub use totals::Totals;
pub use trip_view::{TripEvent, TripSummary};
pub use trips::TRIP_END_STOP_SECONDS;
