//! Which organizations a track writer is of: every one on a single server, those of one shard on a node of a cluster.

use waypost_actors::model::OrganizationId;

/// How many shards a cluster has. It never changes: an organization's shard follows from its id.
pub const SHARDS: u8 = 16;

/// How many numbers a shard may give. More than a million each second for ten days, or a thousand for 34 years.
const NUMBERS: i64 = 1 << 40;
/// What all shards together may give, and so what lies between two layouts of their ranges.
const LAYOUT: i64 = NUMBERS * SHARDS as i64;

/// The names of the rows of `writer`.
const NAMES: [&str; SHARDS as usize + 1] =
    ["main", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16"];

/// The organizations of one track writer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Shard(u8);

impl Shard {
    /// Every organization: that of a single server.
    pub const WHOLE: Self = Self(0);
    /// The first shard of a cluster, to which belongs what is of no organization.
    pub const FIRST: Self = Self(1);

    /// The shards of a cluster.
    pub fn all() -> impl Iterator<Item = Self> {
        (1..=SHARDS).map(Self)
    }

    /// The shard of a cluster that an organization belongs to.
    #[must_use]
    pub const fn of(organization: OrganizationId) -> Self {
        // The last byte of an id is random.
        Self(1 + organization.0.as_bytes()[15] % SHARDS)
    }

    /// The shard with a number from 1 to [`SHARDS`].
    #[must_use]
    pub fn numbered(number: i64) -> Option<Self> {
        u8::try_from(number).ok().filter(|number| (1..=SHARDS).contains(number)).map(Self)
    }

    /// 0 for a single server.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Whether this writer is that of an organization.
    #[must_use]
    pub fn holds(self, organization: OrganizationId) -> bool {
        self == Self::WHOLE || self == Self::of(organization)
    }

    /// Whether what is of no organization belongs to this writer too.
    #[must_use]
    pub const fn holds_platform(self) -> bool {
        self.0 <= Self::FIRST.0
    }

    /// The name of its row in `writer`.
    pub(in crate::store) fn writer(self) -> &'static str {
        NAMES[usize::from(self.0)]
    }

    /// Its first number, where ranges are laid out from `base` on, a multiple of [`LAYOUT`].
    pub(in crate::store) fn first_number(self, base: i64) -> i64 {
        base + NUMBERS * i64::from(self.0.saturating_sub(1))
    }

    /// Above the numbers that this writer gives in the range of one of its own.
    pub(in crate::store) const fn numbers_until(self, number: i64) -> i64 {
        if self.0 == Self::WHOLE.0 { i64::MAX } else { (number | (NUMBERS - 1)) + 1 }
    }
}

/// Where ranges are laid out above every number given before `next`; `None` if `next`, the next number of a single server, is
/// as the present layout left it.
pub(super) const fn next_layout(next: i64) -> Option<i64> {
    if next % LAYOUT == 0 { None } else { Some((next / LAYOUT + 1) * LAYOUT) }
}

/// The next number of a single server that follows a cluster whose ranges were laid out from `base` on.
pub(super) const fn after_layout(base: i64) -> i64 {
    base + LAYOUT
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn every_organization_has_one_shard_and_a_single_server_has_all() {
        let organization = |last: u8| OrganizationId(Uuid::from_u128(u128::from(last)));
        for last in 0..=255 {
            let holders: Vec<u8> =
                Shard::all().filter(|shard| shard.holds(organization(last))).map(Shard::number).collect();
            assert_eq!(holders, [1 + last % 16]);
            assert!(Shard::WHOLE.holds(organization(last)));
        }
        assert_eq!(Shard::all().filter(|shard| shard.holds_platform()).count(), 1);
    }

    #[test]
    fn ranges_lie_above_what_was_numbered_before_and_do_not_meet() {
        for next in [1, LAYOUT - 1, LAYOUT + 1, 5 * LAYOUT + 77] {
            let base = next_layout(next).unwrap();
            let mut end = next;
            for shard in Shard::all() {
                let first = shard.first_number(base);
                assert!(first >= end, "{shard:?}");
                end = shard.numbers_until(first);
                assert_eq!(shard.numbers_until(end - 1), end);
            }
            assert_eq!(end, after_layout(base));
            assert_eq!(next_layout(after_layout(base)), None, "nothing was numbered since");
        }
        assert_eq!(Shard::WHOLE.numbers_until(7), i64::MAX);
    }
}
