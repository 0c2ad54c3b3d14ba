//! The store's mechanism on both engines: one suite, run once per engine.

mod assignment;
mod cache;
mod opening;
mod schema;
mod statements;
mod track;
mod transactions;
mod values;
