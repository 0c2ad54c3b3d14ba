//! What the engine remembers of a vehicle between fixes. Stored as it is, except that empty members are left out:
//! it is written with each commit.

use serde::{Deserialize, Serialize};

use super::analytics::{Piece, Tally};
use super::episode::Overspeed;
use super::future_spans::FutureSpans;
use super::journey::Journey;
use super::motion::Trail;
use super::overstay::Overstay;
use super::standstill::Standstill;
use crate::fuel::{Gauge, StayFuel};
use crate::geofence::FenceTimeline;
use crate::model::{
    Analytics, Attributes, Cause, EventFix, EventId, Fix, GeofenceId, Place, Timestamp, VisitId,
};

/// Fences that a vehicle may be in at once; of more that hold the same place, those with the smaller ids count. So a fix is judged
/// in a short time, and its records fit into a commit, whatever fences somebody makes.
pub(super) const MOST_STAYS: usize = 1_000;

/// Where and when a boundary was crossed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Crossing {
    /// The instant.
    pub at: Timestamp,
    /// The place.
    pub place: Place,
    /// How many seconds it may be off `at`.
    pub uncertainty_seconds: f64,
}

impl Crossing {
    /// The stretch of the way from here to a fix.
    pub(super) const fn piece_to(&self, fix: &Fix) -> Piece {
        Piece::new((self.at, self.place), (fix.recorded_at, fix.place))
    }
}

/// A crossing that still has to be confirmed, with the first fix on its new side.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Candidate {
    /// The crossing.
    pub crossing: Crossing,
    /// The first fix on the new side, which its record shows.
    pub fix: EventFix,
}

/// A part of the way between two fixes outside that lies in a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chord {
    /// The fix before it. Microseconds.
    #[serde(with = "micros")]
    pub before: Timestamp,
    /// 0 for the first chord of the way.
    pub number: u32,
}

/// How far a stay has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Phase {
    /// Inside, but not yet for `minInsideSeconds`: nothing was recorded.
    Entering(Box<Candidate>),
    /// The entry is recorded.
    Inside,
    /// The entry is recorded; outside since the candidate's fix, but the exit is not believed yet: within the
    /// margin (`since` is `None`), or beyond it for less than `minOutsideSeconds`.
    Leaving {
        /// Where and when the boundary was crossed.
        candidate: Box<Candidate>,
        /// The first fix beyond the margin in an unbroken run.
        since: Option<Timestamp>,
        /// If the vehicle left at the end of a chord, that chord: no fix saw it inside.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chord: Option<Chord>,
        /// Whether the vehicle stood when its fix crossed: then no fix confirms the exit while it stands.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_held: bool,
        /// The stay as it was when it left.
        #[serde(default)]
        tally: Box<Tally>,
    },
}

/// A fence the vehicle is in, as far as the engine believes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stay {
    /// The fence.
    pub geofence_id: GeofenceId,
    /// The version it was last judged by.
    pub version: i64,
    /// The visit it is recorded as.
    pub visit_id: VisitId,
    /// The record that began it.
    pub entry_event_id: EventId,
    /// When it began.
    pub entered_at: Timestamp,
    /// Why it began.
    pub cause: Cause,
    /// How far it has come.
    pub phase: Phase,
    /// Whether its dwell record was made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dwelt: bool,
    /// Since when it is too long by its fence's rule, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overstay: Option<Box<Overstay>>,
    /// What the vehicle did up to its newest fix, including time on its way out.
    #[serde(default)]
    pub tally: Tally,
    /// What it burnt up to the newest fix inside, once it has reported any fuel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fuel: Option<Box<StayFuel>>,
}

impl Stay {
    /// Whether the entry is recorded and the exit is not.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        !matches!(self.phase, Phase::Entering(_))
    }

    /// The stay up to the vehicle's newest fix, and the instant of that fix (or of the entry, if later).
    #[must_use]
    pub fn running(&self, newest: Timestamp) -> (Timestamp, Analytics) {
        let until = newest.max(self.entered_at);
        (until, self.analytics(&self.tally, until))
    }

    /// The stay up to an instant, by a tally of it.
    #[must_use]
    pub fn analytics(&self, tally: &Tally, until: Timestamp) -> Analytics {
        let fuel_used_liters = self.fuel.as_ref().and_then(|fuel| fuel.used_liters(until));
        Analytics { fuel_used_liters, ..tally.analytics(self.entered_at, until) }
    }
}

