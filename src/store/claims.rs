//! Which node of a cluster owns which shard, as PostgreSQL decides it: by advisory locks of one session for each node.
//!
//! The session names the node's address, so that a node that finds a lock finds its holder. PostgreSQL ends a session that is silent,
//! and gives its locks back.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection, FromRow, query_scalar};

use super::lock::ADVISORY_KEY;
use super::open::{OpenError, millis, postgres_session};
use super::shard::Shard;
use super::sql::{Result, in_time};

/// A session that is silent for this long is ended by PostgreSQL, and its shards are free.
const SILENT_FOR: Duration = Duration::from_millis(2_200);
/// A statement that takes longer is given up.
const STATEMENT_WITHIN: Duration = Duration::from_millis(1_500);
/// So is one that PostgreSQL does not answer, and with it the session.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
const CONNECT_WITHIN: Duration = Duration::from_secs(3);
/// The first keys of the advisory locks: of nodes that want shards, and of shards.
const NODES: i32 = 7001;
const SHARDS: i32 = 7002;
/// What a node's session is called, before its address.
const NAMED: &str = "waypost ";

/// Who is there and who has what, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claimed {
    /// All nodes with a session, including those that are draining.
    pub present: BTreeSet<SocketAddr>,
    /// The nodes that want shards.
    pub nodes: BTreeSet<SocketAddr>,
    /// The owners.
    pub owners: BTreeMap<Shard, SocketAddr>,
}

/// A node's session with its locks.
pub struct Claims(PgConnection);

/// What a node finds that joins.
pub enum Joined {
    /// It is alone with the store, and keeps others out until [`Claims::let_others_in`].
    Alone(Claims),
    /// Others have joined before it.
    WithOthers(Claims),
    /// A single server has the store, or another node prepares it for a cluster.
    NotYet,
}

#[derive(FromRow)]
struct Held {
    is_pair: bool,
    key: i64,
    number: i64,
    session: String,
}

impl Claims {
    /// Joins the nodes on a PostgreSQL database as the node with this address, which no other may have. It wants no shards yet.
    pub async fn join(url: &str, node: SocketAddr) -> std::result::Result<Joined, OpenError> {
        let name = format!("{NAMED}{node}");
        let options = postgres_session(url)?.application_name(&name).options([
            ("idle_session_timeout", millis(SILENT_FOR)),
            ("idle_in_transaction_session_timeout", millis(SILENT_FOR)),
            ("statement_timeout", millis(STATEMENT_WITHIN)),
        ]);
        let connected = in_time(CONNECT_WITHIN, PgConnection::connect_with(&options)).await;
        let mut claims = Self(connected?);
        if !claims.take_name(name).await? {
            return Err(OpenError::NodeAddress(node));
        }
        if claims.lock("select pg_try_advisory_lock($1)", ADVISORY_KEY).await? {
            return Ok(Joined::Alone(claims));
        }
        let is_in = claims.lock("select pg_try_advisory_lock_shared($1)", ADVISORY_KEY).await?;
        Ok(if is_in { Joined::WithOthers(claims) } else { Joined::NotYet })
    }

    /// Lets other nodes join; still no single server.
    pub async fn let_others_in(&mut self) -> Result<()> {
        self.lock("select pg_try_advisory_lock_shared($1)", ADVISORY_KEY).await?;
        self.lock("select pg_advisory_unlock($1)", ADVISORY_KEY).await?;
        Ok(())
    }

    /// Wants shards from now on.
    pub async fn want(&mut self) -> Result<()> {
        self.pair("select pg_try_advisory_lock_shared($1, $2)", NODES, 0).await?;
        Ok(())
    }

    /// Wants no more shards: others are to take those it has.
    pub async fn drain(&mut self) -> Result<()> {
        self.pair("select pg_advisory_unlock_shared($1, $2)", NODES, 0).await?;
        Ok(())
    }

    /// Takes a shard, if nobody has it.
    pub async fn take(&mut self, shard: Shard) -> Result<bool> {
        self.pair("select pg_try_advisory_lock($1, $2)", SHARDS, i32::from(shard.number())).await
    }

    /// Gives a shard back.
    pub async fn give_back(&mut self, shard: Shard) -> Result<bool> {
        self.pair("select pg_advisory_unlock($1, $2)", SHARDS, i32::from(shard.number())).await
    }

    /// Who has what now. Also tells PostgreSQL that this node is alive.
    pub async fn look(&mut self) -> Result<Claimed> {
        // Lock keys are unsigned in PostgreSQL. Every session also holds `ADVISORY_KEY` and that of its name, locks of one key instead
        // of a pair.
        let look = "select l.objsubid = 2 as is_pair, cast(l.classid as bigint) as key, cast(l.objid as bigint) as number, \
            a.application_name as session from pg_locks l join pg_stat_activity a on a.pid = l.pid \
            where l.locktype = 'advisory' and l.granted and a.application_name like 'waypost %' \
            and l.database = (select d.oid from pg_database d where d.datname = current_database())";
        let held: Vec<Held> = in_time(ANSWER_WITHIN, sqlx::query_as(look).fetch_all(&mut self.0)).await?;
        let mut claimed = Claimed::default();
        for Held { is_pair, key, number, session } in held {
            let Some(node) = session.strip_prefix(NAMED).and_then(|node| node.parse().ok()) else { continue };
            claimed.present.insert(node);
            if is_pair && key == i64::from(NODES) {
                claimed.nodes.insert(node);
            } else if is_pair
                && key == i64::from(SHARDS)
                && let Some(shard) = Shard::numbered(number)
            {
                claimed.owners.insert(shard, node);
            }
        }
        Ok(claimed)
    }

    /// Takes the lock of a session's name, if no other session of that name has it.
    async fn take_name(&mut self, name: String) -> Result<bool> {
        let lock = query_scalar("select pg_try_advisory_lock(hashtextextended($1, 0))").bind(name);
        in_time(ANSWER_WITHIN, lock.fetch_one(&mut self.0)).await
    }

    async fn lock(&mut self, text: &'static str, key: i64) -> Result<bool> {
        in_time(ANSWER_WITHIN, query_scalar(AssertSqlSafe(text)).bind(key).fetch_one(&mut self.0)).await
    }

    async fn pair(&mut self, text: &'static str, key: i32, number: i32) -> Result<bool> {
        let asked = query_scalar(AssertSqlSafe(text)).bind(key).bind(number).fetch_one(&mut self.0);
        in_time(ANSWER_WITHIN, asked).await
    }
}
