//! Devices that reported for an organization and are no trackers of it yet.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;
use waypost_actors::model::{Attributes, Fix, OrganizationId, Timestamp};

/// Most of one organization. Beyond that, of those that are not established the one that was silent longest goes; if all are, the
/// one that came last.
pub const MOST_PENDING: i64 = 200;
/// Seconds after which a device that was heard again is established: no name that somebody makes up takes its place.
pub const ESTABLISHED_AFTER_SECONDS: f64 = 600.0;
/// Seconds of silence after which it is so no more.
pub const SILENT_SECONDS: f64 = 7.0 * 86_400.0;
/// Fixes kept of each, the last ones.
pub const MOST_FIXES: usize = 20;
/// Bytes of a kept fix; a longer one is not kept.
const MOST_FIX_BYTES: usize = 1_024;
/// Characters of the longest name a tracker may have.
pub const MOST_NAME_CHARS: usize = 64;

/// A device that reported for an organization and is no tracker of it yet. It becomes one by `POST /v1/trackers` with its
/// `uniqueId` and a vehicle, which then gets the fixes that are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct PendingTracker {
    /// Which.
    pub id: Uuid,
    /// Whose credential, listener or broker it reported by.
    pub organization_id: OrganizationId,
    /// What it calls itself. Anybody can claim a name.
    #[schema(example = "356307042441013")]
    pub unique_id: String,
    /// By which adapter or protocol it reported last.
    #[schema(example = "teltonika")]
    pub input: String,
    /// When it first reported.
    pub first_seen_at: Timestamp,
    /// When it last reported.
    pub last_seen_at: Timestamp,
    /// How many of its fixes are kept: the last twenty.
    pub fixes: i64,
    /// When the first of these was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_fix_at: Option<Timestamp>,
}

impl PendingTracker {
    /// What `If-Match` guards: which device it is, not what is heard of it.
    #[must_use]
    pub fn tagged(&self) -> (Uuid, &str) {
        (self.id, &self.unique_id)
    }
}

/// A fix of such a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptFix {
    /// Orders those of a device by their arrival.
    pub id: Uuid,
    /// When it was recorded.
    pub recorded_at: Timestamp,
    /// The fix as JSON, with what it carries.
    pub json: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
struct FixJson {
    #[serde(flatten)]
    fix: Fix,
    /// [`Attributes::as_json`].
    #[serde(skip_serializing_if = "Option::is_none")]
    attributes: Option<String>,
}

impl KeptFix {
    /// A fix to keep, if it is small enough, with what it carries, if that fits in as well.
    #[must_use]
    pub fn of(id: Uuid, fix: Fix, attributes: Option<&Attributes>) -> Option<Self> {
        let fits = |attributes: Option<&Attributes>| {
            let attributes = attributes.map(|attributes| attributes.as_json().to_owned());
            let json = serde_json::to_vec(&FixJson { fix, attributes }).ok()?;
            (json.len() <= MOST_FIX_BYTES).then_some(json)
        };
        let json = fits(attributes).or_else(|| fits(None))?;
        Some(Self { id, recorded_at: fix.recorded_at, json })
    }

    /// The fix and what it carries, from [`Self::json`].
    #[must_use]
    pub fn read(json: &[u8]) -> Option<(Fix, Option<Attributes>)> {
        let FixJson { fix, attributes } = serde_json::from_slice(json).ok()?;
        Some((fix, attributes.and_then(|text| Attributes::from_json(&text).ok())))
    }
}

/// Whether a tracker may be called so: a name with which a device that is sought for by people can be added. An id of ours
/// names a tracker that is gone.
#[must_use]
pub fn may_be_name(name: &str) -> bool {
    let is_sign = |sign: char| !sign.is_whitespace() && !sign.is_control();
    !name.is_empty()
        && name.chars().count() <= MOST_NAME_CHARS
        && name.chars().all(is_sign)
        && Uuid::try_parse(name).is_err()
}

#[cfg(test)]
mod tests {
    use waypost_actors::model::Place;

    use super::*;

    #[test]
    fn names_are_those_a_tracker_may_have() {
        for name in ["356307042441013", "jane/phone", "JJ", &"x".repeat(64)] {
            assert!(may_be_name(name), "{name}");
        }
        for name in ["", "a b", "a\nb", "\0", &"x".repeat(65), "0190b3c2-7a51-7c3e-9d0a-5b7f6c1e2d43"] {
            assert!(!may_be_name(name), "{name:?}");
        }
    }

    #[test]
    fn a_kept_fix_is_read_as_it_was() {
        let at = Timestamp::from_micros(1_777_636_800_000_000);
        let fix = Fix::new(at, at, Place { latitude: 48.1, longitude: 11.5 });
        let card = Attributes::from_json("{\"driverCard\":\"C1\"}").unwrap();
        let large =
            Attributes::from_json(&format!("{{\"note\":\"{}\"}}", "x".repeat(MOST_FIX_BYTES))).unwrap();
        for (carried, read) in [(None, None), (Some(&card), Some(card.clone())), (Some(&large), None)] {
            let kept = KeptFix::of(Uuid::nil(), fix, carried).unwrap();
            assert_eq!((KeptFix::read(&kept.json), kept.recorded_at), (Some((fix, read)), at));
        }
        // As servers before this one kept it.
        assert_eq!(KeptFix::read(&serde_json::to_vec(&fix).unwrap()), Some((fix, None)));
    }
}