/// Where a vehicle was, and when.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Waypoint {
    /// The instant.
    pub at: Timestamp,
    /// The place.
    pub place: Place,
}

/// A vehicle between two fixes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct VehicleState {
    /// The newest evaluated fix.
    pub last: Option<Fix>,
    /// What the reports of `last` said beside it; influences no judgement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attributes: Option<Attributes>,
    /// A newer fix that implies an impossible speed; the next one decides about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspect: Option<Box<Fix>>,
    /// The newest entry of the timeline: a fix or a fence change that touched the vehicle. Microseconds.
    #[serde(with = "micros")]
    pub newest_entry: Timestamp,
    /// The newest `recordedAt` handed to the store, quarantined fixes included, but for those dated ahead of the server's
    /// clock. Microseconds.
    #[serde(with = "micros")]
    pub newest_stored: Timestamp,
    /// Where stored fixes that were dated ahead of the server's clock lie.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub future: Option<Box<FutureSpans>>,
    /// Fences the vehicle is in, by id.
    pub stays: Vec<Stay>,
    /// Whether the vehicle moves.
    #[serde(default)]
    pub trail: Trail,
    /// Where it stands, or may have come to stand; `None` while it reports that it moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standstill: Option<Box<Standstill>>,
    /// Since when it has been out of service: `last` is where it was then, and its next fix counts as a first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_since: Option<Timestamp>,
    /// The evaluated fix before `last`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub came_from: Option<Waypoint>,
    /// The newest evaluated fix that is no plain way from the previous one: a first one, or faster than
    /// [`Self::MAX_METERS_PER_SECOND`], or farther than [`Self::MAX_LEG_METERS`]. Microseconds.
    #[serde(default = "beginning", with = "micros", skip_serializing_if = "is_beginning")]
    pub jumped_at: Timestamp,
    /// How far a correction under way has come: fixes that are not newer are late for it, even if this state has
    /// seen nothing as new. Microseconds.
    #[serde(default = "beginning", with = "micros", skip_serializing_if = "is_beginning")]
    pub corrected_to: Timestamp,
    /// Fixes evaluated since the state was last kept.
    #[serde(default)]
    pub unsaved: u32,
    /// Its fuel, once it has reported any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fuel: Option<Box<Gauge>>,
    /// The speeding episode under way, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overspeed: Option<Box<Overspeed>>,
    /// The trip or stop under way, from the first fix on that a version that knows them judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journey: Option<Journey>,
}

/// With the counts of its `Arc` it is allocated in 640 bytes, and each vehicle has one; the next larger size is 768.
const _: () = assert!(size_of::<VehicleState>() + 2 * size_of::<usize>() <= 640);

impl Default for VehicleState {
    fn default() -> Self {
        Self {
            last: None,
            attributes: None,
            suspect: None,
            newest_entry: Timestamp::MIN,
            newest_stored: Timestamp::MIN,
            future: None,
            stays: Vec::new(),
            trail: Trail::default(),
            standstill: None,
            out_since: None,
            came_from: None,
            jumped_at: Timestamp::MIN,
            corrected_to: Timestamp::MIN,
            unsaved: 0,
            fuel: None,
            overspeed: None,
            journey: None,
        }
    }
}

const fn beginning() -> Timestamp {
    Timestamp::MIN
}

fn is_beginning(instant: &Timestamp) -> bool {
    *instant == beginning()
}

impl VehicleState {
    /// The highest speed of a plain way.
    pub const MAX_METERS_PER_SECOND: f64 = 70.0;
    /// The longest plain way.
    pub const MAX_LEG_METERS: f64 = 2_000.0;
    /// After a longer time, the vehicle may have been anywhere.
    const MAX_TRACED_SECONDS: f64 = 3_600.0;

