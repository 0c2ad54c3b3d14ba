//! Items that were refused for good, and how the log tells of those that nobody can look up.

use serde::Serialize;
use utoipa::ToSchema;
use waypost_actors::model::TrackerId;

/// An item that was refused. Its batch went on without it; sending it again changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rejected {
    /// The item's number, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq: Option<i64>,
    /// The item's place in the request, from 0.
    pub index: usize,
    /// Why, for programs.
    pub code: &'static str,
    /// Why, for people.
    pub detail: String,
    /// Who reported it, if that is known.
    #[serde(skip)]
    pub tracker: Option<TrackerId>,
}

/// How many of the refused items are of devices that are not known, and the first of them: a request may have thousands, and
/// the log one line of them.
pub(super) fn of_unknown(rejected: &[Rejected]) -> Option<(usize, &Rejected)> {
    let mut unknown = rejected.iter().filter(|rejected| rejected.tracker.is_none());
    let first = unknown.next()?;
    Some((1 + unknown.count(), first))
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn what_is_refused_of_unknown_devices_is_told_once() {
        let refused = |index: usize, tracker: Option<TrackerId>| Rejected {
            seq: None,
            index,
            code: "unknownTracker",
            detail: format!("there is no tracker \"{index}\""),
            tracker,
        };
        let known = Some(TrackerId(Uuid::nil()));
        let rejected = [refused(0, known), refused(1, None), refused(2, known), refused(3, None)];
        assert_eq!(of_unknown(&rejected), Some((2, &rejected[1])));
        assert_eq!(of_unknown(&rejected[..1]), None);
    }
}
