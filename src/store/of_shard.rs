//! The condition by which a statement is about the organizations of one shard.

use super::shard::Shard;
use super::sql::Stmt;

impl Stmt<'_> {
    /// Adds a condition, beginning with `and`, that `organization` is one of a shard's; nothing for [`Shard::WHOLE`]. With
    /// `push`ed values only.
    #[must_use]
    pub(in crate::store) fn and_of_shard(self, shard: Shard, organization: &'static str) -> Self {
        if shard == Shard::WHOLE {
            return self;
        }
        self.push(" and ").in_shard(shard, organization)
    }

    /// As [`Stmt::and_of_shard`], for what may be of no organization.
    #[must_use]
    pub(in crate::store) fn and_of_shard_or_none(self, shard: Shard, organization: &'static str) -> Self {
        if shard != Shard::FIRST {
            return self.and_of_shard(shard, organization);
        }
        self.push(" and (").push(organization).push(" is null or ").in_shard(shard, organization).push(")")
    }

    fn in_shard(self, shard: Shard, organization: &'static str) -> Self {
        // Clusters are on PostgreSQL. As `Shard::of` says.
        let stmt = self.push(organization).push(
            " in (select sharded.id from organization sharded where get_byte(uuid_send(sharded.id), 15) % 16 + 1 = ",
        );
        stmt.push_bind(i64::from(shard.number())).push(")")
    }
}