    /// The state of a vehicle whose own is lost: every fix is late for it, until a correction has found what it is.
    /// `newest_stored`: no stored fix is newer, but for those dated ahead of the server's clock.
    #[must_use]
    pub fn lost(newest_stored: Timestamp) -> Self {
        let future = Some(Box::new(FutureSpans::unknown(newest_stored)));
        Self { newest_stored, future, corrected_to: Timestamp::LAST, ..Self::default() }
    }

    /// The newest entry of the timeline, including a fix that waits for the next one.
    #[must_use]
    pub fn newest(&self) -> Timestamp {
        self.suspect.as_ref().map_or(self.newest_entry, |suspect| suspect.recorded_at.max(self.newest_entry))
    }

    /// The fixes in it to which another report may still add something.
    pub fn fixes_mut(&mut self) -> impl Iterator<Item = &mut Fix> {
        self.last.iter_mut().chain(self.suspect.as_deref_mut())
    }

    /// Whether an instant is so long ago that no state tells which fences its vehicle may have been near since.
    #[must_use]
    pub fn is_beyond_trace(now: Timestamp, instant: Timestamp) -> bool {
        now.seconds_since(instant) > Self::MAX_TRACED_SECONDS
    }

    /// Whether the vehicle may have been near a fence since an instant, as far as this state shows.
    #[must_use]
    pub fn may_have_met(&self, fence: &FenceTimeline, from: Timestamp) -> bool {
        let Some(last) = self.last.filter(|_| from <= self.passed()) else { return false };
        if let Some(before) = self.came_from.filter(|before| before.at < from) {
            // Only its last way counts, and that one is known.
            return fence.is_near_way(before.place, last.place);
        }
        let seconds = last.recorded_at.seconds_since(from).max(0.0);
        if seconds > Self::MAX_TRACED_SECONDS || self.jumped_at >= from {
            return true;
        }
        // The speed bounds how far it can have come since then, and the way it was on at that instant has a bounded
        // length.
        let meters = Self::MAX_METERS_PER_SECOND.mul_add(seconds, Self::MAX_LEG_METERS);
        fence.is_within(last.place, meters)
    }

    /// Fixes older than this are late.
    #[must_use]
    pub fn passed(&self) -> Timestamp {
        self.newest().max(self.corrected_to)
    }

    /// Up to where the timeline stands: every fix recorded by then is judged, and no correction waits that may judge one
    /// of them anew. `dirty_from`: where the vehicle's dirty mark begins. `None`: nothing stands yet.
    #[must_use]
    pub fn settled_through(&self, dirty_from: Option<Timestamp>) -> Option<Timestamp> {
        let newest = self.last?.recorded_at;
        let settled = dirty_from.map_or(newest, |from| from.millisecond_before().min(newest));
        (settled >= Timestamp::FIRST).then_some(settled)
    }

    /// Whether everything that follows is judged alike from this state and from the other.
    #[must_use]
    pub fn agrees_with(&self, other: &Self) -> bool {
        // What was handed to the store or kept, and how far corrections have come, influences no judgement, nor do attributes.
        let Self { newest_stored, corrected_to, unsaved, .. } = *self;
        let (future, attributes) = (self.future.clone(), self.attributes.clone());
        *self == Self { attributes, newest_stored, future, corrected_to, unsaved, ..other.clone() }
    }

    /// The stay in a fence, if there is one.
    #[must_use]
    pub fn stay(&self, fence: GeofenceId) -> Option<&Stay> {
        self.stays.iter().find(|stay| stay.geofence_id == fence)
    }

    /// The fences the vehicle is recorded to be in.
    pub fn open_stays(&self) -> impl Iterator<Item = &Stay> {
        self.stays.iter().filter(|stay| stay.is_open())
    }
}

/// Instants that may be [`Timestamp::MIN`], which RFC 3339 cannot write.
mod micros {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::model::Timestamp;

    pub(super) fn serialize<S: Serializer>(instant: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(instant.as_micros())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        i64::deserialize(deserializer).map(Timestamp::from_micros)
    }
}
