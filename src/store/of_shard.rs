//! The conditions by which a statement is about the organizations of one shard, or about an audience of its log.

use waypost_actors::watch::Audience;

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

    /// Adds the condition that entries of the log have numbers of `from` or more and are of an audience: for everyone, those of
    /// the shard's range of numbers. The columns are those of the organization and of the number.
    #[must_use]
    pub(in crate::store) fn and_from_number(
        self,
        (shard, audience): (Shard, Audience),
        (organization, sequence): (&'static str, &'static str),
        from: i64,
    ) -> Self {
        let stmt = self.push(" and ").push(sequence).push(" >= ").push_bind(from).push(" and ");
        match audience {
            Audience::Organization(of) => stmt.push(organization).push(" = ").push_bind(of.0),
            Audience::Everyone => stmt.push(sequence).push(" < ").push_bind(shard.numbers_until(from)),
        }
    }

    fn in_shard(self, shard: Shard, organization: &'static str) -> Self {
        // Clusters are on PostgreSQL. As `Shard::of` says.
        let stmt = self.push(organization).push(
            " in (select sharded.id from organization sharded where get_byte(uuid_send(sharded.id), 15) % 16 + 1 = ",
        );
        stmt.push_bind(i64::from(shard.number())).push(")")
    }
}
