//! One SQL text, two engines: the mechanism every query goes through.
//!
//! Owns the choice between PostgreSQL and SQLite; no other module knows that there are two, except for the few
//! statements that truly differ ([`Db::engine`]). Knows no table.
//!
//! Rules for the texts (each from a probe that failed): integers are `bigint` and `i64` (a `smallint` takes one,
//! and is read by a cast), floats `f64`; sums and averages are cast; sorted columns that can be null say `nulls
//! first|last`; `like` has `escape`; search folds in Rust; no `now()`, arrays or `for update` in shared text; a
//! unique violation is recognized by [`is_conflict`], with one possible conflict per insert; an error ends the
//! transaction.

mod connections;
mod dedicated;
mod durability;
mod error;
mod statement;
mod writer;

pub(super) use connections::{Connection, Reader, Renewed};
pub use connections::{Db, Engine, Pools, Tx};
pub use dedicated::DedicatedConnection;
pub(super) use dedicated::in_time;
pub use durability::Durability;
pub(super) use durability::{StoreView, broken_at_start, is_encrypted, look, not_durable, pin};
pub use error::{Result, SqlError, is_conflict, is_never_taken, is_taken_over, is_unavailable};
pub(super) use error::{damaged, is_damaged, of_newer_version};
pub(super) use statement::beside;
pub use statement::{On, Param, Record, Stmt};
pub use writer::Writer;
